"""Heads fitted when a state ends: what they make up of the past, and what they learn from it."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from conftest import gather, generator, on_sphere, single, statistics_with
from memoryless.stats.heads import (
    HEADS,
    SCALE,
    fetril,
    fit_head,
    fit_logistic,
    gaussian_replay,
)
from memoryless.stats.scorers import unit


def test_gaussian_replay_draws_from_the_past():
    features, labels = on_sphere(number=3000)
    statistics = gather(features, labels, "full")
    new = labels == 2
    made, owner = gaussian_replay(statistics, features[new], labels[new], generator())
    assert np.bincount(owner).tolist() == [3000, 3000]
    given = statistics, features[new], labels[new]
    same, other = (gaussian_replay(*given, np.random.default_rng(seed))[0] for seed in (0, 1))
    assert np.array_equal(made, same)
    assert not np.allclose(made, other)
    for c in (0, 1):
        own = made[owner == c]
        np.testing.assert_allclose(own.mean(0), statistics.mean[c], rtol=0, atol=0.02)
        spread = statistics.first.own[c]
        np.testing.assert_allclose(np.cov(own.T, ddof=0), spread, rtol=0, atol=0.01)


@pytest.mark.parametrize(
    "head", [h.name for h in HEADS.values() if h.fitted and h.reads_statistics]
)
def test_fitted_heads_know_past_and_new(head, data):
    features, labels = data
    statistics = gather(features, labels, "full")
    new = labels > 0
    layer = HEADS[head].make(statistics, features[new], labels[new], generator())
    assert (layer(features).argmax(1) == labels).mean() > 0.8
    again = HEADS[head].make(statistics, features[new], labels[new], generator())
    assert np.array_equal(again.W, layer.W)
    first = HEADS[head].make(statistics, features, labels, generator())  # a first state has no past
    assert (first(features).argmax(1) == labels).mean() > 0.9


def test_each_past_class_takes_its_own_nearest_new_class():
    """Past classes 0 and 1 are nearest to classes 4 and 2 of the new ones 2, 3, 4."""
    statistics = statistics_with(np.array([[9.0, 1], [1, 9.0], [1, 8.0], [-5.0, -5], [8.0, 0]]))
    labels = np.array([2, 3, 4, 4])
    features = np.array([[2.0, 8], [-5.0, -5], [7.0, 1], [9.0, 3]])
    made, owner = fetril(statistics, features, labels, generator())
    # features of class 4 at hand have the mean (8, 2), class 2's one is its own mean
    assert owner.tolist() == [0, 0, 1]
    np.testing.assert_allclose(made, [[8.0, 0], [10.0, 2], [1.0, 9]])


@pytest.mark.parametrize(("images", "each"), [((3, 2), 2), ((9, 4), 6), ((1, 0), 1)])
def test_as_many_draws_of_a_past_class_as_a_new_one_has(images, each):
    round_ones = np.eye(3, dtype=np.float32)[None].repeat(4, axis=0)
    statistics = statistics_with(np.zeros((4, 3), np.float32), own=round_ones)
    labels = np.array([2] * images[0] + [3] * images[1])
    made, owner = gaussian_replay(statistics, single(len(labels), 3), labels, generator())
    assert owner.tolist() == [0] * each + [1] * each
    assert made.shape == (2 * each, 3)


@pytest.mark.parametrize("decay", [1e-3, 0.1])
def test_logistic_regression_is_scikit_learns_where_classes_weigh_the_same(decay, monkeypatch):
    """Classes that overlap, of 60, 12 and 1 images: the layer itself, not only what it says."""
    monkeypatch.setattr("memoryless.stats.heads.DECAY", decay)
    monkeypatch.setattr("memoryless.stats.heads.ITERATIONS", 1000)
    features, labels = unit(single(73, 4)), np.array([0] * 60 + [1] * 12 + [2])
    theirs = LogisticRegression(
        C=1 / (decay * 73), class_weight="balanced", tol=1e-10, max_iter=9999, fit_intercept=False
    ).fit(np.c_[SCALE * (features - features.mean(0)), np.ones(73)], labels)
    mine = fit_logistic(7 * features, labels, 3)
    assert mine.W.shape == (3, 4)
    np.testing.assert_allclose(mine.W / SCALE, theirs.coef_[:, :-1], atol=2e-3)
    at_centre = mine.b + mine.W @ features.mean(0)
    np.testing.assert_allclose(at_centre, theirs.coef_[:, -1], atol=2e-3)
    np.testing.assert_allclose(mine(3 * features), mine(features), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("fitted", "fewest", "labels"), [
    (4, 1, [0, 0, 1, 1]), (1, 1, [0, 1]), (1, 2, [0, 0, 1, 1]), (100, 1, [0, 0, 0, 1, 0, 1]),
])  # fmt: skip
def test_classes_share_what_is_fitted(fitted, fewest, labels, monkeypatch):
    monkeypatch.setattr("memoryless.stats.heads.FITTED", fitted)
    monkeypatch.setattr("memoryless.stats.heads.FEWEST", fewest)
    seen = []

    def nothing(statistics, features, labels, random):
        seen.append(labels.tolist())
        return features[:0], labels[:0]

    features = np.arange(1.0, 7)[:, None].repeat(3, axis=1)
    statistics = statistics_with(np.zeros((2, 3)))
    fit_head(nothing, statistics, features, np.array([0, 0, 0, 1, 0, 1]), generator())
    assert seen == [labels]
