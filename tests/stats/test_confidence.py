"""Temperature and threshold: found again where they are known, and from sums in any split."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from memoryless.stats.confidence import (
    MARGINS,
    TEMPERATURES,
    Check,
    Confidence,
    best_threshold,
    calibrate,
    classify,
    softmax,
)


def draw(n: int = 2000, classes: int = 5, temperature: float = 3.0):
    """Scores, margins, and labels that follow their probabilities under a temperature."""
    generator = np.random.default_rng(0)
    scores = generator.normal(size=(n, classes)) * 4
    chances = softmax(scores / temperature).cumsum(1)
    labels = (generator.random((n, 1)) > chances).sum(1).clip(max=classes - 1)
    return scores, generator.normal(10, 30, n), labels


def smallest(loss: Callable[[float], float]) -> float:
    """The temperature of the smallest loss, by SciPy."""
    found = minimize_scalar(lambda log: loss(np.exp(log)), bounds=(-3, 7), method="bounded")
    return float(np.exp(found.x))


@pytest.mark.parametrize("unit", [0.05, 1.0, 30.0])
@pytest.mark.parametrize("right", [False, True])
def test_the_temperature_is_the_likeliest_one(unit, right):
    """Labels are drawn with 3; where every photo is right, one more of any label counts."""
    scores, _, labels = draw()
    if right:
        scores, labels = np.tile([10.0, 1.0], (40, 1)), np.zeros(40, int)

    def loss(temperature: float) -> float:
        logs = -log_softmax(scores / temperature, axis=1)
        return logs[np.arange(len(labels)), labels].sum() + logs.mean()

    found = Check.of(scores, np.zeros(len(labels)), labels).confidence(unit).temperature
    assert found == pytest.approx(smallest(loss) * unit, rel=0.05 if right else 0.03)
    if not right:
        assert found == pytest.approx(3 * unit, rel=0.1)


def test_losses_are_those_of_each_temperature():
    scores, margins, labels = draw(50)
    check = Check.of(scores + 1000, margins, labels)
    for i in (0, 1, 15, len(TEMPERATURES) - 1):
        logs = -log_softmax(scores / TEMPERATURES[i], axis=1)
        assert check.losses[i] == pytest.approx(logs[np.arange(50), labels].sum(), rel=1e-9)
        assert check.any_label[i] == pytest.approx(logs.mean(1).sum(), rel=1e-9)


@given(st.lists(st.integers(1, 29), max_size=5))
def test_photos_count_the_same_in_any_split(cuts):
    scores, margins, labels = draw(300)
    parts = [
        Check.of(scores[part], margins[part], labels[part])
        for part in np.split(np.arange(300), sorted(10 * cut for cut in set(cuts)))
    ]
    joined = Check.none()
    for part in parts:
        joined = joined.join(part)
    found, whole = joined.confidence(), Check.of(scores, margins, labels).confidence()
    assert found.temperature == pytest.approx(whole.temperature)
    assert found.threshold == whole.threshold
    assert Check.restore(joined.arrays()).confidence() == found


@pytest.mark.parametrize(
    ("scores", "labels"),
    [
        (np.zeros((3, 1)), [0, 0, 0]),
        (np.zeros((3, 2)), [0, 1, 1]),
        (np.eye(3) * 100, [0, 1, 2]),
        (np.eye(3) * -100, [0, 1, 2]),
        (np.eye(3) * 1e9, [0, 1, 2]),
    ],
)
def test_odd_scores_give_numbers_too(scores, labels):
    found = Check.of(scores, np.zeros(len(scores)), np.array(labels)).confidence()
    assert found.temperature > 0
    assert np.isfinite([found.temperature, found.threshold]).all()


def test_without_photos_every_photo_is_known():
    assert Confidence(2.0, -3.0).scaled(4.0) == Confidence(8.0, -12.0)
    confidence = Check.none().confidence(7.0)
    assert confidence == Confidence()
    assert classify(np.ones((2, 1)), np.array([-3.0, 0.0]), confidence).known.all()


@pytest.mark.parametrize(("n", "below"), [(4, 0), (19, 0), (39, 1), (1999, 99)])
def test_the_threshold_stands_at_a_twentieth_of_the_margins(n, below):
    """As many margins lie below as the position 0.05 (n + 1) says, up to a step of the grid."""
    margins = np.random.default_rng(n).normal(0, 40, n)
    scores, _, labels = draw(n)
    threshold = Check.of(scores, margins, labels).confidence().threshold
    lower, upper = np.sort(margins)[[max(0, below - 1), below]]
    assert min(lower * 1.1, lower / 1.1) - 1 <= threshold <= max(upper * 1.1, upper / 1.1) + 1


def test_the_best_threshold_by_hand():
    """Above 1.2 up to 2, all known photos and three of four unknown ones are on their side; no
    other place is as good. There the grid has 2^(k/8) - 1 for k = 10, 11, 12.
    """
    found = best_threshold(np.array([2.0, 4.0, 5.0, 6.0]), np.array([-1.0, 0.5, 1.2, 4.5]))
    assert found == pytest.approx((1.378414 + 1.593679 + 1.828427) / 3, abs=1e-6)


@pytest.mark.parametrize(
    ("known", "unknown", "low", "high"),
    [
        # Shares count and not photos: plain accuracy would accept the unknown one.
        ([5.0] * 8 + [2.0] * 2, [3.0], 3, 5),
        (([5.0] * 8 + [2.0] * 2) * 50, [3.0], 3, 5),
        # Of two equally good ones the lower: up to 2 it is 1 + 1/2, from 4 to 6 it is 1/2 + 1.
        ([2.0, 6.0], [0.0, 4.0], 0, 2),
    ],
)
def test_where_the_best_threshold_lies(known, unknown, low, high):
    assert low < best_threshold(np.array(known), np.array(unknown)) <= high


few_margins = st.lists(st.floats(-50, 50), min_size=1, max_size=12).map(np.array)


@given(few_margins, few_margins)
def test_no_threshold_is_better(known, unknown):
    def accuracy(threshold: float) -> float:
        return float((known >= threshold).mean() + (unknown < threshold).mean())

    best = max(accuracy(threshold) for threshold in MARGINS)
    assert accuracy(best_threshold(known, unknown)) == pytest.approx(best)


def test_calibrating_gives_what_sums_give_and_another_threshold_where_some_are_unknown():
    scores, margins, labels = draw(200)
    plain = calibrate(scores, margins, labels, np.zeros(0), Check.none())
    assert plain == Check.of(scores, margins, labels).confidence()
    found = calibrate(scores, margins, labels, margins - 40, Check.none())
    assert found.temperature == plain.temperature
    assert found.threshold == best_threshold(margins, margins - 40) != plain.threshold


def test_past_photos_count_as_twenty():
    """By SciPy: 60 photos, and the mean loss over 300 past ones with their photo of any label."""
    scores, _, labels = draw(360)
    past = Check.of(scores[60:] / 4, np.zeros(300), labels[60:])

    def loss(temperature: float) -> float:
        now = -log_softmax(scores[:60] / temperature, axis=1)
        before = -log_softmax(scores[60:] / 4 / temperature, axis=1)
        one = before[np.arange(300), labels[60:]].sum() + now.mean() * 60 / 80
        # Of any label are photos like those of both, of which there are 60 and 20.
        return now[np.arange(60), labels[:60]].sum() + (one + before.mean() * 20 / 80) / 15

    found = calibrate(scores[:60], np.zeros(60), labels[:60], np.zeros(0), past)
    assert found.temperature == pytest.approx(smallest(loss), rel=0.05)
    alone = calibrate(scores[:60], np.zeros(60), labels[:60], np.zeros(0), Check.none())
    assert past.confidence().temperature < found.temperature < alone.temperature * 0.95


@given(st.integers(0, 1000), st.sampled_from([20, 50, 200]), st.floats(0.3, 3))
def test_photos_are_never_less_likely_than_before(seed, number, scale):
    """What past photos say is one end of a compromise, so the other end can only gain."""
    scores, margins, labels = draw(600)
    chosen = np.random.default_rng(seed).permutation(600)
    now, before = chosen[:number], chosen[number:]
    past = Check.of(scores[before] * scale, margins[before], labels[before])

    def loss(temperature: float) -> float:
        logs = -log_softmax(scores[now] / temperature, axis=1)
        return float(logs[np.arange(number), labels[now]].mean())

    found = calibrate(scores[now], margins[now], labels[now], np.zeros(0), past)
    assert loss(found.temperature) <= loss(past.confidence().temperature) + 0.01


def test_a_prediction_by_hand():
    margin = np.array([5.0, 4.0, 3.9])
    found = classify(np.log([[1.0, 9.0]] * 3), margin, Confidence(2.0, 4.0, 4.5))
    assert found.probabilities.round(6).tolist() == [[0.25, 0.75]] * 3
    assert found.margin.tolist() == pytest.approx([1.0, 0.0, -0.1])
    assert found.known.tolist() == [True, True, False]
    assert found.answers.tolist() == ["known", "unsure", "unknown"]


@pytest.mark.parametrize("number", [100, 2000])
def test_a_fifth_of_the_photos_above_the_threshold_are_unsure(number):
    margins = np.random.default_rng(number).normal(20, 20, number)
    scores, _, labels = draw(number)
    for found in (
        Check.of(scores, margins, labels).confidence(),
        calibrate(scores, margins, labels, margins - 40, Check.none()),
    ):
        above = margins[margins >= found.threshold]
        assert (above < found.sure).mean() == pytest.approx(0.2, abs=0.05)
        scaled = found.scaled(2.0)
        assert (scaled.threshold, scaled.sure) == (2 * found.threshold, 2 * found.sure)


def test_few_photos_and_equal_margins_leave_sure_above_the_threshold():
    for margins in (np.zeros(4), np.full(30, 5.0), np.full(30, 1e6)):
        scores, _, labels = draw(len(margins))
        found = Check.of(scores, margins, labels).confidence()
        assert found.sure >= found.threshold
    assert classify(np.ones((1, 2)), np.zeros(1), Confidence()).answers.tolist() == ["known"]
