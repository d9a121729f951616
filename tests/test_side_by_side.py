"""Trainings side by side: their names tell them apart, and nothing is chosen by test images."""

from __future__ import annotations

import math

import pytest

from conftest import FakeRun
from memoryless.lab.analysis.side_by_side import (
    MOST_LINES,
    Comparison,
    comparisons,
    main_comparisons,
    reads_statistics,
    shown_first,
    training_names,
)

FT = {"FT": [90.0, 20.0, 10.0], "inFT": [90.0, 30.0, 20.0], "inFT_siw": [90.0, 40.0, 30.0]}
FULL = {"statistics": "full"}
MIDDLE = FULL | {"level": "middle", "square_roots": True}
MORE = FT | {"finetune+rda+widened": [90.0, 70.0, 60.0], "finetune+rda": [90.0, 99.0, 99.0]}
CONTROL = {"untrained": [9.0, 5.0, 5.0], "untrained+lda": [60.0, 50.0, 40.0]}
UNTRAINED = MIDDLE | {"strategy": "untrained"}


def only(*runs: FakeRun) -> Comparison:
    (comparison,) = comparisons(runs)
    return comparison


def labels(comparison: Comparison) -> list[str]:
    return [entry.label for entry in comparison.entries]


def test_what_is_shown_first_does_not_depend_on_accuracies():
    assert shown_first(MORE) == ["FT", "inFT", "inFT_siw", "finetune+rda+widened"]
    assert shown_first(["inFT_siw_mc", "inFT_mc"]) == ["inFT_siw_mc"]


def test_methods_that_read_statistics():
    names = ["FT", "inFT_siw", "finetune+ncm", "frozen+projection"]
    assert [reads_statistics(name) for name in names] == [False, False, True, True]


def test_entries_stand_by_top1_and_the_recommended_one_is_fixed():
    comparison = only(FakeRun(MORE, config=MIDDLE))
    assert labels(comparison) == [
        "finetune+rda", "finetune+rda+widened", "inFT_siw", "inFT", "FT",
    ]  # fmt: skip
    assert comparison.recommended.label == "finetune+rda+widened"
    assert comparison.recommended.top1 == 65
    assert [e.label for e in comparison.entries if e.is_strategy] == ["FT"]


def test_plain_and_middle_runs_are_told_apart_and_share_what_reads_no_statistics():
    plain = FakeRun(MORE, "a/seed-0", config=FULL)
    middle = FakeRun(MORE, "b/seed-0", config=MIDDLE)
    comparison = only(plain, middle)
    assert sorted(labels(comparison)) == [
        "FT",
        "finetune+rda (last stage)",
        "finetune+rda (middle stages, roots)",
        "finetune+rda+widened (last stage)",
        "finetune+rda+widened (middle stages, roots)",
        "inFT",
        "inFT_siw",
    ]
    assert comparison.recommended.label == "finetune+rda+widened (middle stages, roots)"
    assert comparison.entry(comparison.main, "FT").training is comparison.trainings[0]


def test_names_of_statistics_are_told_in_every_number_of_states():
    runs = [FakeRun(MORE, "a/seed-0", config=FULL), FakeRun(MORE, "b/seed-0", config=MIDDLE)]
    short = {name: values[:2] for name, values in MORE.items()}
    runs.append(FakeRun(short, "c/seed-0", config=MIDDLE | {"states": "2"}))
    found = comparisons(runs)
    assert [c.states for c in found] == ["2", "3"]
    assert found[0].recommended.label == found[1].recommended.label


def test_what_more_seeds_have_is_shown():
    one = FakeRun(MORE, "a/seed-0", config=FULL)
    two = [FakeRun(MORE, f"b/seed-{s}", seed=s, config=MIDDLE) for s in (0, 1)]
    comparison = only(one, *two)
    assert {e.label: e.row.seeds for e in comparison.entries}["FT"] == 2


def test_trainings_that_differ_by_a_setting_are_told_apart_by_it():
    comparison = only(*(FakeRun(FT, f"{lr}/seed-0", config={"lr": lr}) for lr in (0.1, 0.2)))
    assert {"FT (lr 0.1)", "FT (lr 0.2)"} <= {*labels(comparison)}
    assert list(training_names(comparison.trainings)) == ["finetune (lr 0.1)", "finetune (lr 0.2)"]


