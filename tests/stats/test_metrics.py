"""Metrics against numbers worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.calibration import calibration_curve
from sklearn.metrics import roc_auc_score

from memoryless.stats import metrics

SCORES = np.array([[5.0, 4, 3, 2], [1, 2, 3, 4], [2, 9, 1, 0], [0, 1, 2, 3]])


LABELS = np.array([0, 1, 2, 2])  # the true class comes 1st, 3rd, 3rd, 2nd


@pytest.mark.parametrize(("k", "expected"), [(1, 25.0), (2, 50.0), (3, 100.0), (5, 100.0)])
def test_top_k_accuracy(k, expected):
    assert metrics.top_k_accuracy(SCORES, LABELS, k) == expected


def test_equal_scores_are_not_knowledge():
    assert metrics.top_k_accuracy(np.zeros((3, 10)), np.array([0, 4, 9]), k=5) == 0
    assert metrics.top_k_accuracy(np.zeros((3, 4)), np.array([0, 1, 3]), k=5) == 100
    assert metrics.top_k_accuracy(np.full((3, 10), np.nan), np.array([0, 4, 9]), k=5) == 0


@given(arrays(np.float64, (6, 7), elements=st.floats(-9, 9), unique=True), st.integers(1, 9))
def test_top_k_accuracy_equals_sorting(scores, k):
    labels = np.arange(6)
    best = np.argsort(-scores, axis=1)[:, :k]
    expected = 100 * np.mean([label in row for label, row in zip(labels, best, strict=True)])
    assert metrics.top_k_accuracy(scores, labels, k) == pytest.approx(expected)


def test_average_incremental_accuracy():
    assert metrics.average_incremental_accuracy([90, 60, 30]) == 45
    assert metrics.average_incremental_accuracy([90, 60, 30], include_first=True) == 60
    assert math.isnan(metrics.average_incremental_accuracy([90]))


def test_g_il_by_hand():
    # (50 - 90) / 10 = -4 and (80 - 90) / 10 = -1
    assert metrics.g_il([50, 80], [90, 90]) == -2.5


def test_error_typology_by_hand():
    labels = np.array([0, 0, 1, 1, 2, 2, 3, 3, 3, 3])  # classes 2 and 3 are new
    predictions = np.array([0, 1, 1, 3, 2, 3, 3, 3, 0, 1])
    assert metrics.error_typology(predictions, labels, past=2) == pytest.approx(
        {"c_p": 50, "e_pp": 25, "e_pn": 25, "c_n": 50, "e_nn": 100 / 6, "e_np": 200 / 6}
    )


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1), st.integers(0, 10)
)  # fmt: skip
def test_error_typology_sums_to_100(pairs, past):
    predictions, labels = np.array(pairs).T
    t = metrics.error_typology(predictions, labels, past)
    for names, present in (
        (("c_p", "e_pp", "e_pn"), (labels < past).any()),
        (("c_n", "e_nn", "e_np"), (labels >= past).any()),
    ):
        total = sum(t[n] for n in names)
        assert total == pytest.approx(100) if present else math.isnan(total)


def test_accuracy_by_state():
    labels, predictions = np.array([0, 0, 1, 2]), np.array([0, 1, 1, 0])
    assert metrics.accuracy_by_state(predictions, labels, [0, 0, 1]) == [
        pytest.approx(200 / 3),
        0,
    ]


def test_forgetting_by_hand():
    # state 0: best 80, now 40; state 1: best 70, now 60
    assert metrics.forgetting([[80], [60, 70], [40, 60, 90]]) == 25
    assert metrics.forgetting([[80], [50, 70]]) == 30
    assert metrics.forgetting([[80]]) == 0


@pytest.mark.parametrize(
    ("states", "classes", "expected"), [(10, 10, 10.7), (20, 5, 13.7), (50, 2, 17.3), (2, 2, 100)]
)
def test_chance_level(states, classes, expected):
    include_first = states == 2  # there a state has fewer classes than the five best ones
    assert round(metrics.chance_level([classes] * states, 5, include_first), 1) == expected


@pytest.mark.parametrize(
    ("probabilities", "labels", "expected"),
    [
        # Bins of a fifth: 0.55 and 0.6 share one, half of them right; 0.9 is right.
        ([[0.55, 0.45], [0.6, 0.4], [0.1, 0.9]], [0, 1, 1], 100 * (0.15 + 0.1) / 3),
        (np.eye(3), [0, 1, 2], 0),
        (np.eye(3), [1, 2, 0], 100),
    ],
)
def test_calibration_error_by_hand(probabilities, labels, expected):
    found = metrics.calibration_error(np.array(probabilities), np.array(labels), bins=5)
    assert found == pytest.approx(expected)


def test_calibration_error_agrees_with_scikit_learn():
    rng = np.random.default_rng(0)
    sure = rng.uniform(0.5, 1, 500)
    right = rng.random(500) < sure**2
    found = metrics.calibration_error(np.stack([sure, 1 - sure], 1), (~right).astype(int), bins=10)
    share, mean = calibration_curve(right, sure, n_bins=10)
    number = np.histogram(sure, np.linspace(0, 1, 11))[0]
    assert found == pytest.approx(100 * (np.abs(share - mean) * number[number > 0]).sum() / 500)


def test_auroc_agrees_with_scikit_learn_ties_included():
    rng = np.random.default_rng(0)
    inside, outside = rng.integers(2, 8, 60), rng.integers(0, 6, 40)
    expected = roc_auc_score([1] * 60 + [0] * 40, np.concatenate([inside, outside]))
    assert metrics.auroc(inside, outside) == pytest.approx(100 * expected)
