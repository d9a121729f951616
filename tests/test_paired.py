"""Paired tables compare methods on the same checkpoints."""

from __future__ import annotations

import numpy as np
import pytest

from memoryless.lab.analysis.paired import paired_grids
from memoryless.lab.runs import RunFolder


def test_paired_differences_by_hand(finished, monkeypatch):
    """Two later states: +10 and -4 points against FT, and no difference at all."""
    made = [
        {"methods": {"FT": {"top5": ft}, "inFT_siw": {"top5": siw}, "inFT": {"top5": ft}}}
        for ft, siw in ((90.0, 90.0), (50.0, 60.0), (40.0, 36.0))
    ]
    monkeypatch.setattr(RunFolder, "results", lambda run: made)
    (grid,) = paired_grids([finished])
    assert grid.title == "finetune: top5 against FT, on 2 checkpoints of 1 runs"
    assert grid.rows[0][:4] == ["inFT_siw", "+3.0", "9.9", "1/2"]  # 14 / sqrt(2)
    assert grid.rows[1] == ["inFT", "+0.0", "0.0", "0/2", ""]


@pytest.mark.parametrize("k", ["top1", "top5"])
def test_paired_methods_are_scored_anew(finished, k):
    (grid,) = paired_grids([finished], ["inFT", "finetune+siw", "lwf+siw"], k)
    assert [line[0] for line in grid.rows] == ["finetune+siw"]
    stored = [s["methods"] for s in finished.results()[1:]]
    expected = np.mean([m["inFT_siw"][k] - m["inFT"][k] for m in stored])
    assert grid.entries[0]["difference"] == pytest.approx(expected)
