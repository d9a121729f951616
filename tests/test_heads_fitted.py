"""Heads fitted when a state ends: what they make up of the past, and what they learn from it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.linear_model import LogisticRegression

from conftest import gather, generator, on_sphere
from memoryless.heads import HEADS
from memoryless.heads.fitted import DECAY, SCALE, fetril, fit_head, fit_logistic, gaussian_replay
from memoryless.statistics import Statistics


def test_fetril_moves_the_nearest_new_class(data):
    """Its features have the past class's mean and the donor's covariance."""
    features, labels = data
    statistics = gather(features, labels, "full")
    new = labels > 0
    made, owner = fetril(statistics, features[new], labels[new], generator())
    assert (owner == 0).all()
    cosine = F.normalize(statistics.mean[:1]) @ F.normalize(statistics.mean[1:]).T
    donor = 1 + int(cosine.argmax())
    torch.testing.assert_close(made.mean(0), statistics.mean[0])
    torch.testing.assert_close(torch.cov(made.T, correction=0), statistics.full[donor])


def test_gaussian_replay_draws_from_the_past():
    features, labels = on_sphere(number=3000)
    statistics = gather(features, labels, "full")
    new = labels == 2
    made, owner = gaussian_replay(statistics, features[new], labels[new], generator())
    assert owner.bincount().tolist() == [3000, 3000]
    for c in (0, 1):
        torch.testing.assert_close(made[owner == c].mean(0), statistics.mean[c], rtol=0, atol=0.02)
        spread = torch.cov(made[owner == c].T, correction=0)
        torch.testing.assert_close(spread, statistics.full[c], rtol=0, atol=0.01)


def test_logistic_regression_is_scikit_learns(data):
    features, labels = data
    theirs = LogisticRegression(C=1 / (DECAY * len(labels)), tol=1e-8, max_iter=5000)
    theirs.fit(SCALE * features.numpy(), labels.numpy())
    mine = fit_logistic(features, labels, 3)
    ours = mine(features).softmax(1)
    np.testing.assert_allclose(ours, theirs.predict_proba(SCALE * features.numpy()), atol=0.05)


@pytest.mark.parametrize(
    "head", [h.name for h in HEADS.values() if h.fitted and h.reads_statistics]
)
def test_fitted_heads_know_past_and_new(head, data):
    features, labels = data
    statistics = gather(features, labels, "full")
    new = labels > 0
    layer = HEADS[head].make(statistics, features[new], labels[new], generator())
    assert (layer(features).argmax(1) == labels).float().mean() > 0.8
    again = HEADS[head].make(statistics, features[new], labels[new], generator())
    torch.testing.assert_close(again.W, layer.W, rtol=0, atol=0)
    first = HEADS[head].make(statistics, features, labels, generator())  # a first state has no past
    assert (first(features).argmax(1) == labels).float().mean() > 0.9


def test_each_past_class_takes_its_own_nearest_new_class():
    """Past classes 0 and 1 are nearest to classes 4 and 2 of the new ones 2, 3, 4."""
    means = torch.tensor([[9.0, 1], [1, 9.0], [1, 8.0], [-5.0, -5], [8.0, 0]])
    statistics = Statistics(torch.ones(5), means)
    labels = torch.tensor([2, 3, 4, 4])
    features = torch.tensor([[2.0, 8], [-5.0, -5], [7.0, 1], [9.0, 3]])
    made, owner = fetril(statistics, features, labels, generator())
    # features of class 4 at hand have the mean (8, 2), class 2's one is its own mean
    assert owner.tolist() == [0, 0, 1]
    torch.testing.assert_close(made, torch.tensor([[8.0, 0], [10.0, 2], [1.0, 9]]))


@pytest.mark.parametrize(("images", "each"), [((3, 2), 2), ((9, 4), 6), ((1, 0), 1)])
def test_as_many_draws_of_a_past_class_as_a_new_one_has(images, each):
    statistics = Statistics(torch.ones(4), torch.zeros(4, 3), full=torch.eye(3).expand(4, 3, 3))
    labels = torch.tensor([2] * images[0] + [3] * images[1])
    made, owner = gaussian_replay(statistics, torch.randn(len(labels), 3), labels, generator())
    assert owner.tolist() == [0] * each + [1] * each
    assert made.shape == (2 * each, 3)


@pytest.mark.parametrize("decay", [1e-3, 0.1])
def test_logistic_regression_is_scikit_learns_where_classes_weigh_the_same(decay, monkeypatch):
    """Classes that overlap, of 60, 12 and 1 images: the layer itself, not only what it says."""
    monkeypatch.setattr("memoryless.heads.fitted.DECAY", decay)
    features = F.normalize(torch.randn(73, 4, generator=generator()))
    labels = torch.tensor([0] * 60 + [1] * 12 + [2])
    theirs = LogisticRegression(
        C=1 / (decay * 73), class_weight="balanced", tol=1e-10, max_iter=9999, fit_intercept=False
    ).fit(np.c_[SCALE * (features - features.mean(0)).numpy(), np.ones(73)], labels.numpy())
    mine = fit_logistic(7 * features, labels, 3)
    assert mine.W.shape == (3, 4)
    np.testing.assert_allclose(mine.W / SCALE, theirs.coef_[:, :-1], atol=2e-3)
    at_centre = mine.b + mine.W @ features.mean(0)
    np.testing.assert_allclose(at_centre, theirs.coef_[:, -1], atol=2e-3)
    torch.testing.assert_close(mine(3 * features), mine(features), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("fitted", "fewest", "labels"), [
    (4, 1, [0, 0, 1, 1]), (1, 1, [0, 1]), (1, 2, [0, 0, 1, 1]), (100, 1, [0, 0, 0, 1, 0, 1]),
])  # fmt: skip
def test_classes_share_what_is_fitted(fitted, fewest, labels, monkeypatch):
    monkeypatch.setattr("memoryless.heads.fitted.FITTED", fitted)
    monkeypatch.setattr("memoryless.heads.fitted.FEWEST", fewest)
    seen = []

    def nothing(statistics, features, labels, generator):
        seen.append(labels.tolist())
        return features[:0], labels[:0]

    features = torch.arange(1.0, 7)[:, None].expand(6, 3)
    statistics = Statistics(torch.ones(2), torch.zeros(2, 3))
    fit_head(nothing, statistics, features, torch.tensor([0, 0, 0, 1, 0, 1]), generator())
    assert seen == [labels]
