"""Transports against known drifts and each other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

from conftest import EVERY_FORM, draw_classes, gather, generator, single, statistics_with
from memoryless.stats.transports import (
    TRANSPORTS,
    Passage,
    carry,
    holds,
    linear_map,
    measure_drift,
    residual,
    semantic_drift,
)


def test_a_known_linear_drift_is_recovered():
    old = single(500, 6)
    A = np.eye(6) + 0.3 * single(6, 6, seed=1)
    found = linear_map(old, old @ A)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, A, atol=2e-3)


def test_a_linear_map_is_near_the_identity_where_little_is_known():
    old, zero = single(200, 6), np.zeros((9, 4), np.float32)
    np.testing.assert_allclose(linear_map(old, old), np.eye(6), atol=1e-5)
    np.testing.assert_allclose(linear_map(zero, zero), np.eye(4))
    two = single(2, 6, seed=1)
    moved = linear_map(two, two + 0.1 * single(2, 6, seed=2))
    assert np.linalg.norm(moved - np.eye(6)) < 1
    other = np.linalg.svd(two)[2][2:]  # directions that the two images say nothing about
    np.testing.assert_allclose(other @ moved, other, rtol=1e-3, atol=1e-3)
    # One image of one feature, 2 that becomes 6: (2 * 6 + e) / (2 * 2 + e) with e = 0.001 * 4.
    pulled = linear_map(np.array([[2.0]]), np.array([[6.0]]))
    np.testing.assert_allclose(pulled, [[12.004 / 4.004]], rtol=1e-6)


def test_sdc_by_hand():
    """One image at the mean drifts by 1, one far away by 9: the near one counts."""
    means, old = np.array([[0.0, 0.0]]), np.array([[0.0, 0.0], [0.0, 4.0]])
    new = old + np.array([[1.0, 0.0], [9.0, 0.0]])
    # distances 0 and 4; the median of two is the lower, so the width is clamped near 0
    np.testing.assert_allclose(semantic_drift(means, old, new), [[1.0, 0.0]])
    three = np.array([[3.0, 0.0], [0.0, 3.0], [-3.0, 0.0]])
    moved = semantic_drift(means, three, three + np.array([[3.0, 0.0], [0.0, 0.0], [0.0, 6.0]]))
    np.testing.assert_allclose(moved, [[1.0, 2.0]])  # all as far: the plain mean
    # Distances 1, 2, 3: the median is 2, and the width 1.
    far, moves = np.diag([1.0, 2.0, 3.0]), np.diag([1.0, 1.0, 10.0])
    expected = softmax([-0.5, -2.0, -4.5]) * [1, 1, 10]
    np.testing.assert_allclose(semantic_drift(np.zeros((1, 3)), far, far + moves), [expected])


def test_widened_covariances_are_those_of_features_that_drifted_with_noise():
    random = generator()
    turn, spread = random.normal(size=(2, 4, 4))

    def drifted(features: np.ndarray) -> np.ndarray:
        return features @ turn + random.normal(size=(len(features), 4)) @ spread

    current, past = random.normal(size=(2, 20_000, 4)) * np.array([1, 2, 3, 1.0])
    drift = measure_drift(Passage(current, drifted(current)), {}, ())
    labels = np.zeros(20_000, np.int64)
    born, now = (gather(f, labels, "full", 1) for f in (past, drifted(past)))
    wanted = now.first.own
    moved = {t: TRANSPORTS[t].move(born, drift) for t in ("linear", "widened")}
    far = {t: np.abs(statistics.first.own - wanted).max() for t, statistics in moved.items()}
    assert far["widened"] < 0.05 * np.abs(wanted).max() < far["linear"]


@pytest.mark.parametrize("form", EVERY_FORM)
@pytest.mark.parametrize("name", TRANSPORTS)
def test_contract_of_transports(name, form):
    """Counts and precision never change; all stays where nothing drifts; what drifts is finite."""
    features, labels = draw_classes(7)
    transport = TRANSPORTS[name]
    past = gather(features, labels, form)
    still = transport.move(past, transport.measure(Passage(features, features), past)).arrays()
    for part, array in past.arrays().items():
        np.testing.assert_allclose(still[part], array, rtol=1e-3, atol=1e-3 * np.abs(array).max())
    turned = transport.measure(Passage(features[:2], -features[:2]), past)
    moved = transport.move(past, turned)
    assert np.array_equal(moved.count, past.count)
    assert moved.arrays().keys() == past.arrays().keys()
    assert all(np.isfinite(part).all() for part in moved.arrays().values())
    assert {part.dtype for part in moved.arrays().values()} == {np.dtype(np.float32)}


def test_each_transport_moves_what_it_says():
    features, labels = draw_classes(6)
    past = gather(features, labels, "full")
    drift = {"forward": 2 * np.eye(5), "residual": np.eye(5), "sdc": past.mean + 1}
    moved = {t: TRANSPORTS[t].move(past, drift) for t in ("none", "linear", "widened", "sdc")}
    own = {t: statistics.first.own for t, statistics in moved.items()}
    np.testing.assert_allclose(moved["linear"].mean, past.mean * 2)
    np.testing.assert_allclose(own["linear"], own["none"] * 4)
    np.testing.assert_allclose(moved["widened"].mean, past.mean * 2)
    np.testing.assert_allclose(own["widened"], own["none"] * 4 + np.eye(5))
    np.testing.assert_allclose(moved["sdc"].mean, past.mean + 1)
    assert np.array_equal(own["sdc"], own["none"])
    assert moved["none"] is past


def test_only_what_can_be_had_later_is_measured_unasked():
    features, labels = draw_classes(6)
    held = {"sdc": gather(features, labels, "mean")}
    passage = Passage(features, features)
    assert measure_drift(passage, held, ("linear",)).keys() == {"forward", "residual"}
    assert "sdc" in measure_drift(passage, held, ("sdc",))
    assert "sdc" not in measure_drift(passage, {}, ("sdc",))


def test_means_alone_are_not_kept_where_covariances_move_alone():
    means, tied = (gather(*draw_classes(1), form) for form in ("mean", "tied"))
    assert [name for name in TRANSPORTS if not holds(name, means)] == ["widened"]
    assert all(holds(name, tied) for name in TRANSPORTS)


def test_a_shift_of_all_images_is_no_spread():
    old = np.array([[1.0, 0], [-1.0, 0], [0, 1.0], [0, -1.0]])
    shifted = residual(Passage(old, old + np.array([5.0, 0])))
    np.testing.assert_allclose(shifted, np.zeros((2, 2)), atol=1e-6)
    noise = np.array([[1.0, 0], [1.0, 0], [-1.0, 0], [-1.0, 0]])  # which no map explains
    spread = residual(Passage(old, old + noise))
    np.testing.assert_allclose(spread, np.diag([1.0, 0]), rtol=1e-5, atol=1e-6)


def test_what_is_kept_is_carried_by_hand():
    """Features double in the second state: means and covariances follow."""
    names = ("none", "linear")
    born = statistics_with(np.eye(2), own=np.broadcast_to(np.eye(2), (2, 2, 2)))
    first = carry({}, born, None, names)
    assert first.keys() == {"none", "linear"}
    one = statistics_with(np.full((1, 2), 7.0), own=np.zeros((1, 2, 2)))
    second = carry(first, one, {"forward": 2 * np.eye(2)}, names)
    assert second["none"].mean.tolist() == [[1, 0], [0, 1], [7, 7]]
    assert second["linear"].mean.tolist() == [[2, 0], [0, 2], [7, 7]]
    assert second["linear"].covariances[:, 0, 0].tolist() == [4, 4, 0]
