"""Accuracy tables of summary rows."""

from __future__ import annotations

from dataclasses import replace

from memoryless.lab.analysis.summary import summarise
from memoryless.lab.analysis.table import grids
from memoryless.lab.experiment import run
from memoryless.lab.runs import RunFolder


def test_one_state_is_one(tiny, toy):
    (grid,) = grids(summarise([RunFolder(run(replace(tiny, states="1"), toy)[0])]))
    assert "toy, 1 state, order natural" in grid.title
