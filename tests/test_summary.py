"""Summary rows average over states and seeds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memoryless.lab.analysis.rescore import results_with
from memoryless.lab.analysis.summary import summarise
from memoryless.lab.experiment import run
from memoryless.lab.runs import RunFolder, find_runs


def test_new_combinations_are_summarised(finished):
    name = "finetune+min_max+mc"
    (row,) = summarise([finished], methods=[name])
    _, first, last = (state["methods"][name] for state in results_with(finished, [name]))
    assert row.method == name
    assert row.top1 == pytest.approx((first["top1"] + last["top1"]) / 2)
    assert row.top5 == pytest.approx((first["top5"] + last["top5"]) / 2)
    assert (row.last_top1, row.last_top5) == (last["top1"], last["top5"])
    assert (row.bytes_kept, row.cost) == (last["bytes"], last["cost"])


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
        per_state = [s["methods"]["inFT_siw"]["top1"] for s in RunFolder(folder).results()]
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
