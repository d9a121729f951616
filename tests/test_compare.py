"""Comparisons of many methods on the same runs, and their front."""

from __future__ import annotations

from dataclasses import replace

import torch

from memoryless.build import EndOfState
from memoryless.lab.analysis.compare import combinations, compare, pareto_front
from memoryless.lab.analysis.paired import paired_grids
from memoryless.lab.experiment import run, scored_in_run
from memoryless.lab.runs import RunFolder
from memoryless.methods import methods_of
from memoryless.record import Record


def test_the_front_by_hand(gathered):
    rows = compare([gathered], ["FT", "inFT", "inFT_siw", "finetune+lda"])
    made = [
        replace(row, bytes_kept=size, top1=top1)
        for row, size, top1 in zip(rows, (10, 20, 20, 30), (5.0, 4.0, 9.0, 9.0), strict=True)
    ]
    assert pareto_front(made) == [made[0], made[2]]


def test_runs_that_kept_different_things_are_compared_by_what_they_have(tiny, toy, finished):
    config = replace(tiny, epochs=1, statistics="mean", output=tiny.output / "mean")
    few, many = finished, RunFolder(run(config, toy)[0])
    rows = compare([few, many], combinations([few, many]), leave_out=True)
    assert {row.run for row in rows if row.method == "finetune+ncm"} == {str(many.path.parent)}
    assert {row.run for row in rows if row.method == "finetune+siw"} == {
        str(folder.path.parent) for folder in (few, many)
    }
    (grid,) = paired_grids([few, many])
    assert {r["method"] for r in grid.entries} == {*methods_of("finetune")} - {"FT"}


def test_without_statistics_runs_score_what_they_did(tiny):
    assert not any("+" in name for name in scored_in_run(tiny))
    assert combinations([]) == []
    assert EndOfState(Record.empty(2), (torch.zeros(0, 2), torch.zeros(0))).fitted == {}
