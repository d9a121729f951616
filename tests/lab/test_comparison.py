"""Trainings side by side: labels distinguish them, and no test image chooses what stands out."""

from __future__ import annotations

import pytest

from conftest import FakeRun
from memoryless.lab.comparison import (
    MOST_FIRST,
    MOST_LINES,
    Comparison,
    comparisons,
    main_comparisons,
    pareto_front,
)

FT = {"finetune": [90.0, 20.0, 10.0], "finetune+siw": [90.0, 40.0, 30.0]}
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


def joint() -> FakeRun:
    return FakeRun({"joint": [88.0]}, "joint/s", config={"strategy": "joint"}, memoryless=False,
                   classes=["a"] * 6, sizes=[6])  # fmt: skip


def test_entries_stand_by_top1_and_the_reference_is_fixed():
    comparison = only(FakeRun(MORE, config=MIDDLE))
    assert labels(comparison) == [
        "finetune+rda", "finetune+rda+widened", "finetune+siw", "finetune",
    ]  # fmt: skip
    assert [e.method for e in comparison.main] == [
        "finetune",
        "finetune+siw",
        "finetune+rda+widened",
    ]
    assert comparison.reference.top1 == 65
    assert [comparison.role(e) for e in comparison.entries] == ["", "reference", "", ""]
    assert [e.label for e in comparison.before_and_after] == ["finetune", "finetune+rda+widened"]


def test_a_training_without_its_strategys_own_method_has_a_reference():
    methods = {"finetune+siw+mc": [9.0, 8.0], "finetune+l2+mc": [9.0, 9.0]}
    assert only(FakeRun(methods)).reference.label == "finetune+siw+mc"


def test_labels_are_the_same_in_every_number_of_states():
    """What reads no statistics stands once, as in the training that is preferred."""
    runs = [FakeRun(MORE, "a/seed-0", config=FULL)]
    runs += [FakeRun(MORE, f"b/seed-{s}", seed=s, config=MIDDLE) for s in (0, 1)]
    short = {name: values[:2] for name, values in MORE.items()}
    classes = [f"{i}" for i in range(6)]
    runs.append(FakeRun(short, "c/seed-0", config=MIDDLE, sizes=[3, 3], classes=classes))
    for run in runs[:3]:
        run.about.classes = tuple(classes)
    small, large = comparisons(runs)
    assert [small.states, large.states] == ["2", "3"]
    assert sorted(labels(large)) == [
        "finetune",
        "finetune+rda (level last, square_roots no)",
        "finetune+rda (level middle, square_roots yes)",
        "finetune+rda+widened (level last, square_roots no)",
        "finetune+rda+widened (level middle, square_roots yes)",
        "finetune+siw",
    ]
    assert small.reference.label == large.reference.label
    assert {e.label: e.seeds for e in large.entries}["finetune"] == 2


@pytest.mark.parametrize(
    ("settings", "found", "names"),
    [
        ([{"lr": 0.1}, {"lr": 0.2}],
         ["finetune (lr 0.1)", "finetune+rda (lr 0.1)", "finetune (lr 0.2)"],
         ["finetune (lr 0.1)", "finetune (lr 0.2)"]),
        ([FULL, {"statistics": "tied"}],
         ["finetune", "finetune+rda (statistics full)", "finetune+rda (statistics tied)"],
         ["finetune (statistics full)", "finetune (statistics tied)"]),
    ],
)  # fmt: skip
def test_equal_labels_get_the_settings_that_distinguish_them(settings, found, names):
    runs = [FakeRun(MORE, f"{i}/s", config=given) for i, given in enumerate(settings)]
    comparison = only(*runs)
    assert {*found} <= {*labels(comparison)}
    assert len(labels(comparison)) == len({*labels(comparison)})
    assert [own[0].name for own in comparison.by_training.values()] == names


def test_a_method_of_one_training_needs_no_more_than_its_name():
    few = {name: values for name, values in MORE.items() if "rda" not in name}
    comparison = only(FakeRun(MORE, "a/s", config=FULL), FakeRun(few, "b/s"))
    assert {*labels(comparison)} == {*MORE}


