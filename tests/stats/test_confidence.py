"""Temperature and threshold: found again where they are known, and from sums in any split."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from memoryless.stats.confidence import LEAST, MOST, Confidence, HeldOut, judge, softmax


def draw(n: int = 2000, classes: int = 5, temperature: float = 3.0):
    """Scores, margins, and labels that follow their probabilities under a temperature."""
    generator = np.random.default_rng(0)
    scores = generator.normal(size=(n, classes)) * 4
    chances = softmax(scores / temperature).cumsum(1)
    labels = (generator.random((n, 1)) > chances).sum(1).clip(max=classes - 1)
    return scores, generator.normal(10, 30, n), labels


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_the_temperature_is_the_likeliest_one(scale):
    """SciPy finds it, and labels were drawn with 3."""
    scores, margin, labels = draw()
    scores = scores * scale

    def loss(log: float) -> float:
        return -log_softmax(scores / np.exp(log), axis=1)[np.arange(2000), labels].mean()

    best = minimize_scalar(loss, bounds=(-3, 7), method="bounded").x
    found = HeldOut.of(scores, margin, labels).confidence.temperature
    assert np.log(found) == pytest.approx(best, abs=0.05)
    assert found == pytest.approx(3 * scale, rel=0.1)


@given(st.lists(st.integers(1, 29), max_size=5))
def test_photos_count_the_same_in_any_split(cuts):
    scores, margin, labels = draw(300)
    parts = [
        HeldOut.of(scores[part], margin[part], labels[part])
        for part in np.split(np.arange(300), sorted(10 * cut for cut in set(cuts)))
    ]
    joined = parts[0]
    for part in parts[1:]:
        joined = joined.join(part)
    whole = HeldOut.of(scores, margin, labels)
    assert joined.confidence.temperature == pytest.approx(whole.confidence.temperature)
    assert joined.confidence.threshold == whole.confidence.threshold
    assert HeldOut.restore(joined.arrays()).confidence == joined.confidence


@pytest.mark.parametrize(
    ("scores", "labels"),
    [
        (np.zeros((0, 3)), []),
        (np.zeros((3, 1)), [0, 0, 0]),
        (np.zeros((3, 2)), [0, 1, 1]),
        (np.eye(3) * 100, [0, 1, 2]),
        (np.eye(3) * -100, [0, 1, 2]),
        (np.eye(3) * 1e9, [0, 1, 2]),
    ],
)
def test_odd_scores_give_numbers_too(scores, labels):
    margin, labels = np.zeros(len(scores)), np.array(labels, dtype=np.int64)
    found = HeldOut.of(scores, margin, labels).confidence
    assert found.temperature > 0
    assert np.isfinite([found.temperature, found.threshold]).all()


def test_without_photos_or_with_one_class_every_photo_is_known():
    nothing = HeldOut.of(np.zeros((0, 3)), np.zeros(0), np.zeros(0, int))
    one = HeldOut.of(np.ones((9, 1)), np.zeros(9), np.zeros(9, int))
    assert nothing.confidence == one.confidence == Confidence()
    assert judge(np.ones((2, 1)), np.array([-3.0, 0.0]), one.confidence).known.all()
    many = HeldOut.of(*draw())
    assert many.join(one).confidence == many.confidence


@pytest.mark.parametrize(("n", "counted"), [(LEAST - 1, 0), (LEAST, LEAST), (3 * MOST, MOST)])
def test_as_many_photos_are_summed_up(n, counted):
    """Sums of fewer would say something about single photos; more would not make them surer."""
    assert HeldOut.of(*draw(n)).count == counted


@pytest.mark.parametrize(("n", "least"), [(4, 0.0), (20, 0.0), (21, 0.0), (2000, 0.04)])
def test_the_threshold_rejects_a_twentieth(n, least):
    margin = np.random.default_rng(n).normal(0, 40, n).round()
    scores, _, labels = draw(n)
    threshold = HeldOut.of(scores, margin, labels).confidence.threshold
    assert least <= (margin < threshold).mean() <= 0.05 + 0.02  # the grid is coarse


def test_a_judgement_by_hand():
    margin = np.array([5.0, 4.0, 3.9])
    found = judge(np.log([[1.0, 9.0]] * 3), margin, Confidence(2.0, 4.0))
    assert found.probabilities.round(6).tolist() == [[0.25, 0.75]] * 3
    assert found.margin.tolist() == pytest.approx([1.0, 0.0, -0.1])
    assert found.known.tolist() == [True, True, False]
