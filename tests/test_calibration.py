"""Calibrations and mc against numbers worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from conftest import NUMBERS
from memoryless.calibration import CALIBRATIONS, StateNumbers, fold, mc_factors
from memoryless.errors import ConfigError
from memoryless.heads.classes import mahalanobis
from memoryless.scorers import Linear


@pytest.mark.parametrize("name", CALIBRATIONS)
@pytest.mark.parametrize("unit", [False, True])
def test_contract_of_calibrations(name, unit):
    """Finite, and no change of order within a state; a linear scorer is left alone or folded."""
    scorer = Linear(torch.randn(7, 5), torch.randn(7), unit)
    features = torch.randn(40, 5)
    calibrated = CALIBRATIONS[name].fit(scorer, NUMBERS)
    scores = calibrated(features)
    assert scores.isfinite().all()
    assert isinstance(calibrated, Linear)
    assert calibrated.cost == scorer.cost
    for state in range(3):
        block = NUMBERS.class_state == state
        before, after = (s[:, block].argsort(1) for s in (scorer(features), scores))
        assert (before == after).all()


@pytest.mark.parametrize("name", CALIBRATIONS)
def test_calibrations_bear_scores_without_spread(name):
    flat = Linear(torch.zeros(7, 5), torch.zeros(7))
    assert CALIBRATIONS[name].fit(flat, NUMBERS)(torch.randn(4, 5)).isfinite().all()


@pytest.mark.parametrize("name", [c.name for c in CALIBRATIONS.values() if not c.logits_only])
def test_scorers_that_are_not_linear_are_calibrated_too(name, statistics):
    quadratic = mahalanobis(statistics)
    numbers = StateNumbers(
        torch.ones(2), torch.tensor([0, 1, 1]), (torch.randn(4, 6), torch.ones(4).long())
    )
    scores = CALIBRATIONS[name].fit(quadratic, numbers)(torch.randn(3, 6))
    assert scores.shape == (3, 3)
    assert scores.isfinite().all()


def test_bg_z_by_hand():
    """Two states of one and two classes; held-out images of class 2 score as their features."""
    features = torch.tensor([[1.0, 2, 9], [3.0, 6, 9]])
    numbers = StateNumbers(torch.ones(2), torch.tensor([0, 1, 1]), (features, torch.tensor([2, 2])))
    scorer = CALIBRATIONS["bg_z"].fit(Linear(torch.eye(3), torch.zeros(3)), numbers)
    # state 0: 1 and 3, mean 2, deviation 1; state 1 without the own class: 2 and 6, mean 4; the
    # deviation is of all four, 2, 9, 6 and 9: the root of 8.25
    expected = torch.tensor([[2.0, 0, 4 / 8.25**0.5]])
    torch.testing.assert_close(scorer(torch.tensor([[4.0, 4, 8]])), expected)


def test_without_held_out_images_there_is_no_background():
    numbers = StateNumbers(torch.ones(1), torch.zeros(2).long())
    with pytest.raises(ConfigError, match="train with `held_out"):
        CALIBRATIONS["bg_z"].fit(Linear(torch.eye(2), torch.zeros(2)), numbers)


def test_a_lone_new_class_is_no_outlier_by_bg_z():
    """Its only images are its own: it is moved and scaled as other states are."""
    numbers = StateNumbers(
        torch.ones(2), torch.tensor([0, 0, 1]), (torch.tensor([[1.0, 3, 90]]), torch.tensor([2]))
    )
    scorer = CALIBRATIONS["bg_z"].fit(Linear(torch.eye(3), torch.zeros(3)), numbers)
    torch.testing.assert_close(scorer(torch.tensor([[2.0, 3, 4]])), torch.tensor([[0.0, 1, 2]]))


def test_mc_factors_by_hand():
    mu = torch.tensor([8.0, 2.0, 4.0])
    class_state = torch.tensor([0, 0, 1, 2])
    torch.testing.assert_close(mc_factors(mu, class_state, 2), torch.tensor([0.5, 0.5, 2.0, 1.0]))
    torch.testing.assert_close(mc_factors(mu, class_state[:3], 1), torch.tensor([0.25, 0.25, 1.0]))


@pytest.mark.parametrize(
    ("mu", "expected"), [([0, 4], [1, 1]), ([-1, 4], [1, 1]), ([4, 0], [1, 1]), ([4, -2], [1, 1])]
)
def test_mc_leaves_alone_what_has_no_positive_mu(mu, expected):
    factors = mc_factors(torch.tensor(mu).float(), torch.tensor([0, 1]), 1)
    assert factors.tolist() == expected


@given(
    arrays(np.float32, (5, 6), elements=st.floats(-3, 3, width=32)),
    arrays(np.float32, (4, 6), elements=st.floats(-3, 3, width=32)),
    arrays(np.float32, 4, elements=st.floats(-3, 3, width=32)),
    arrays(np.float32, 4, elements=st.floats(0.125, 4, width=32)),
)
def test_folding_equals_scoring_then_calibrating(features, weights, biases, factors):
    f, w, bias, c = map(torch.from_numpy, (features, weights, biases, factors))
    folded = fold(Linear(w, bias), c, bias)
    assert isinstance(folded, Linear)
    expected = (f @ w.T + bias) * c + bias
    torch.testing.assert_close(folded(f), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", CALIBRATIONS)
def test_held_out_images_are_asked_for_where_they_are_read(name):
    numbers = StateNumbers(NUMBERS.mu, NUMBERS.class_state)
    scorer = Linear(torch.randn(7, 5), torch.randn(7))
    if CALIBRATIONS[name].held_out:
        with pytest.raises(ConfigError) as caught:
            CALIBRATIONS[name].fit(scorer, numbers)
        assert str(caught.value) == (
            "state 2 held out no image from training: train with `held_out=0.1`, on classes of at "
            "least two images"
        )
    else:
        assert CALIBRATIONS[name].fit(scorer, numbers)(torch.randn(2, 5)).shape == (2, 7)


@pytest.mark.parametrize("name", [c.name for c in CALIBRATIONS.values() if c.held_out])
def test_held_out_features_may_be_stored_in_half_precision(name):
    features, labels = NUMBERS.held_out
    half = StateNumbers(NUMBERS.mu, NUMBERS.class_state, (features.half(), labels))
    scorer, new = Linear(torch.randn(7, 5), torch.randn(7)), torch.randn(4, 5)
    scores = [CALIBRATIONS[name].fit(scorer, numbers)(new) for numbers in (half, NUMBERS)]
    torch.testing.assert_close(*scores, rtol=0.02, atol=0.02)


def test_one_score_is_enough_for_bg_z():
    """State 0 has one score, 3, and no deviation; state 1, whose image is its own, is as it."""
    numbers = StateNumbers(
        torch.ones(2), torch.tensor([0, 1]), (torch.tensor([[3.0, 9]]), torch.tensor([1]))
    )
    scorer = CALIBRATIONS["bg_z"].fit(Linear(torch.eye(2), torch.zeros(2)), numbers)
    torch.testing.assert_close(scorer(torch.tensor([[3.0, 4]])), torch.tensor([[0.0, 1]]))


def test_mc_is_the_factor_of_the_last_state():
    scorer = CALIBRATIONS["mc"].fit(Linear(torch.eye(7), torch.ones(7)), NUMBERS)
    expected = 2 * torch.tensor([3 / 4, 3 / 4, 3 / 4, 3 / 2, 3 / 2, 1, 1])  # mu is 4, 2, 3
    torch.testing.assert_close(scorer(torch.ones(1, 7))[0], expected)


def test_a_lone_new_class_takes_the_mean_of_the_other_states():
    """State 0 has one score, 3; state 1 has 4 and 8; of the image's own class none counts."""
    numbers = StateNumbers(
        torch.ones(3),
        torch.tensor([0, 1, 1, 2]),
        (torch.tensor([[3.0, 4, 8, 9]]), torch.tensor([3])),
    )
    scorer = CALIBRATIONS["bg_z"].fit(Linear(torch.eye(4), torch.zeros(4)), numbers)
    # means 3 and 6, and 4.5 for state 2; deviations 1 (in place of none), 2, and again 1
    torch.testing.assert_close(
        scorer(torch.tensor([[4.0, 6, 8, 6]])), torch.tensor([[1.0, 0, 1, 1.5]])
    )
