"""Paired tables compare methods in the same states of one training."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import wilcoxon

from conftest import FakeRun
from memoryless.lab.analysis.paired import paired_grids


def test_paired_differences_by_hand():
    """Two later states: +10 and -4 points against FT, and no difference at all."""
    ft, siw = [90.0, 50.0, 40.0], [90.0, 60.0, 36.0]
    (grid,) = paired_grids([FakeRun({"FT": ft, "inFT_siw": siw, "inFT": ft})])
    assert grid.title == "toy, 3 states, order natural, finetune, 1 seed: top-1 against FT"
    assert grid.caption.startswith("in 2 states after state 0; p of Wilcoxon's signed-rank test")
    assert grid.rows[0][:4] == ["inFT_siw", "+3.0", "9.9", "1/2"]  # 14 / sqrt(2)
    assert grid.rows[1] == ["inFT", "+0.0", "0.0", "0/2", ""]


@pytest.mark.parametrize("k", ["top1", "top5"])
def test_paired_methods_are_scored_anew(finished, k):
    (grid,) = paired_grids([finished], ["inFT", "finetune+siw", "lwf+siw"], k)
    assert [line[0] for line in grid.rows] == ["finetune+siw"]
    stored = [s.methods for s in finished.results()[1:]]
    expected = np.mean([getattr(m["inFT_siw"], k) - getattr(m["inFT"], k) for m in stored])
    assert grid.entries[0]["difference"] == pytest.approx(expected)


def test_each_training_has_a_table_over_all_its_seeds():
    runs = [
        FakeRun({"FT": [0.0, 10.0, 20.0], "inFT": [0.0, 14.0, 22.0], "some": [0.0] * 3}),
        FakeRun({"LwF": [0.0, 1.0], "inLwF": [0.0, 9.0]}, config={"strategy": "lwf"}),
        FakeRun({"FT": [0.0, 10.0, 9.0], "inFT": [0.0, 4.0, 9.0]}, seed=1),
        FakeRun({"FT": [0.0, 50.0, 50.0], "inFT": [0.0] * 3}, config={"validation": 0.2}),
    ]
    first, second, third = paired_grids(runs)
    assert first.title == "toy, 3 states, order natural, finetune, 2 seeds: top-1 against FT"
    (entry,) = first.entries
    assert (entry["method"], entry["against"], entry["better"], entry["pairs"]) == (
        "inFT", "FT", 2, 4
    )  # fmt: skip
    assert entry["difference"] == 0  # 4, 2, -6 and 0
    assert entry["std"] == pytest.approx((56 / 3) ** 0.5)
    assert entry["p_value"] == pytest.approx(wilcoxon([4, 2, -6, 0]).pvalue)
    assert second.rows == [["inLwF", "+8.0", "0.0", "1/1", "1"]]  # one pair proves nothing
    assert third.title.startswith("toy (validation), 3 states")  # another experiment


def test_top5_is_compared_where_that_is_asked():
    (grid,) = paired_grids([FakeRun({"FT": [0.0, 10.0], "inFT": [0.0, 11.0]})], k="top5")
    assert grid.title.endswith("top-5 against FT")
    assert grid.entries[0]["difference"] == 0.5
    assert grid.entries[0]["better"] == 1
    assert grid.columns == ["method", "difference", "std", "better", "p"]


def test_runs_without_state_1_or_another_method_give_no_table():
    runs = [FakeRun({"FT": [10.0], "inFT": [4.0]}), FakeRun({"FT": [10.0, 3.0]})]
    assert [paired_grids([run]) for run in runs] == [[], []]
    seeds = [FakeRun({"FT": [10.0, 3.0]}), FakeRun({"LwF": [10.0, 3.0]}, seed=1)]
    assert paired_grids(seeds) == []


def test_a_run_in_two_folders_is_one():
    values = {"FT": [0.0, 10.0], "inFT": [0.0, 11.0]}
    (grid,) = paired_grids([FakeRun(values, "a/seed-0"), FakeRun(values, "b/seed-0")])
    assert grid.entries[0]["pairs"] == 1
