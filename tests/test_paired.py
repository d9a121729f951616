"""Paired tables compare methods on the same checkpoints."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import wilcoxon

from conftest import FakeRun
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


def test_each_strategy_has_a_table_over_all_its_runs():
    runs = [
        FakeRun({"FT": [0.0, 10.0, 20.0], "inFT": [0.0, 14.0, 22.0], "some": [0.0] * 3}),
        FakeRun({"LwF": [0.0, 1.0], "inLwF": [0.0, 9.0]}, config={"strategy": "lwf"}),
        FakeRun({"FT": [0.0, 10.0], "inFT": [0.0, 4.0]}, seed=1),
    ]
    first, second = paired_grids(runs, k="top1")
    assert first.title == "finetune: top1 against FT, on 3 checkpoints of 2 runs"
    (entry,) = first.entries
    assert (entry["method"], entry["against"], entry["better"], entry["pairs"]) == (
        "inFT", "FT", 2, 3
    )  # fmt: skip
    assert entry["difference"] == 0  # 4, 2 and -6
    assert entry["std"] == pytest.approx((56 / 2) ** 0.5)
    assert entry["p_value"] == pytest.approx(wilcoxon([4, 2, -6]).pvalue)
    assert second.rows == [["inLwF", "+8.0", "0.0", "1/1", "1"]]  # one pair proves nothing
    assert second.title == "lwf: top1 against LwF, on 1 checkpoints of 1 runs"


def test_top5_is_compared_unless_asked_otherwise():
    (grid,) = paired_grids([FakeRun({"FT": [0.0, 10.0], "inFT": [0.0, 11.0]})])
    assert grid.entries[0]["difference"] == 0.5
    assert grid.entries[0]["better"] == 1
    assert grid.columns == ["method", "difference", "std", "better", "p"]


def test_runs_without_a_second_state_or_method_give_no_table():
    runs = [FakeRun({"FT": [10.0], "inFT": [4.0]}), FakeRun({"FT": [10.0, 3.0]})]
    assert [paired_grids([run]) for run in runs] == [[], []]


def test_a_run_in_two_folders_is_one():
    values = {"FT": [0.0, 10.0], "inFT": [0.0, 11.0]}
    (grid,) = paired_grids([FakeRun(values, "a/seed-0"), FakeRun(values, "b/seed-0")])
    assert grid.entries[0]["pairs"] == 1
