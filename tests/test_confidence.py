"""Temperature and threshold: found again where they are known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from memoryless.confidence import (
    Confidence,
    Judgement,
    fit_confidence,
    fit_temperature,
    fit_threshold,
    softmax,
)


def draw(n: int = 20_000, classes: int = 5, temperature: float = 3.0):
    """Scores, and labels that follow their probabilities under a temperature."""
    generator = np.random.default_rng(0)
    scores = generator.normal(size=(n, classes)) * 4
    chances = softmax(scores / temperature).cumsum(1)
    return scores, (generator.random((n, 1)) > chances).sum(1).clip(max=classes - 1)


def test_the_temperature_that_labels_were_drawn_with_is_found():
    assert fit_temperature(*draw()) == pytest.approx(3.0, rel=0.03)


def test_the_temperature_is_the_likeliest_one():
    scores, labels = draw(200)

    def loss(log: float) -> float:
        return -log_softmax(scores / np.exp(log), axis=1)[np.arange(200), labels].mean()

    best = minimize_scalar(loss, bounds=(-3, 5), method="bounded").x
    assert np.log(fit_temperature(scores, labels)) == pytest.approx(best, abs=1e-3)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_temperature_follows_the_scale_of_scores(scale):
    scores, labels = draw(500)
    assert fit_temperature(scores * scale, labels) == pytest.approx(
        fit_temperature(scores, labels) * scale, rel=1e-3
    )


def test_scores_of_zero_and_photos_that_are_all_right_give_a_temperature():
    assert fit_temperature(np.zeros((3, 2)), np.array([0, 1, 1])) > 0
    assert fit_temperature(np.eye(3), np.arange(3)) > 0


def test_one_in_twenty_held_out_photos_is_below_the_threshold():
    margins = np.arange(1000.0)
    assert (margins >= fit_threshold(margins)).mean() == pytest.approx(0.95, abs=0.002)


def test_without_a_photo_nothing_is_fitted():
    nothing = np.zeros((0, 3))
    assert fit_confidence(nothing, np.zeros(0), np.zeros(0, dtype=int)) is None


def test_the_threshold_is_of_the_best_score_above_the_floor():
    scores = np.array([[1.0, 5.0], [7.0, 2.0]])
    found = fit_confidence(scores, np.array([4.0, 4.0]), np.array([1, 0]))
    assert found.threshold == pytest.approx(1 + 0.05 * 2)


def test_known_is_a_margin_of_zero_or_more():
    judgement = Judgement(np.zeros((3, 1)), np.ones((3, 1)), np.array([-0.1, 0.0, 2.0]))
    assert judgement.known.tolist() == [False, True, True]
    assert Confidence() == Confidence(1.0, 0.0)
