"""Heads over class statistics against scikit-learn, SciPy and numbers worked by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy.spatial.distance import mahalanobis as scipy_mahalanobis
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge

from conftest import EVERY_FORM, gather, generator, on_sphere
from memoryless.heads import HEADS
from memoryless.heads.classes import lda, mahalanobis, ncm, rda, ridge, ridge_rows, root, shrunk
from memoryless.heads.fitted import gaussian_replay
from memoryless.scorers import Linear, Quadratic


def test_ncm_ranks_by_cosine(statistics):
    features = torch.randn(20, 6)
    cosines = F.cosine_similarity(features[:, None], statistics.mean[None], dim=2)
    assert (ncm(statistics)(features).argsort(1) == cosines.argsort(1)).all()


def test_lda_is_scikit_learns(data):
    """Deep SLDA's, with equal counts; features of any length."""
    features, labels = data
    theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(features.numpy(), labels.numpy())
    new = 3 * torch.randn(30, 6)
    mine = lda(gather(features, labels, "full"), shrinkage=0.0)(new)
    expected = theirs.decision_function(new.numpy())
    differences = mine - mine[:, :1], expected - expected[:, :1]
    np.testing.assert_allclose(*differences, rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("head", [lda, rda])
def test_lengths_of_means_count(head, data):
    """What scores best at a mean of half the length is that class."""
    features, labels = data
    features = torch.where(labels[:, None] == 1, features / 2, features)
    statistics = gather(features, labels, "full")
    scores = head(statistics, 0.1)(statistics.mean)
    torch.testing.assert_close(scores.argmax(1), torch.arange(3))
    assert not torch.allclose(scores, head(statistics, 0.1)(2 * statistics.mean))


def test_ridge_is_scikit_learns(data):
    features, labels = data
    gram, hot = features.T @ features, F.one_hot(labels).float()
    g = 0.05
    theirs = Ridge(alpha=g * float(gram.trace()) / 6, fit_intercept=False)
    theirs.fit(features.numpy(), hot.numpy())
    rows = ridge_rows(gram, hot.T @ features, g)
    np.testing.assert_allclose(rows, theirs.coef_, rtol=1e-4, atol=1e-5)
    by_statistics = ridge(gather(features, labels, "full"), g)
    torch.testing.assert_close(by_statistics.W, F.normalize(rows), rtol=1e-3, atol=1e-4)


def test_mahalanobis_is_scipys(statistics):
    features = F.normalize(torch.randn(5, 6))
    scores = mahalanobis(statistics, shrinkage=0.5)(features)
    for c in range(3):
        S = statistics.full[c].double().numpy()
        S = S + 0.5 * np.trace(S) / 6 * np.eye(6)
        width = np.sqrt(np.diag(S))
        inverse = np.linalg.inv(S / np.outer(width, width))
        centre = F.normalize(statistics.mean[c], dim=0).numpy()
        for i, f in enumerate(features.numpy()):
            expected = -(scipy_mahalanobis(f, centre, inverse) ** 2)
            assert scores[i, c] == pytest.approx(expected, rel=1e-3)


def test_rda_by_scipy(statistics):
    """Distances with half the class's and half the shared covariance."""
    features = torch.randn(10, statistics.mean.shape[1])
    m, own = statistics.mean, statistics.full
    shared = torch.einsum("n,nij->ij", statistics.count / statistics.count.sum(), own)
    scores = rda(statistics, 0.3)(features)
    for c in range(len(m)):
        wide = 0.3 * shared.diagonal().mean() * torch.eye(len(shared))
        inverse = np.linalg.inv(((own[c] + shared) / 2 + wide).double().numpy())
        for i, f in enumerate(features):
            expected = -(scipy_mahalanobis(f.numpy(), m[c].numpy(), inverse) ** 2)
            assert scores[i, c].item() == pytest.approx(expected, rel=1e-3)


def test_quadratic_scores_in_parts_change_nothing(statistics, monkeypatch):
    features = torch.randn(50, 6)
    whole = mahalanobis(statistics)(features)
    monkeypatch.setattr("memoryless.scorers.MOST_VALUES", 100)
    monkeypatch.setattr("memoryless.scorers.COLUMNS", 4)
    torch.testing.assert_close(mahalanobis(statistics)(features), whole)


@pytest.mark.parametrize("form", EVERY_FORM[1:])
@pytest.mark.parametrize(
    "head", [h.name for h in HEADS.values() if h.reads_statistics and not h.fitted]
)
def test_contract_of_class_heads(head, form):
    """Finite scores, also with fewer images than features, a constant feature, a lone image."""
    features, labels = on_sphere(number=4)
    features[:, 2] = 0.3
    features, labels = features[3:], labels[3:]  # one image of class 0 is left
    scorer = HEADS[head].make(gather(features, labels, form))
    scores = scorer(torch.randn(10, 6))
    assert scores.shape == (10, 3)
    assert scores.isfinite().all()
    assert scorer.cost == {Quadratic: 3 * 6 * 7 // 2, Linear: 3 * 6}[type(scorer)]
    nothing = gather(torch.zeros(6, 6), torch.arange(6) % 3, form)
    assert HEADS[head].make(nothing)(torch.randn(4, 6)).isfinite().all()


@pytest.mark.parametrize(
    "head", [h.name for h in HEADS.values() if h.reads_statistics and not h.fitted]
)
def test_class_heads_tell_classes_apart(head, data):
    features, labels = data
    scores = HEADS[head].make(gather(features, labels, "full"))(features)
    assert (scores.argmax(1) == labels).float().mean() > 0.9


@pytest.mark.parametrize("head", [h.name for h in HEADS.values() if h.shrinks])
def test_no_shrinkage_at_all_and_more_features_than_images(head):
    """Singular covariances with one wide direction, where rounding decides."""
    random = generator()
    features = torch.randn(3 * 20, 128, generator=random) * torch.logspace(2, -3, 128)
    labels = torch.arange(60) % 3
    statistics = gather(features, labels, "full")
    assert HEADS[head].make(statistics, 0.0)(features).isfinite().all()
    draws, _ = gaussian_replay(statistics, features[labels == 2], labels[labels == 2], random)
    assert draws.isfinite().all()


@pytest.mark.parametrize("head", ["ncm", "mahalanobis"])
def test_the_length_of_a_feature_means_nothing_to_heads_of_directions(head, statistics):
    features = torch.randn(9, 6)
    scorer = HEADS[head].make(statistics)
    torch.testing.assert_close(scorer(7 * features), scorer(features), rtol=1e-4, atol=1e-4)


def test_ncm_scores_are_cosines(statistics):
    features = 5 * torch.randn(20, 6)
    cosines = F.cosine_similarity(features[:, None], statistics.mean[None], dim=2)
    torch.testing.assert_close(ncm(statistics)(features), cosines)


def test_shrinking_by_hand():
    covariance = torch.diag(torch.tensor([1.0, 3.0]))
    torch.testing.assert_close(shrunk(covariance, 0.5), torch.diag(torch.tensor([2.0, 4.0])))
    nothing = torch.zeros(1, 2, 2)
    torch.testing.assert_close(shrunk(nothing, 0.5), torch.eye(2)[None])


def test_a_root_of_what_has_none_is_near_it():
    full = torch.tensor([[4.0, 2.0], [2.0, 2.0]])
    torch.testing.assert_close(root(full), torch.tensor([[2.0, 0.0], [1.0, 1.0]]))
    flat = torch.ones(3, 3)  # of rank one
    lower = root(flat)
    torch.testing.assert_close(lower @ lower.T, flat, rtol=0, atol=1e-3)