def test_trainings_that_only_their_data_tell_apart_are_numbered():
    runs = [FakeRun(FT, f"{c}/seed-0", classes=[*c]) for c in ("abcdef", "fedcba")]
    assert {"FT (1)", "FT (2)"} <= {*labels(only(*runs))}
    assert list(training_names(only(*runs).trainings)) == ["finetune (1)", "finetune (2)"]


def test_data_sets_and_numbers_of_states_are_kept_apart_in_order():
    def made(states: int, data: str) -> FakeRun:
        return FakeRun({"FT": [50.0] * states}, f"{data}{states}/seed-0", dataset=data)

    found = comparisons([made(10, "x"), made(5, "x"), made(3, "y"), made(20, "x")])
    assert [(c.data, c.states) for c in found] == [("x", "5"), ("x", "10"), ("x", "20"), ("y", "3")]
    assert [c.states for c in main_comparisons(found)] == ["5", "3"]


def test_the_main_comparison_has_the_most_trainings():
    more = [FakeRun({"FT": [1.0] * 4}, f"{lr}/seed-0", config={"lr": lr}) for lr in (0.1, 0.2)]
    (main,) = main_comparisons(comparisons([FakeRun(FT), *more]))
    assert main.states == "4"


def test_the_control_is_neither_recommended_nor_left_out():
    ft, control = (
        FakeRun(MORE, "a/seed-0", config=MIDDLE),
        FakeRun(CONTROL, "b/s", config=UNTRAINED),
    )
    comparison = only(control, ft)
    assert comparison.main.strategy == "finetune"
    assert comparison.control is comparison.trainings[0]
    assert comparison.lines[-1].label == "untrained+lda"
    alone = only(control)
    assert (alone.recommended.label, alone.control) == ("untrained+lda", None)


@pytest.mark.parametrize("setting", [{"backbone": "resnet18"}, {"width": 3}, {"image_size": 9}])
def test_a_network_of_another_shape_is_no_control(setting):
    other = FakeRun(CONTROL, "b/s", config=UNTRAINED | setting)
    assert only(FakeRun(MORE, config=MIDDLE), other).control is None


def test_other_orders_of_classes_are_not_compared():
    other = FakeRun(CONTROL, "b/s", config=UNTRAINED | {"order": "seed:1"})
    found = comparisons([FakeRun(MORE, config=MIDDLE), other])
    assert [c.number for c in found] == [", order natural", ", order seed:1"]
    assert found[0].control is None


def test_a_network_of_ones_own_has_no_control_of_another_kind():
    own = FakeRun(MORE, config=MIDDLE, backbone_class="MyNetwork")
    assert only(own, FakeRun(CONTROL, "b/s", config=UNTRAINED)).control is None


def test_a_training_that_is_not_memoryless_comes_before_its_control():
    replay = FakeRun(
        {"replay": [90.0, 70.0, 60.0]}, config={"strategy": "replay"}, memoryless=False
    )
    comparison = only(FakeRun(CONTROL, "b/s", config=UNTRAINED), replay)
    assert (comparison.main.strategy, comparison.control.strategy) == ("replay", "untrained")


def test_a_training_that_has_not_ended_leads_before_a_control_that_has():
    begun = FakeRun({"FT": [90.0, 20.0]}, classes=["a"] * 6, sizes=[2, 2, 2])
    found = comparisons([FakeRun(CONTROL, "b/s", config=UNTRAINED), begun])
    assert [c.states for c in found] == ["3", "2/3"]
    assert [c.states for c in main_comparisons(found)] == ["2/3"]


@pytest.mark.parametrize("about", [{"classes": ["b"] * 6}, {"sizes": [3, 2, 1]}])
def test_other_classes_or_sizes_are_not_compared(about):
    joint = FakeRun({"Full": [80.0]}, "j/s", config={"strategy": "joint"}, memoryless=False)
    other = FakeRun(CONTROL, "b/s", config=UNTRAINED, **about)
    found = comparisons([FakeRun(MORE, config=MIDDLE), other, joint])
    assert [(c.data, c.states, c.number) for c in found] == [
        ("toy", "3", " (1)"),
        ("toy", "3", " (2)"),
    ]
    assert [c.main.strategy for c in found] == ["finetune", "untrained"]
    assert found[0].control is None
    assert [bool(c.full) for c in found] == [True, "sizes" in about]
    assert len(main_comparisons(found)) == 1 + ("classes" in about)


