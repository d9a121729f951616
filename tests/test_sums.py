"""Sums over photos: by hand, against another computation, and in any order and split."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from memoryless.scorers import Linear
from memoryless.sums import Sums, closest


def draw(classes: int = 4, d: int = 5, seed: int = 0, n: int = 40):
    generator = np.random.default_rng(seed)
    labels = np.r_[np.arange(classes), generator.integers(0, classes, n - classes)]
    centres = generator.normal(size=(classes, d)) * 2
    return centres[labels] + generator.normal(size=(n, d)), labels


def test_sums_by_hand():
    sums = Sums.of(np.array([[1.0, 0], [5, 4], [3, 2]]), np.array([1, 0, 1]), 2)
    assert sums.count.tolist() == [1, 2]
    assert sums.mean.tolist() == [[5, 4], [2, 1]]
    assert sums.scatter.tolist() == [[2, 2], [2, 2]]
    assert sums.centre.tolist() == [3, 2]


def test_the_layer_is_linear_discriminant_analysis():
    """Scores differ from -1/2 of the squared Mahalanobis distances by what all classes share."""
    X, y = draw()
    sums = Sums.of(X, y, 4)
    inverse = np.linalg.inv(sums.covariance)
    means = [*(X[y == c].mean(0) for c in range(4)), X.mean(0)]
    distances = np.array([[(x - m) @ inverse @ (x - m) for m in means] for x in X])
    found = sums.discriminant()(X)
    assert found.shape == (40, 5)
    assert np.allclose(found - found[:, :1], (distances[:, :1] - distances) / 2)


def test_the_covariance_is_shrunk_towards_a_sphere():
    X, y = draw()
    sums = Sums.of(X, y, 4)
    away = X - np.array([X[y == c].mean(0) for c in range(4)])[y]
    plain = away.T @ away / len(X)
    added = sums.covariance - plain
    assert np.allclose(added, added[0, 0] * np.eye(5))
    assert added[0, 0] > 0


def test_photos_that_are_all_alike_give_scores():
    sums = Sums.of(np.ones((6, 3)), np.array([0, 0, 0, 1, 1, 1]), 2)
    assert np.isfinite(sums.discriminant()(np.ones((1, 3)))).all()


@given(st.integers(0, 10_000), st.permutations(range(5)), st.integers(1, 5))
def test_any_order_and_any_split_into_states_gives_the_same_scores(seed, order, states):
    X, y = draw(5, 4, seed, 30)
    whole = Sums.of(X, y, 5).discriminant()(X)
    parts: Sums | None = None
    for classes in np.array_split(np.array(order), states):
        mask = np.isin(y, classes)
        own = np.searchsorted(np.sort(classes), y[mask])
        shuffled = np.random.default_rng(seed).permutation(mask.sum())
        state = Sums.of(X[mask][shuffled], own[shuffled], len(classes))
        parts = parts.join(state) if parts else state
    columns = np.concatenate([np.sort(c) for c in np.array_split(np.array(order), states)])
    found = parts.discriminant()(X)[:, :-1]
    assert np.abs(found - whole[:, columns]).max() <= 1e-6 * np.ptp(whole)


def test_sums_come_back_from_their_arrays():
    sums = Sums.of(*draw(), 4)
    arrays = sums.arrays()
    assert arrays["scatter"].shape == (15,)
    again = Sums.restore(arrays)
    assert np.array_equal(again.scatter, np.triu(sums.scatter) + np.triu(sums.scatter, 1).T)
    assert np.array_equal(again.mean, sums.mean)
    assert np.array_equal(again.count, sums.count)


def test_the_closest_pairs_and_what_they_lose():
    """Under the identity, means at 0, 1, 10 and 12: the new two and their nearest neighbours."""
    mean = np.array([[0.0], [1.0], [10.0], [12.0]])
    sums = Sums(np.ones(4), mean, np.zeros((1, 1)))
    layer = Linear(np.r_[mean, [[0.0]]], -(np.r_[mean[:, 0], 0.0] ** 2) / 2)
    pairs = closest(sums, layer, 2, temperature=1.0)
    assert [pair[:2] for pair in pairs] == [(3, 2), (2, 1), (2, 0)]
    assert pairs[0][2] == pytest.approx(norm.cdf(-1))
    assert closest(sums, layer, 2, temperature=4.0)[0][2] == pytest.approx(norm.cdf(-0.5))
    assert closest(sums, layer, 4, 1.0, number=1)[0][:2] == (1, 0)


def test_one_class_has_no_pair():
    sums = Sums.of(np.random.default_rng(0).normal(size=(5, 2)), np.zeros(5, dtype=int), 1)
    assert closest(sums, sums.discriminant(), 1, 1.0) == []
