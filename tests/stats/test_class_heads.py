"""Heads over class statistics against scikit-learn, SciPy and numbers worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.spatial.distance import mahalanobis as scipy_mahalanobis
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge

from conftest import EVERY_FORM, Labelled, gather, generator, on_sphere, single
from memoryless.stats.heads import (
    HEADS,
    cholesky,
    gaussian_replay,
    lda,
    mahalanobis,
    ncm,
    rda,
    ridge,
    ridge_rows,
    shrunk,
)
from memoryless.stats.scorers import Linear, Quadratic, unit

CLASS_HEADS = [h.name for h in HEADS.values() if h.reads_statistics and not h.fitted]


def test_ncm_scores_are_cosines(statistics):
    features = 5 * single(20, 6)
    cosines = 1 - cdist(features, statistics.mean, "cosine")
    np.testing.assert_allclose(ncm(statistics)(features), cosines, rtol=1e-4, atol=1e-6)


def test_lda_is_scikit_learns(data):
    """Deep SLDA's, with equal counts; features of any length."""
    features, labels = data
    theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(features, labels)
    new = 3 * single(30, 6)
    mine = lda(gather(features, labels, "full"), shrinkage=0.0)(new)
    expected = theirs.decision_function(new)
    differences = mine - mine[:, :1], expected - expected[:, :1]
    np.testing.assert_allclose(*differences, rtol=1e-3, atol=1e-2)


def test_ridge_is_scikit_learns(data):
    features, labels = data
    gram, hot = features.T @ features, np.eye(3, dtype=np.float32)[labels]
    g = 0.05
    theirs = Ridge(alpha=g * gram.trace() / 6, fit_intercept=False).fit(features, hot)
    rows = ridge_rows(gram, hot.T @ features, g)
    np.testing.assert_allclose(rows, theirs.coef_, rtol=1e-4, atol=1e-5)
    by_statistics = ridge(gather(features, labels, "full"), g)
    np.testing.assert_allclose(by_statistics.W, unit(rows), rtol=1e-3, atol=1e-4)


def assert_distances(scores, features, means, covariances):
    """Scores are squared Mahalanobis distances below zero, as SciPy has them."""
    for c, mean in enumerate(means):
        inverse = np.linalg.inv(covariances[c])
        expected = [-(scipy_mahalanobis(f, mean, inverse) ** 2) for f in features]
        np.testing.assert_allclose(scores[:, c], expected, rtol=1e-3)


def test_mahalanobis_is_scipys(statistics):
    features, own = unit(single(5, 6)), statistics.first.own.astype(np.float64)
    rounder = [S + 0.5 * np.trace(S) / 6 * np.eye(6) for S in own]
    correlations = [S / np.sqrt(np.outer(np.diag(S), np.diag(S))) for S in rounder]
    scores = mahalanobis(statistics, shrinkage=0.5)(features)
    assert_distances(scores, features, unit(statistics.mean), correlations)


def test_rda_by_scipy(statistics):
    """Distances with half the class's and half the shared covariance."""
    features, own = single(10, 6), statistics.first.own.astype(np.float64)
    shared = np.average(own, axis=0, weights=statistics.count)
    wide = 0.3 * shared.diagonal().mean() * np.eye(len(shared))
    halves = (own + shared) / 2 + wide
    assert_distances(rda(statistics, 0.3)(features), features, statistics.mean, halves)


def few_images() -> Labelled:
    """Fewer images than features, a constant feature, and one class of a lone image."""
    features, labels = on_sphere(number=4)
    features[:, 2] = 0.3
    return features[3:], labels[3:]


@pytest.mark.parametrize("images", [few_images(), (np.zeros((6, 6), np.float32), np.arange(6) % 3)])
@pytest.mark.parametrize("form", EVERY_FORM[1:])
@pytest.mark.parametrize("head", CLASS_HEADS)
def test_class_heads_give_finite_scores(head, form, images):
    scorer = HEADS[head].over(gather(*images, form))
    scores = scorer(single(10, 6))
    assert scores.shape == (10, 3)
    assert np.isfinite(scores).all()
    assert scorer.cost == {Quadratic: 3 * 6 * 7 // 2, Linear: 3 * 6}[type(scorer)]


@pytest.mark.parametrize("head", [h.name for h in HEADS.values() if h.shrinkage is not None])
def test_no_shrinkage_at_all_and_more_features_than_images(head):
    """Singular covariances with one wide direction, where rounding decides."""
    features = single(3 * 20, 128) * np.logspace(2, -3, 128, dtype=np.float32)
    labels = np.arange(60) % 3
    statistics = gather(features, labels, "full")
    assert np.isfinite(HEADS[head].over(statistics, 0.0)(features)).all()
    last = labels == 2
    draws, _ = gaussian_replay(statistics, features[last], labels[last], generator())
    assert np.isfinite(draws).all()


@pytest.mark.parametrize("head", ["ncm", "mahalanobis"])
def test_the_length_of_a_feature_means_nothing_to_heads_of_directions(head, statistics):
    features = single(9, 6)
    scorer = HEADS[head].over(statistics)
    np.testing.assert_allclose(scorer(7 * features), scorer(features), rtol=1e-4, atol=1e-4)


def test_shrinking_by_hand():
    assert shrunk(np.diag([1.0, 3.0]), 0.5).tolist() == [[2.0, 0.0], [0.0, 4.0]]
    assert np.array_equal(shrunk(np.zeros((2, 2)), 0.5), np.eye(2))


def test_a_root_of_what_has_none_is_near_it():
    full = np.array([[4.0, 2.0], [2.0, 2.0]], np.float32)
    np.testing.assert_allclose(cholesky(full), [[2.0, 0.0], [1.0, 1.0]], rtol=1e-6)
    flat = np.ones((3, 3), np.float32)  # of rank one
    lower = cholesky(flat)
    np.testing.assert_allclose(lower @ lower.T, flat, rtol=0, atol=1e-3)