def test_strategies_have_a_fixed_order_and_what_keeps_images_is_not_recommended():
    better = {"lwf_kd": [99.0] * 3, "lwf_kd+siw": [99.0] * 3}
    images = {"replay": [99.0] * 3}
    runs = [
        FakeRun(images, "r/s", config={"strategy": "replay"}, memoryless=False),
        FakeRun(better, "k/s", config={"strategy": "lwf_kd"}),
        FakeRun(FT, "f/s"),
    ]
    assert only(*runs).recommended.label == "inFT_siw"
    kept = FakeRun({"lwf_kd+rda": [1.0] * 3}, "m/s", config=MIDDLE | {"strategy": "lwf_kd"})
    assert only(*runs, kept).recommended.label == "lwf_kd+rda"  # what keeps statistics comes first
    assert only(runs[0]).recommended.label == "replay"


def test_at_most_six_lines_with_the_recommended_first():
    runs = [FakeRun(MORE, "a/s", config=MIDDLE), FakeRun(CONTROL, "b/s", config=UNTRAINED)]
    assert [e.label for e in only(*runs).lines] == [
        "finetune+rda+widened", "FT", "inFT", "inFT_siw", "untrained+lda",
    ]  # fmt: skip
    runs += [FakeRun({"LwF": [1.0] * 3}, f"{i}/s", config={"strategy": "lwf", "lr": i}) for i in
             (0.1, 0.2, 0.3, 0.4)]  # fmt: skip
    lines = only(*runs).lines
    assert len(lines) == MOST_LINES
    assert [e.label for e in lines][:3] == ["finetune+rda+widened", "FT", "LwF (lr 0.1)"]
    assert lines[-1].label == "untrained+lda"


def test_every_strategy_has_a_line_before_any_has_two():
    frozen = {"strategy": "frozen"}
    runs = [
        FakeRun({"frozen+rda": [1.0] * 3}, "a/s", config=FULL | frozen),
        FakeRun({"frozen+rda": [1.0] * 3}, "b/s", config=MIDDLE | frozen),
        FakeRun(MORE, "c/s", config=FULL),
        FakeRun(MORE, "d/s", config=MIDDLE),
        FakeRun({"LwF": [1.0] * 3}, "e/s", config={"strategy": "lwf"}),
    ]
    assert [entry.label for entry in only(*runs).lines] == [
        "finetune+rda+widened (middle stages, roots)",
        "FT",
        "frozen+rda (middle stages, roots)",
        "LwF",
        "finetune+rda+widened (last stage)",
        "frozen+rda (last stage)",
    ]


def test_the_control_is_of_the_statistics_that_come_first():
    plain = FakeRun(CONTROL, "p/s", config=FULL | {"strategy": "untrained"})
    middle = FakeRun(CONTROL, "m/s", config=UNTRAINED)
    found = only(plain, middle, FakeRun(MORE, "f/s", config=MIDDLE)).control
    assert found is not None
    assert found.rows[0].statistics_of == "middle stages, roots"


def test_lines_are_means_over_seeds():
    runs = [FakeRun({"FT": [v, v / 2]}, f"a/seed-{v}", seed=v) for v in (40, 60)]
    comparison = only(*runs)
    assert comparison.main.by_state("FT") == [50, 25]
    assert comparison.main.by_state("FT", "top5") == [25, 12.5]


def test_full_stands_beside_the_other_trainings_of_its_data():
    joint = FakeRun({"Full": [80.0]}, "j/s", config={"strategy": "joint"}, memoryless=False)
    comparison = only(FakeRun(FT), joint)
    assert comparison.full is not None
    assert comparison.full.rows[0].last_top1 == 80
    part = FakeRun({"FT": [1.0]}, "p/s", sizes=[2, 2])
    assert {c.states: bool(c.full) for c in comparisons([FakeRun(FT), joint, part])} == {
        "3": True, "1/2": False,
    }  # fmt: skip
    alone = only(joint)
    assert alone.recommended.label == "Full"
    assert alone.recommended.top1 == 80
    assert math.isnan(alone.recommended.row.top1)


@pytest.mark.parametrize("share", [0.01, 0.02])
def test_replay_is_named_with_its_memory(share):
    config = {"strategy": "replay", "memory": share}
    (name,) = training_names(
        only(FakeRun({"replay": [1.0, 2.0]}, config=config, memoryless=False)).trainings
    )
    assert name == f"replay {share:.0%} (not memoryless)"
