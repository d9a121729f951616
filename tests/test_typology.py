"""Typology and data tables hold what the runs stored."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conftest import FakeRun
from memoryless.lab.analysis.typology import KINDS, data_grid, typology_grids
from memoryless.lab.experiment import run
from memoryless.lab.runs import RunFolder


def test_typology_grid_has_the_stored_percentages(finished):
    (grid,) = typology_grids([finished], ["FT"])
    assert grid.columns == ["percent", "state 1", "state 2"]
    assert [line[0] for line in grid.rows] == [
        f"FT {kind}" for kind in ("c(p)", "e(p,p)", "e(p,n)", "c(n)", "e(n,n)", "e(n,p)")
    ]
    stored = [s.methods["FT"].typology.c_n for s in finished.results()[1:]]
    assert [r["percent"] for r in grid.entries if r["kind"] == "c(n)"] == stored
    for state in (1, 2):
        for kinds in (("c(p)", "e(p,p)", "e(p,n)"), ("c(n)", "e(n,n)", "e(n,p)")):
            mine = [r for r in grid.entries if r["state"] == state and r["kind"] in kinds]
            assert sum(r["percent"] for r in mine) == pytest.approx(100)


def test_statistics_of_a_data_set(tiny, toy):
    """Classes of 12 images, but for one of 6."""
    first = np.flatnonzero(toy.train.labels == 0)
    keep = np.setdiff1d(np.arange(len(toy.train)), first[:6])
    (path,) = run(tiny, replace(toy, train=toy.train.take(keep)))
    grid = data_grid([RunFolder(path)])
    assert grid.rows == [["toy", "6", "66", "24", "11.00", "2.24"]]  # sqrt((5 + 25) / 6)


def test_percentages_stand_by_method_kind_and_later_state():
    run = FakeRun({"FT": [1.0, 10.0, 20.0], "inFT": [2.0, 30.0, 40.0]})
    (grid,) = typology_grids([run, FakeRun({"FT": [1.0]})])  # one state has no past images
    assert grid.title == "r/seed-0: error typology"
    assert grid.rows[0] == ["FT c(p)", "10.0", "20.0"]
    assert grid.rows[7] == ["inFT e(p,p)", "31.0", "41.0"]
    assert len(grid.rows) == 2 * len(KINDS)
    expected = {"run": "r/seed-0", "method": "FT", "kind": "c(p)", "state": 2, "percent": 20.0}
    assert grid.entries[1] == expected
    assert len(grid.entries) == 2 * 2 * len(KINDS)


def test_one_later_state_is_enough():
    (grid,) = typology_grids([FakeRun({"FT": [1.0, 10.0]})])
    assert grid.columns == ["percent", "state 1"]
    assert grid.rows[0] == ["FT c(p)", "10.0"]


def test_each_data_set_is_counted_once():
    about = {"dataset": "toy", "train_images": [1200, 800], "test_images": [4, 5]}
    other = about | {"dataset": "more", "train_images": [3, 3, 3]}
    grid = data_grid([FakeRun({"FT": [1.0]}, **facts) for facts in (about, about, other)])
    assert grid.rows == [
        ["toy", "2", "2,000", "9", "1000.00", "200.00"],
        ["more", "3", "9", "9", "3.00", "0.00"],
    ]
    assert grid.title == "data sets"
    assert list(grid.columns) == [
        "data", "classes", "training images", "test images", "mean of a class", "deviation",
    ]  # fmt: skip
    assert grid.entries[0] == {
        "data": "toy", "classes": 2, "train": 2000, "test": 9, "mean_per_class": 1000.0,
        "std_per_class": 200.0,
    }  # fmt: skip


def test_a_run_in_two_folders_has_one_table():
    runs = [FakeRun({"FT": [1.0, 10.0]}, f"{place}/seed-0") for place in "ab"]
    assert [grid.title for grid in typology_grids(runs)] == ["a/seed-0: error typology"]