def test_data_sets_and_numbers_of_states_stand_apart_in_order():
    def made(states: int, data: str, **given) -> FakeRun:
        classes = {"classes": [f"{i}" for i in range(20)], "sizes": [20 // states] * states}
        return FakeRun({"finetune": [50.0] * states}, f"{data}{states}/s", dataset=data,
                       **classes | given)  # fmt: skip

    found = comparisons([made(10, "x"), made(5, "x"), made(2, "y"), made(20, "x")])
    assert [c.title for c in found] == [
        "x, 5 states", "x, 10 states", "x, 20 states", "y, 2 states",
    ]  # fmt: skip
    assert [c.title for c in main_comparisons(found)] == ["x, 5 states", "y, 2 states"]
    more = [made(5, "x"), made(5, "x", config={"lr": 0.3})]
    more[-1].path = more[-1].path / "other"
    (main,) = main_comparisons(comparisons([made(2, "x"), *more]))
    assert main.states == "5"


def test_titles_name_other_orders_and_unequal_states():
    runs = [FakeRun(FT), FakeRun(FT, "b/s", sizes=[4, 1, 1]),
            FakeRun(FT, "c/s", config={"order": "seed:1"}, classes=[*"fedcba"])]  # fmt: skip
    assert [c.title for c in comparisons(runs)] == [
        "toy, 3 states", "toy, 3 states of 4 1 1 classes", "toy, 3 states, order seed:1",
    ]  # fmt: skip


def test_the_control_is_no_reference_and_full_stands_beside():
    runs = [FakeRun(MORE, "a/s", config=MIDDLE), FakeRun(CONTROL, "b/s", config=UNTRAINED)]
    comparison = only(*runs, joint())
    assert comparison.reference.label == "finetune+rda+widened"
    assert comparison.control.label == "untrained+lda"
    assert [entry.A_last for entry in comparison.full] == [88]
    assert "untrained" not in [entry.label for entry in comparison.shown]
    assert comparison.lines[0] is comparison.reference
    assert comparison.lines[-1] is comparison.control
    assert only(runs[1]).reference.label == "untrained+lda"
    other_shape = FakeRun(CONTROL, "b/s", config=UNTRAINED | {"width": 4})
    assert only(runs[0], other_shape).control is None


def test_full_alone_and_beside_unfinished_runs():
    assert only(joint()).full == []
    part = FakeRun(FT, "p/s", sizes=[1, 2, 1, 2], classes=["a"] * 6)
    (unfinished,) = comparisons([part, joint()])
    assert (unfinished.title, unfinished.full) == ("toy, 3/4 states", [])


def test_what_is_not_memoryless_is_no_reference():
    replay = FakeRun({"replay": [90.0, 80.0, 80.0]}, "r/s", config={"strategy": "replay"},
                     memoryless=False)  # fmt: skip
    assert only(replay, FakeRun(FT)).reference.label == "finetune+siw"
    comparison = only(replay)
    assert comparison.role(comparison.reference) == "not memoryless"


def test_of_many_trainings_few_methods_are_shown_and_drawn():
    runs = [FakeRun(MORE, f"{lr}/s", config=FULL | {"lr": lr}) for lr in (0.1, 0.2, 0.3, 0.4)]
    comparison = only(*runs)
    assert len(comparison.entries) == 16 > MOST_FIRST
    assert len(comparison.shown) == 12
    assert len(comparison.lines) == MOST_LINES


def test_there_is_no_reference_where_methods_are_named(finished):
    (comparison,) = comparisons([finished], ["finetune+siw", "finetune"])
    assert [comparison.role(entry) for entry in comparison.entries] == ["", ""]


def test_averages_by_state_over_seeds():
    runs = [FakeRun({"finetune": [90.0, x]}, f"{x}/s", seed=s) for s, x in ((0, 20.0), (1, 40.0))]
    comparison = only(*runs)
    by_state = comparison.by_state(comparison.reference)
    assert by_state["mean"].tolist() == [90, 30]
    assert by_state["std"].tolist() == [0, pytest.approx(200**0.5)]


def test_the_front_keeps_something_and_beats_all_that_keep_less():
    row = only(FakeRun(FT)).row
    facts = {
        "nothing": (0, 7),
        "few": (10, 9),
        "worse": (20, 8),
        "equal": (30, 9),
        "many": (40, 50),
    }
    rows = [row._replace(method=n, bytes=size, top1=top) for n, (size, top) in facts.items()]
    assert [row.method for row in pareto_front(rows)] == ["few", "many"]
    assert pareto_front([row._replace(bytes=5, top1=6.0), *rows[:1]]) == []
    assert pareto_front([row._replace(memoryless=False)]) == []
