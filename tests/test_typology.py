"""Typology and statistics tables hold what the runs stored."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from memoryless.lab.analysis.typology import data_grid, typology_grids
from memoryless.lab.counting import accuracies
from memoryless.lab.experiment import run
from memoryless.lab.runs import RunFolder
from memoryless.lab.scoring import Outcome
from memoryless.record import Record


def test_typology_of_a_hand_made_outcome():
    """Two past classes and two new ones."""
    record = Record(torch.zeros(4, 2), torch.zeros(4), torch.tensor([0, 0, 1, 1]), torch.ones(2))
    labels = torch.tensor([0, 0, 1, 1, 2, 3])
    outcome = Outcome(np.array([0, 1, 2, 3, 2, 0]), np.array([0, 1, 2, 3, 0, 1]))
    found = accuracies(outcome, labels, record)
    assert found["typology"] == {
        "c_p": 25, "e_pp": 25, "e_pn": 50, "c_n": 50, "e_nn": 0, "e_np": 50,
    }  # fmt: skip
    assert found["by_state"] == [25, 50]
    assert found["top1"] == pytest.approx(100 / 3)
    assert found["top5"] == 100  # of four classes


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
