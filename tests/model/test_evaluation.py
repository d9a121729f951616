"""The numbers of an evaluation, worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from memoryless.model.evaluation import Evaluation, Mistake, interval
from memoryless.stats.confidence import Prediction

NAMES, STATES = ("ant", "bee", "cow"), (0, 0, 1)
# label, probabilities of ant, bee, cow, margin
GIVEN = [
    ("ant", (0.8, 0.1, 0.1), 2.0),
    ("ant", (0.2, 0.7, 0.1), 0.5),
    ("bee", (0.1, 0.9, 0.0), 3.0),
    ("cow", (0.9, 0.0, 0.1), -1.0),
    ("cow", (0.1, 0.3, 0.6), 4.0),
    ("elk", (0.4, 0.3, 0.3), -2.0),
    (None, (0.5, 0.3, 0.2), 1.5),
]


def evaluate(given) -> Evaluation:
    """The evaluation of these labels, probabilities and margins."""
    labels, probabilities, margins = zip(*given, strict=True)
    rows = np.array(probabilities)
    found = Prediction(np.log(rows + 1e-9), rows, np.array(margins), sure=1.0)
    return Evaluation.of(NAMES, STATES, labels, found)


@pytest.fixture
def found() -> Evaluation:
    return evaluate(GIVEN)


def test_accuracies_are_shares_over_known_classes(found):
    assert (found.photos, found.correct, found.top1, found.accuracy) == (5, 3, 0.6, 0.6)
    assert found.top5 is None  # below ten classes
    assert found.states == [
        {"state": 1, "classes": 2, "photos": 3, "correct": 2, "top1": pytest.approx(2 / 3)},
        {"state": 2, "classes": 1, "photos": 2, "correct": 1, "top1": 0.5},
    ]
    assert [(c["class"], c["state"], c["top1"]) for c in found.classes] == [
        ("ant", 1, 0.5), ("cow", 2, 0.5), ("bee", 1, 1.0),
    ]  # fmt: skip
    assert found.confused == [
        {"class": "ant", "answer": "bee", "times": 1, "photos": 2},
        {"class": "cow", "answer": "ant", "times": 1, "photos": 2},
    ]


def test_the_surest_mistake_comes_first(found):
    assert found.mistakes == [
        Mistake(3, "cow", "ant", 0.9, 0.1),
        Mistake(1, "ant", "bee", 0.7, 0.2),
    ]


def test_known_against_unknown(found):
    """Of 5 x 2 pairs, the known one is above but for -1 and 0.5 against 1.5."""
    assert found.unknown == {"elk": 1, "no label": 1}
    assert (found.auroc, found.accepted, found.unsure, found.rejected) == (0.8, 0.8, 0.2, 0.5)
    alone = evaluate(GIVEN[:3])
    assert alone.auroc is alone.rejected is None


def test_calibration_error(found):
    """Each in a bin of its own, but for 0.9 twice, one of which is correct."""
    gaps = [abs(0.8 - 1), 0.7, abs(0.9 + 0.9 - 1), abs(0.6 - 1)]
    assert found.ece == pytest.approx(sum(gaps) / 5)


def test_from_ten_classes_on_there_is_a_top5():
    names = tuple("abcdefghij")
    scores = np.eye(10)[[0, 1, 2]]
    prediction = Prediction(scores, scores, np.ones(3))
    assert Evaluation.of(names, (0,) * 10, ["a", "b", "j"], prediction).top5 == pytest.approx(2 / 3)


@pytest.mark.parametrize(("correct", "number"), [(0, 5), (5, 5), (141, 146), (1, 1), (500, 1000)])
def test_the_interval_is_scipys(correct, number):
    theirs = binomtest(correct, number).proportion_ci(0.95, "wilson")
    assert interval(correct, number) == pytest.approx((theirs.low, theirs.high), abs=1e-4)
