"""Summary rows average over states and seeds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conftest import FakeRun
from memoryless.errors import ConfigError
from memoryless.lab.analysis.rescore import results_with
from memoryless.lab.analysis.summary import summarise
from memoryless.lab.experiment import run
from memoryless.lab.runs import RunFolder, find_runs


def test_new_combinations_are_summarised(finished):
    name = "finetune+min_max+mc"
    (row,) = summarise([finished], methods=[name])
    _, first, last = (state.methods[name] for state in results_with(finished, [name]))
    assert row.method == name
    assert row.top1 == pytest.approx((first.top1 + last.top1) / 2)
    assert row.top5 == pytest.approx((first.top5 + last.top5) / 2)
    assert (row.last_top1, row.last_top5) == (last.top1, last.top5)
    assert (row.bytes_kept, row.cost) == (last.bytes, last.cost)


def test_a_run_named_twice_is_one_run(tiny, finished):
    assert summarise(find_runs([tiny.output, finished.path]))[0].seeds == 1


def test_seeds_are_averaged_and_other_runs_kept_apart(tiny, toy):
    folders = run(replace(tiny, seeds=(0, 1)), toy)
    other = run(replace(tiny, states="2", output=tiny.output / "other"), toy)
    rows = summarise(find_runs([tiny.output]))
    assert [(r.states, r.seeds) for r in rows if r.method == "FT"] == [("2", 1), ("3", 2)]
    row = next(r for r in rows if r.method == "inFT_siw" and r.seeds == 2)
    averages = []
    for folder in folders:
        per_state = [s.methods["inFT_siw"].top1 for s in RunFolder(folder).results()]
        averages.append(sum(per_state[1:]) / 2)
    assert row.top1 == pytest.approx(sum(averages) / 2)
    assert row.top1_std == pytest.approx(abs(averages[0] - averages[1]) / 2**0.5)
    assert other[0].parent == tiny.output / "other"


def test_seeds_that_scored_other_methods_are_averaged_over_what_they_share(tiny, toy):
    for seed, methods in ((0, ("finetune+mean+mc",)), (1, ())):
        run(replace(tiny, seeds=(seed,), methods=methods), toy)
    rows = {row.method: row.seeds for row in summarise(find_runs([tiny.output]))}
    assert rows["FT"] == 2
    assert "finetune+mean+mc" not in rows


def test_one_row_by_hand():
    (row,) = summarise([FakeRun({"FT": [80.0, 60.0, 30.0]})])
    assert (row.method, row.data, row.states, row.order) == ("FT", "toy", "3", "natural")
    assert (row.strategy, row.memoryless, row.seeds) == ("finetune", True, 1)
    assert (row.top1, row.top5) == (45.0, 22.5)  # the first state is left out
    assert (row.last_top1, row.last_top5) == (30.0, 15.0)
    assert (row.top1_std, row.top5_std, row.last_top1_std, row.last_top5_std) == (0, 0, 0, 0)
    assert row.forgetting == 40  # from 80 to 30, and from 50 to 20
    assert (row.bytes_kept, row.cost) == (300, 21)
    assert (row.bytes_of_run, row.bytes_of_images) == (950, 9000)
    # 4 and 6 classes seen
    assert (row.chance_top1, row.chance_top5) == pytest.approx((100 * (1 / 4 + 1 / 6) / 2, 275 / 3))


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({}, ""),
        ({"level": "middle", "square_roots": True}, ""),  # of nothing
        ({"statistics": "full"}, "last stage"),
        ({"statistics": "mean", "square_roots": True}, "last stage, roots"),
        ({"statistics": "full", "level": "middle"}, "middle stages"),
        ({"statistics": "full", "level": "middle", "square_roots": True}, "middle stages, roots"),
        ({"projection": 100, "level": "middle"}, "middle stages"),
    ],
)
def test_rows_say_what_statistics_were_computed_from(config, words):
    (row,) = summarise([FakeRun({"FT": [1.0, 2.0]}, config=config)])
    assert row.statistics_of == words


def test_plain_and_middle_runs_are_not_averaged():
    values = {"FT": [80.0, 60.0]}
    runs = [FakeRun(values, config={"statistics": "full"}, seed=0)]
    runs.append(FakeRun(values, config={"statistics": "full", "level": "middle"}, seed=1))
    assert [(r.statistics_of, r.seeds) for r in summarise(runs)] == [
        ("last stage", 1), ("middle stages", 1),
    ]  # fmt: skip


def test_the_first_state_counts_if_asked():
    (row,) = summarise([FakeRun({"FT": [80.0, 60.0, 40.0]})], include_first=True)
    assert (row.top1, row.top5) == (60.0, 30.0)
    assert row.chance_top1 == pytest.approx(100 * (1 / 2 + 1 / 4 + 1 / 6) / 3)
    assert row.chance_top5 == pytest.approx((100 + 100 + 500 / 6) / 3)


def test_means_and_deviations_over_seeds_by_hand():
    """Averages of 40 and 50, ends of 20 and 40: deviations of 10 and 20, divided by sqrt(2)."""
    runs = [
        FakeRun({"FT": [90.0, 60.0, 20.0], "more": [0.0] * 3}, "r/seed-0"),
        FakeRun({"FT": [90.0, 60.0, 40.0]}, "r/seed-1", seed=1),
    ]
    (row,) = summarise(runs)
    assert (row.method, row.seeds, row.run) == ("FT", 2, "r")
    assert (row.top1, row.top1_std) == pytest.approx((45, 10 / 2**0.5))
    assert (row.last_top1, row.last_top1_std) == pytest.approx((30, 20 / 2**0.5))
    assert (row.last_top5, row.last_top5_std) == pytest.approx((15, 10 / 2**0.5))
    assert row.forgetting == pytest.approx((55 + 35) / 2)  # 70 and 40, 50 and 20


def test_unfinished_runs_say_so_and_those_without_a_state_are_left_out():
    part = FakeRun({"FT": [80.0, 60.0]}, sizes=[2, 2, 2])
    (row,) = summarise([part, FakeRun({"FT": []})])
    assert row.states == "2/3"
    assert row.chance_top1 == 25  # of the four classes seen


@pytest.mark.parametrize(
    "about", [{"dataset": "other"}, {"classes": ["b"] * 6}, {"sizes": [3, 2, 1]}]
)
def test_runs_of_other_streams_have_rows_of_their_own(about):
    values = {"FT": [80.0, 60.0, 40.0]}
    rows = summarise([FakeRun(values), FakeRun(values, seed=1, **about)])
    assert [row.seeds for row in rows] == [1, 1]


def test_scores_on_training_images_are_called_so():
    config = {"strategy": "lwf", "order": "seed:1", "validation": 0.2}
    (row,) = summarise([FakeRun({"LwF": [1.0, 2.0]}, config=config)])
    assert (row.data, row.strategy, row.order) == ("toy (validation)", "lwf", "seed:1")


def test_folders_are_named_from_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values = {"FT": [1.0, 2.0]}
    places = [str(tmp_path / "a/b/seed-0"), "/elsewhere/seed-0"]
    rows = [summarise([FakeRun(values, place)])[0].run for place in places]
    assert rows == ["a/b", "/elsewhere"]


def test_what_a_run_cannot_give_is_an_error_unless_it_may_be_left_out(finished):
    names = ["FT", "finetune+lda"]
    with pytest.raises(ConfigError, match="lacks what finetune\\+lda reads"):
        summarise([finished], methods=names)
    assert [row.method for row in summarise([finished], methods=names, leave_out=True)] == ["FT"]


def test_a_run_that_stands_in_two_folders_counts_once():
    runs = [FakeRun({"FT": [9.0, v]}, f"{place}/seed-0") for place, v in (("a", 20.0), ("b", 20.0))]
    other = FakeRun({"FT": [9.0, 40.0]}, "a/seed-1", seed=1)
    (row,) = summarise([*runs, other])
    assert (row.seeds, row.run) == (2, "a")
    assert (row.top1, row.top1_std) == pytest.approx((30, 20 / 2**0.5))


def test_of_a_run_in_two_folders_the_one_with_more_states_counts():
    three = {"sizes": [2] * 3, "classes": ("a",) * 6}
    three |= {"train_images": [12] * 6, "test_images": [4] * 6}
    part = FakeRun({"FT": [9.0, 20.0]}, "a/seed-0", **three)
    whole = FakeRun({"FT": [9.0, 20.0, 10.0]}, "b/seed-0")
    assert [(row.states, row.run) for row in summarise([part, whole, part])] == [("3", "b")]
