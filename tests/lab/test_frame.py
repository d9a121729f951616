"""The results frame has every figure of every run once, and averages by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from conftest import FakeRun, single
from memoryless.errors import ConfigError
from memoryless.lab import results
from memoryless.lab.evaluate import score
from memoryless.lab.experiment import run
from memoryless.lab.frame import (
    averages,
    in_shares,
    lacked_by,
    named_methods,
    results_frame,
    results_with,
)
from memoryless.lab.runs import RunFolder, states_of
from memoryless.stats.methods import build_scorer, grid_of, method_name, parse_method
from memoryless.stats.metrics import ranks
from memoryless.stats.scorers import Linear
from memoryless.strategies import STRATEGIES

NAMES = ["strategy", "head", "calibration", "transport", "shrinkage", "paper_name"]


def test_a_row_by_hand():
    (first, second) = results_frame([FakeRun({"inFT_siw_mc": [80.0, 30.0]})]).itertuples()
    assert (second.method, second.state, second.classes_seen) == ("finetune+siw+mc", 1, 4)
    assert [getattr(second, name) for name in NAMES] == [
        "finetune", "siw", "mc", "none", "", "inFT_siw_mc",
    ]  # fmt: skip
    assert (second.top1, second.top5, second.past, second.new) == (30, 15, 30, 33)
    assert (first.forgetting, second.forgetting) == (0, 50)  # 80 on state 0, then 30
    assert (second.bytes, second.bytes_of_run, second.multiplications) == (200, 650, 14)
    assert (second.T, second.finished, second.seed, second.seconds) == (2, 2, 0, 1.5)
    assert (second.network, second.augmentation) == ("resnet18_3x3, width 2", "flip")
    assert second.protocol == (
        "resnet18_3x3, width 2, epochs 2 (later 2), augmentation flip, order natural"
    )


def test_it_is_read_from_folders_each_run_once(tiny, finished):
    frame = results(tiny.output, finished.path)
    stored = [state.methods for state in finished.results()]
    assert len(frame) == sum(map(len, stored))
    assert {"finetune", "finetune+siw+mc"} <= {*frame["method"]} == {*stored[0]}
    last = frame[(frame["method"] == "finetune") & (frame["state"] == 2)]
    assert last["top1"].tolist() == [pytest.approx(stored[-1]["finetune"].top1 / 100)]


def test_averages_over_states_and_seeds_by_hand():
    runs = [FakeRun({"FT": [90.0, x, 10.0]}, f"{x}/s", seed=seed) for seed, x in ((0, 20), (1, 40))]
    (row,) = averages(results_frame(runs)).itertuples()
    assert (row.top1, row.A_inc, row.A_last) == (20, pytest.approx(130 / 3), 10)
    assert row.top1_std == pytest.approx(50**0.5)  # of 15 and 25
    assert (row.top5, row.last_top5, row.A_last_std) == (10, 5, 0)
    # the best earlier accuracies are 90 and 10 (20 - 10), the last 10 and 0; and 90 and 30
    assert row.forgetting == pytest.approx(((80 + 10) / 2 + (80 + 30) / 2) / 2)
    assert row.chance_top1 == pytest.approx((100 / 4 + 100 / 6) / 2)
    assert row.chance_top5 == pytest.approx((100 + 500 / 6) / 2)
    assert (row.seeds, row.seed, row.bytes, row.seconds) == (2, "0 1", 300, 4.5)


def test_the_only_state_counts():
    (row,) = averages(results_frame([FakeRun({"Full": [70.0]})])).itertuples()
    assert (row.top1, row.A_inc, row.A_last, row.forgetting) == (70, 70, 70, 0)
    assert pd.isna(row.top1_std)  # one seed has no deviation


def test_runs_of_other_settings_stay_apart_and_seeds_share_methods():
    both, one = {"FT": [9.0, 8.0], "inFT": [9.0, 8.0]}, {"FT": [9.0, 8.0]}
    runs = [FakeRun(both, "a", seed=0), FakeRun(one, "b", seed=1)]
    runs += [FakeRun(one, "c", config={"lr": 0.2}), FakeRun(both, "d", config={"states": "2,2"})]
    found = averages(results_frame(runs))
    assert list(zip(found["method"], found["seeds"], strict=True)) == [
        ("finetune", 2), ("finetune", 1), ("finetune", 1), ("finetune+initial", 1),
    ]  # fmt: skip


def test_a_run_that_has_not_ended_is_another_training(tiny, toy, monkeypatch):
    folder = run(tiny, toy)[0]
    (folder / "states/02").rename(folder / "gone")
    frame = results(folder)
    assert {*frame["state"]} == {0, 1}
    assert (frame["T"].iloc[0], frame["finished"].iloc[0]) == (3, 2)


def test_programs_read_shares():
    frame = in_shares(averages(results_frame([FakeRun({"FT": [80.0, 45.25]})])))
    assert (frame["top1"].tolist(), frame["A_inc"].tolist()) == ([0.4525], [0.62625])


def test_validation_images_are_another_data_set():
    runs = [FakeRun({"FT": [9.0]}, f"{v}/s", config={"validation": v}) for v in (0.0, 0.2)]
    frame = results_frame(runs)
    assert frame["images"].tolist() == ["test", "validation"]
    assert frame["data_id"].nunique() == 2


@pytest.mark.parametrize("read", [{}, {"square_roots": True, "level": "middle"}])
def test_what_runs_score_is_what_is_scored_again(read, gathering, gathered, toy):
    if read:
        config = replace(gathering, **read, output=gathering.output / "other")
        gathered = RunFolder(run(config, toy)[0])
    stored = gathered.results()
    names = [name for name in stored[0].methods if "+" in name]
    assert {"finetune+ncm", "finetune+lda+linear", "finetune+fetril+sdc"} <= set(names)
    again = results_with(gathered, names)
    for state, other in zip(stored, again, strict=True):
        for name in names:
            assert state.methods[name].top1 == pytest.approx(other.methods[name].top1)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_combination_with_every_strategy(strategy, gathering, toy, short_fits):
    """Whatever the grid offers can be scored, in every state, and has a name of its own."""
    config = replace(gathering, strategy=strategy, epochs=1, states="2")
    config = replace(config, level="middle", square_roots=True)
    config = replace(config, projection=20 if STRATEGIES[strategy].backbone_stays else 0)
    folder = RunFolder(run(config, toy)[0])
    grid = {n: m for n, m in grid_of(strategy).items() if not lacked_by(folder, m)}
    assert {m.head for m in grid.values()} == {m.head for m in grid_of(strategy).values()}
    for name, method in grid.items():
        assert parse_method(name) == method
        assert method_name(method) == name
    for kept in states_of(folder):
        features, labels = np.abs(single(3, 64)), np.zeros(3, int)
        outcomes = score(features, labels, grid, kept)
        for name, method in grid.items():
            scorer = build_scorer(method, kept)
            scores = scorer(features)
            assert scores.shape == (3, len(kept.record.b))
            assert np.isfinite(scores).all(), name
            if not isinstance(scorer, Linear):  # whose rounding may differ
                assert outcomes[name].ranks.tolist() == ranks(scores, labels).tolist()


@pytest.mark.parametrize(
    ("given", "name", "advice"),
    [
        ({}, "finetune+lda", "`statistics=full`"),
        ({"statistics": "mean"}, "finetune+lda", "`statistics=full`"),
        ({"statistics": "full", "transports": ("linear",)}, "finetune+ncm+sdc", "`transports=sdc`"),
        ({"statistics": "full"}, "finetune+siw+bg_z", "`held_out=0.1`"),
        ({"strategy": "frozen"}, "frozen+projection", "`projection=1000`"),
    ],
)
def test_what_a_run_lacks_is_named_with_the_setting(tiny, toy, given, name, advice, short_fits):
    folder = RunFolder(run(replace(tiny, epochs=1, states="1", **given), toy)[0])
    with pytest.raises(ConfigError, match=f"lacks what .* reads: train with {advice}"):
        results_with(folder, [name])


def test_what_the_record_did_not_hold_is_composed_of_births(tiny, toy, short_fits):
    config = replace(tiny, statistics="full")
    whole = RunFolder(run(config, toy)[0])
    few = replace(config, transports=("linear",), output=tiny.output / "few")
    folder = RunFolder(run(few, toy)[0])
    assert "none.mean" not in folder.results()[-1].bytes.record
    methods = ["finetune+ncm", "finetune+lda"]
    last = results_with(folder, methods)[-1].methods
    assert last == results_with(whole, methods)[-1].methods
    assert last["finetune+ncm"].bytes == 6 * 16 * 4
    assert last["finetune+lda"].bytes == (6 + 6 * 16 + 16 * 17 // 2) * 4  # one triangle


def test_methods_have_one_name_and_need_a_run_of_their_strategy(finished):
    assert named_methods([finished], ["FT", "finetune", "inFT_siw_mc", "finetune+mc+siw"]) == [
        "finetune", "finetune+siw+mc",
    ]  # fmt: skip
    with pytest.raises(ConfigError, match=r"LwF needs a run of the strategy lwf, .* used finetune"):
        named_methods([finished], ["LwF"])
    assert not results_with(finished, ["lwf+siw"])[0].methods  # a method of another strategy
