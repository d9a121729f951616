"""Methods scored on finished runs without training."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from conftest import single
from memoryless.errors import ConfigError
from memoryless.lab.evaluate import score
from memoryless.lab.experiment import run
from memoryless.lab.rescore import (
    combinations,
    image_shares,
    lacked_by,
    named_methods,
    results_with,
)
from memoryless.lab.runs import RunFolder, states_of
from memoryless.stats.methods import build_scorer, grid_of, method_name, parse_method
from memoryless.stats.metrics import ranks
from memoryless.stats.scorers import Linear
from memoryless.strategies import STRATEGIES


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


def test_combinations_and_names(finished):
    assert combinations([finished], ["siw"], ("none", "mc")) == ["finetune+siw", "finetune+siw+mc"]
    assert named_methods([finished], ["FT", "finetune", "inFT_siw_mc", "finetune+mc+siw"]) == [
        "finetune", "finetune+siw+mc",
    ]  # fmt: skip
    with pytest.raises(ConfigError, match=r"LwF needs a run of the strategy lwf, .* of finetune"):
        named_methods([finished], ["LwF"])
    assert not results_with(finished, ["lwf+siw"])[0].methods  # a method of another strategy


def test_images_share_the_average_accuracy(finished):
    """What each image adds is in the order of classes, and sums up to the average."""
    for k in (1, 5):
        shares = image_shares(finished, ["finetune", "finetune+siw"], k)
        for name, own in shares.items():
            later = [getattr(state.methods[name], f"top{k}") for state in finished.results()[1:]]
            assert own.sum() == pytest.approx(sum(later) / 2)
            assert {*own[-8:].round(9)} <= {0, round(100 / 24 / 2, 9)}  # classes of the last state
