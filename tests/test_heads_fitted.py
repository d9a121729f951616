"""Heads fitted when a state ends: what they make up of the past, and what they learn from it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.linear_model import LogisticRegression

from conftest import gather, generator, on_sphere
from memoryless.heads import HEADS
from memoryless.heads.fitted import DECAY, SCALE, fetril, fit_logistic, gaussian_replay


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
