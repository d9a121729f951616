"""Calibrations and mc against numbers worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from conftest import NUMBERS, single
from memoryless.errors import ConfigError
from memoryless.stats.calibration import CALIBRATIONS, StateNumbers, fold, mc_factors
from memoryless.stats.heads.classes import mahalanobis
from memoryless.stats.scorers import Affine, Linear, Scorer


def calibrated(name: str, scorer: Scorer, numbers: StateNumbers = NUMBERS) -> Scorer:
    return fold(scorer, *CALIBRATIONS[name].fit(scorer, numbers))


def layer(unit: bool = False) -> Linear:
    """A layer of the seven classes of `NUMBERS`."""
    return Linear(single(7, 5, seed=1), single(7, seed=2), unit)


def identity(d: int) -> Linear:
    """Features are scores."""
    return Linear(np.eye(d), np.zeros(d))


def held_out(class_state: list[int], features: list[list[float]], label: int) -> StateNumbers:
    """Numbers of states with mu 1 and held-out images of one class."""
    mu, labels = np.ones(max(class_state) + 1), np.full(len(features), label)
    return StateNumbers(mu, np.array(class_state), (np.array(features), labels))


@pytest.mark.parametrize("name", CALIBRATIONS)
def test_a_gain_and_an_offset_of_each_class(name):
    gain, offset = CALIBRATIONS[name].fit(layer(), NUMBERS)
    assert gain.shape == offset.shape == (7,)
    assert gain.dtype == offset.dtype == np.float32
    assert (gain > 0).all()


@pytest.mark.parametrize("name", CALIBRATIONS)
@pytest.mark.parametrize("unit", [False, True])
def test_contract_of_calibrations(name, unit):
    """Finite, and no change of order within a state; a linear scorer stays one."""
    scorer, features = layer(unit), single(40, 5)
    made = calibrated(name, scorer)
    scores = made(features)
    assert np.isfinite(scores).all()
    assert isinstance(made, Linear)
    assert (made.cost, made.unit) == (scorer.cost, unit)
    for state in range(3):
        block = NUMBERS.class_state == state
        before, after = (s[:, block].argsort(1) for s in (scorer(features), scores))
        assert np.array_equal(before, after)


@pytest.mark.parametrize("name", CALIBRATIONS)
def test_calibrations_bear_scores_without_spread(name):
    flat = Linear(np.zeros((7, 5), np.float32), np.zeros(7, np.float32))
    assert np.isfinite(calibrated(name, flat)(single(4, 5))).all()


@pytest.mark.parametrize("name", [c.name for c in CALIBRATIONS.values() if not c.logits_only])
def test_scorers_that_are_not_linear_are_calibrated_too(name, statistics):
    quadratic, new = mahalanobis(statistics, 3.0), single(3, 6, seed=1)
    numbers = held_out([0, 1, 1], single(4, 6).tolist(), label=1)
    made = calibrated(name, quadratic, numbers)
    gain, offset = CALIBRATIONS[name].fit(quadratic, numbers)
    assert isinstance(made, Affine)
    assert np.isfinite(made(new)).all()
    np.testing.assert_allclose(made(new), quadratic(new) * gain + offset)


def test_bg_z_by_hand():
    """Two states of one and two classes; held-out images of class 2 score as their features."""
    numbers = held_out([0, 1, 1], [[1.0, 2, 9], [3.0, 6, 9]], label=2)
    scorer = calibrated("bg_z", identity(3), numbers)
    # state 0: 1 and 3, mean 2, deviation 1; state 1 without the own class: 2 and 6, mean 4; the
    # deviation is of all four, 2, 9, 6 and 9: the root of 8.25
    expected = [[2.0, 0, 4 / 8.25**0.5]]
    np.testing.assert_allclose(scorer(np.array([[4.0, 4, 8]])), expected, rtol=1e-5, atol=1e-6)


def test_without_held_out_images_there_is_no_background():
    numbers = StateNumbers(np.ones(1), np.zeros(2, np.int64))
    with pytest.raises(ConfigError, match="train with `held_out"):
        calibrated("bg_z", identity(2), numbers)


def test_a_lone_new_class_is_no_outlier_by_bg_z():
    """Its only images are its own: it is moved and scaled as other states are."""
    scorer = calibrated("bg_z", identity(3), held_out([0, 0, 1], [[1.0, 3, 90]], label=2))
    np.testing.assert_allclose(scorer(np.array([[2.0, 3, 4]])), [[0.0, 1, 2]], atol=1e-6)


def test_mc_factors_by_hand():
    mu, class_state = np.array([8.0, 2.0, 4.0]), np.array([0, 0, 1, 2])
    assert mc_factors(mu, class_state, 2).tolist() == [0.5, 0.5, 2.0, 1.0]
    assert mc_factors(mu, class_state[:3], 1).tolist() == [0.25, 0.25, 1.0]


@pytest.mark.parametrize(
    ("mu", "expected"), [([0, 4], [1, 1]), ([-1, 4], [1, 1]), ([4, 0], [1, 1]), ([4, -2], [1, 1])]
)
def test_mc_leaves_alone_what_has_no_positive_mu(mu, expected):
    factors = mc_factors(np.array(mu, np.float32), np.array([0, 1]), 1)
    assert factors.tolist() == expected


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


@pytest.mark.parametrize("name", CALIBRATIONS)
def test_held_out_images_are_asked_for_where_they_are_read(name):
    numbers = StateNumbers(NUMBERS.mu, NUMBERS.class_state)
    if CALIBRATIONS[name].held_out:
        with pytest.raises(ConfigError) as caught:
            calibrated(name, layer(), numbers)
        assert str(caught.value) == (
            "state 2 held out no image from training: train with `held_out=0.1`, on classes of at "
            "least two images"
        )
    else:
        assert calibrated(name, layer(), numbers)(single(2, 5)).shape == (2, 7)


@pytest.mark.parametrize("name", [c.name for c in CALIBRATIONS.values() if c.held_out])
def test_held_out_features_may_be_stored_in_half_precision(name):
    features, labels = NUMBERS.held_out
    half = StateNumbers(NUMBERS.mu, NUMBERS.class_state, (features.astype(np.float16), labels))
    new = single(4, 5, seed=3)
    scores = [calibrated(name, layer(), numbers)(new) for numbers in (half, NUMBERS)]
    np.testing.assert_allclose(*scores, rtol=0.02, atol=0.02)


def test_one_score_is_enough_for_bg_z():
    """State 0 has one score, 3, and no deviation; state 1, whose image is its own, is as it."""
    scorer = calibrated("bg_z", identity(2), held_out([0, 1], [[3.0, 9]], label=1))
    np.testing.assert_allclose(scorer(np.array([[3.0, 4]])), [[0.0, 1]], atol=1e-6)


def test_mc_is_the_factor_of_the_last_state():
    scorer = calibrated("mc", Linear(np.eye(7), np.ones(7)))
    expected = [1.5, 1.5, 1.5, 3, 3, 2, 2]  # twice 3 / mu, which is 4, 2, 3
    np.testing.assert_allclose(scorer(np.ones((1, 7)))[0], expected)


def test_a_lone_new_class_takes_the_mean_of_the_other_states():
    """State 0 has one score, 3; state 1 has 4 and 8; of the image's own class none counts."""
    scorer = calibrated("bg_z", identity(4), held_out([0, 1, 1, 2], [[3.0, 4, 8, 9]], label=3))
    # means 3 and 6, and 4.5 for state 2; deviations 1 (in place of none), 2, and again 1
    np.testing.assert_allclose(scorer(np.array([[4.0, 6, 8, 6]])), [[1.0, 0, 1, 1.5]], atol=1e-6)
