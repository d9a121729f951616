"""Calibrations and mc against numbers worked by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from conftest import ENDED, ended, single
from memoryless.errors import ConfigError
from memoryless.stats.calibration import CALIBRATIONS, fold, mc_factors
from memoryless.stats.heads import mahalanobis
from memoryless.stats.record import EndOfState
from memoryless.stats.scorers import Affine, Linear, Scorer

FITTED = [calibration.name for calibration in CALIBRATIONS.values() if calibration.fit]


def calibrated(name: str, scorer: Scorer, end: EndOfState = ENDED) -> Scorer:
    return fold(scorer, *CALIBRATIONS[name].fit(scorer, end))


def layer(unit: bool = False) -> Linear:
    """A layer of the seven classes of `ENDED`."""
    return Linear(single(7, 5, seed=1), single(7, seed=2), unit)


def identity(d: int) -> Linear:
    """Features are scores."""
    return Linear(np.eye(d), np.zeros(d))


def held_out(class_state: list[int], features: list[list[float]], label: int) -> EndOfState:
    """The end of states with mu 1 and held-out images of one class."""
    mu, labels = np.ones(max(class_state) + 1), np.full(len(features), label)
    return ended(mu, np.array(class_state), (np.array(features), labels))


@pytest.mark.parametrize("name", FITTED)
@pytest.mark.parametrize("unit", [False, True])
def test_contract_of_calibrations(name, unit):
    """A positive gain for each class, no change of order within a state, a layer stays one."""
    scorer, features = layer(unit), single(40, 5)
    gain, offset = CALIBRATIONS[name].fit(scorer, ENDED)
    assert gain.shape == offset.shape == (7,)
    assert gain.dtype == offset.dtype == np.float32
    assert (gain > 0).all()
    made = calibrated(name, scorer)
    assert isinstance(made, Linear)
    assert (made.cost, made.unit) == (scorer.cost, unit)
    scores = made(features)
    for state in range(3):
        block = ENDED.record.class_state == state
        before, after = (s[:, block].argsort(1) for s in (scorer(features), scores))
        assert np.array_equal(before, after)
    flat = Linear(np.zeros((7, 5), np.float32), np.zeros(7, np.float32))
    assert np.isfinite(calibrated(name, flat)(features)).all()


@pytest.mark.parametrize("name", [n for n in FITTED if not CALIBRATIONS[n].logits_only])
def test_scorers_that_are_not_linear_are_calibrated_too(name, statistics):
    quadratic, new = mahalanobis(statistics, 3.0), single(3, 6, seed=1)
    end = held_out([0, 1, 1], single(4, 6).tolist(), label=1)
    made = calibrated(name, quadratic, end)
    gain, offset = CALIBRATIONS[name].fit(quadratic, end)
    assert isinstance(made, Affine)
    assert np.isfinite(made(new)).all()
    np.testing.assert_allclose(made(new), quadratic(new) * gain + offset)


@pytest.mark.parametrize(
    ("class_state", "held_out_scores", "label", "scores", "expected"),
    [
        # State 0: 1 and 3, mean 2, deviation 1; state 1 without the own class: 2 and 6, mean 4;
        # the deviation is of all four, 2, 9, 6 and 9: the root of 8.25.
        ([0, 1, 1], [[1.0, 2, 9], [3.0, 6, 9]], 2, [4.0, 4, 8], [2, 0, 4 / 8.25**0.5]),
        # A lone new class has only its own images: it is moved and scaled as other states are.
        ([0, 0, 1], [[1.0, 3, 90]], 2, [2.0, 3, 4], [0, 1, 2]),
        # State 0 has one score, 3, and no deviation.
        ([0, 1], [[3.0, 9]], 1, [3.0, 4], [0, 1]),
        # Means 3 and 6, and 4.5 for state 2; deviations 1 (in place of none), 2, and again 1.
        ([0, 1, 1, 2], [[3.0, 4, 8, 9]], 3, [4.0, 6, 8, 6], [1, 0, 1, 1.5]),
    ],
)
def test_bg_z_by_hand(class_state, held_out_scores, label, scores, expected):
    end = held_out(class_state, held_out_scores, label)
    found = calibrated("bg_z", identity(len(class_state)), end)(np.array([scores]))
    np.testing.assert_allclose(found, [expected], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("mu", "class_state", "expected"),
    [
        ([8, 2, 4], [0, 0, 1, 2], [0.5, 0.5, 2, 1]),
        ([8, 2], [0, 0, 1], [0.25, 0.25, 1]),
        ([0, 4], [0, 1], [1, 1]),  # quotients of what is not above 0 mean nothing
        ([-1, 4], [0, 1], [1, 1]),
        ([4, 0], [0, 1], [1, 1]),
        ([4, -2], [0, 1], [1, 1]),
    ],
)
def test_mc_factors_by_hand(mu, class_state, expected):
    mu, class_state = np.array(mu, np.float32), np.array(class_state)
    assert mc_factors(mu, class_state, len(mu) - 1).tolist() == expected
    d = len(class_state)
    scores = calibrated("mc", identity(d), ended(mu, class_state))(np.ones((1, d)))
    assert scores[0].tolist() == expected


@given(
    arrays(np.float32, (5, 6), elements=st.floats(-3, 3, width=32)),
    arrays(np.float32, (4, 6), elements=st.floats(-3, 3, width=32)),
    arrays(np.float32, 4, elements=st.floats(-3, 3, width=32)),
    arrays(np.float32, 4, elements=st.floats(0.125, 4, width=32)),
)
def test_folding_equals_scoring_then_calibrating(features, weights, biases, factors):
    folded = fold(Linear(weights, biases), factors, biases)
    assert isinstance(folded, Linear)
    expected = (features @ weights.T + biases) * factors + biases
    np.testing.assert_allclose(folded(features), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", FITTED)
def test_held_out_images_are_asked_for_where_they_are_read(name):
    end = replace(ENDED, held_out=None)
    if CALIBRATIONS[name].held_out:
        with pytest.raises(ConfigError, match=r"state 2 .*: train with `held_out"):
            calibrated(name, layer(), end)
    else:
        assert calibrated(name, layer(), end)(single(2, 5)).shape == (2, 7)


@pytest.mark.parametrize("name", [c.name for c in CALIBRATIONS.values() if c.held_out])
def test_held_out_features_may_be_stored_in_half_precision(name):
    features, labels = ENDED.held_out
    half = replace(ENDED, held_out=(features.astype(np.float16), labels))
    new = single(4, 5, seed=3)
    scores = [calibrated(name, layer(), end)(new) for end in (half, ENDED)]
    np.testing.assert_allclose(*scores, rtol=0.02, atol=0.02)
