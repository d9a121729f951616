"""Comparisons of many methods on the same runs, and their front."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from conftest import FakeRun
from memoryless.errors import ConfigError
from memoryless.lab.analysis.compare import (
    combinations,
    compare,
    compare_grids,
    labelled_streams,
    named_methods,
    pareto_front,
)
from memoryless.lab.analysis.summary import Summary, summarise
from memoryless.lab.experiment import run, scored_in_run
from memoryless.lab.runs import RunFolder
from memoryless.stats.build import EndOfState
from memoryless.stats.methods import grid_of, methods_of, parse_method
from memoryless.stats.record import Record


def test_the_front_by_hand(gathered):
    rows = compare([gathered], ["FT", "inFT", "inFT_siw", "finetune+lda"])
    made = [
        replace(row, bytes_kept=size, top1=top1)
        for row, size, top1 in zip(rows, (10, 20, 20, 30), (5.0, 4.0, 9.0, 9.0), strict=True)
    ]
    assert pareto_front(made) == [made[0], made[2]]
    assert pareto_front([replace(made[0], bytes_kept=0), *made[1:]]) == [made[2]]


def test_runs_that_kept_different_things_are_compared_by_what_they_have(tiny, toy, finished):
    config = replace(tiny, epochs=1, statistics="mean", output=tiny.output / "mean")
    few, many = finished, RunFolder(run(config, toy)[0])
    rows = compare([few, many], combinations([few, many]), leave_out=True)
    assert {row.run for row in rows if row.method == "finetune+ncm"} == {str(many.path.parent)}
    assert {row.run for row in rows if row.method == "finetune+siw"} == {
        str(folder.path.parent) for folder in (few, many)
    }


def test_without_statistics_runs_score_what_they_did(tiny):
    assert not any("+" in name for name in scored_in_run(tiny))
    assert combinations([]) == []
    assert EndOfState(Record.empty(2), (torch.zeros(0, 2), torch.zeros(0))).fitted == {}


LWF = {"strategy": "lwf"}


def test_combinations_are_the_grid_of_the_runs_strategies():
    runs = [FakeRun({"FT": [1.0, 2.0]}), FakeRun({"FT": [1.0]}), FakeRun({"L": [1.0]}, config=LWF)]
    everything = combinations(runs, calibrations=())
    assert everything == [*grid_of("finetune"), *grid_of("lwf")]
    plain = [n for n in everything if parse_method(n).calibration == "none"]
    assert combinations(runs) == plain
    few = combinations(runs, ["siw", "lda"], ["mc", "bg_z"], ["none", "linear"])
    assert few == [
        f"{strategy}+{rest}"
        for strategy in ("finetune", "lwf")
        for rest in ("siw+mc", "siw+bg_z", "lda+bg_z", "lda+bg_z+linear")
    ]


def test_methods_are_named_as_the_paper_does_and_once():
    runs = [FakeRun({"FT": [1.0]})]
    assert named_methods(runs, ["finetune+siw", "inFT_siw", "FT", "finetune+lda:0.3"]) == [
        "inFT_siw", "FT", "finetune+lda:0.3",
    ]  # fmt: skip
    with pytest.raises(ConfigError) as caught:
        named_methods([*runs, FakeRun({"L": [1.0]}, config=LWF)], ["LUCIR"])
    assert str(caught.value) == (
        "the runs there are of the strategy finetune and lwf, and the method LUCIR is of lucir: "
        "name methods of finetune or lwf, or runs of lucir"
    )
    assert named_methods([], ["LUCIR"]) == ["LUCIR"]


@pytest.mark.parametrize("k", ["top1", "top5"])
def test_the_highest_stand_first(finished, k):
    names = list(methods_of("finetune"))
    rows = compare([finished], names, k)
    values = [getattr(row, k) for row in rows]
    assert values == sorted(values, reverse=True)
    assert {row.method for row in rows} == set(names)
    assert len({*values}) > 1
    assert compare([finished], []) == []


def made_rows(*facts: tuple[str, float, int, bool]) -> list[Summary]:
    (row,) = summarise([FakeRun({"FT": [1.0, 2.0]})])
    return [
        replace(row, method=name, top1=top1, top5=100 - top1, bytes_kept=size, memoryless=free)
        for name, top1, size, free in facts
    ]


def test_the_front_is_of_memoryless_methods_that_beat_all_that_keep_less():
    rows = made_rows(
        ("images", 99.0, 5, False), ("free", 7.0, 0, True), ("few", 5.0, 9, True),
        ("worse", 6.0, 10, True), ("better", 8.0, 10, True), ("best", 9.0, 11, True),
    )  # fmt: skip
    assert [row.method for row in pareto_front(rows)] == ["better", "best"]
    assert [row.method for row in pareto_front(rows, "top5")] == ["few"]


def test_rows_of_a_stream_have_names_of_their_own():
    one, two = made_rows(("a", 1.0, 1, True), ("a", 2.0, 1, True))
    other = replace(one, states="5")
    two = replace(two, statistics_of="middle stages")
    found = labelled_streams([one, two, replace(two, top1=9.0), other])
    assert found == {
        "toy, 2 states": {
            "a": one, "a (middle stages)": two, "a (2)": replace(two, top1=9.0),
        },
        "toy, 5 states": {"a": other},
    }  # fmt: skip
    (plain,) = labelled_streams(
        [replace(one, statistics_of=""), replace(two, statistics_of="")]
    ).values()
    assert list(plain) == ["a", "a (1)"]


def test_the_table_marks_the_front_and_says_what_scoring_costs():
    rows = made_rows(("a", 5.0, 1000, True), ("b", 4.0, 2000, True))
    rows[0], rows[1] = replace(rows[0], cost=12345), replace(rows[1], cost=None)
    (grid,) = compare_grids(rows)
    assert grid.columns == ["method", "top-1", "top-5", "kept", "multiplications", "front"]
    assert grid.rows == [
        ["a", "5.0", "95.0", "1.0 kB", "12,345", "*"],
        ["b", "4.0", "96.0", "2.0 kB", "", ""],
    ]
    assert [entry["front"] for entry in grid.entries] == [True, False]
    assert grid.caption == (
        "highest top-1 first, on the test images: to choose a method, run with --validation 0.2; "
        "* beats all that keep less"
    )
    held_out = [replace(row, data="toy (validation)") for row in rows]
    assert compare_grids(held_out)[0].caption == "highest top-1 first; * beats all that keep less"
    assert [row[-1] for row in compare_grids(rows, "top5")[0].rows] == ["*", "*"]


def test_methods_that_a_run_lacks_are_an_error_unless_they_may_be_left_out(finished):
    names = ["FT", "finetune+lda"]
    with pytest.raises(ConfigError, match="lacks what finetune\\+lda reads"):
        compare([finished], names)
    assert [row.method for row in compare([finished], names, leave_out=True)] == ["FT"]
