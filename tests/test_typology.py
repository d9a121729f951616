"""Typology and data tables hold what the runs stored."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from memoryless.lab.analysis.typology import data_grid, typology_grids
from memoryless.lab.experiment import run
from memoryless.lab.runs import RunFolder


def test_typology_grid_has_the_stored_percentages(finished):
    (grid,) = typology_grids([finished], ["FT"])
    assert grid.columns == ["percent", "state 1", "state 2"]
    assert [line[0] for line in grid.rows] == [
        f"FT {kind}" for kind in ("c(p)", "e(p,p)", "e(p,n)", "c(n)", "e(n,n)", "e(n,p)")
    ]
    stored = [s["methods"]["FT"]["typology"]["c_n"] for s in finished.results()[1:]]
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
