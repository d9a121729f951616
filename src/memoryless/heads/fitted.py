"""Heads fitted at the end of a state, on real features of new classes and made-up ones of past.

What a past class would look like comes from its statistics alone, so nothing of an image is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from memoryless.data.dataset import place_within_class
from memoryless.heads.base import Head
from memoryless.heads.classes import root
from memoryless.scorers import Linear
from memoryless.statistics import Statistics

FITTED = 8000  # features of all classes together that are fitted
FEWEST = 40  # of one class, however many classes there are
SCALE = 10.0  # features are fitted at this length, at which logits can tell classes apart
DECAY = (
    5e-4  # of 1e-4 to 1e-2 the best on held-out drawings: 3e-4 at middle stages, 1e-3 at the last
)
ITERATIONS = 40
Labelled = tuple[Tensor, Tensor]


def fetril(
    statistics: Statistics, features: Tensor, labels: Tensor, generator: torch.Generator
) -> Labelled:
    """Features of the nearest new class, moved to the past class's mean (FeTrIL, WACV 2023)."""
    past, m = int(labels.min()), statistics.mean
    nearest = past + (F.normalize(m[:past]) @ F.normalize(m[past:]).T).argmax(1)  # (past,)
    owner, donor = (nearest[:, None] == labels).nonzero(as_tuple=True)
    own = F.one_hot(labels, len(m)).to(features)
    centres = own.T @ features / own.sum(0).clamp(min=1)[:, None]  # of the features at hand
    return features[donor] + (m[:past] - centres[nearest])[owner], owner


def gaussian_replay(
    statistics: Statistics, features: Tensor, labels: Tensor, generator: torch.Generator
) -> Labelled:
    """Draws from each past class's normal distribution, as many as new classes have (EFC++)."""
    past, d = int(labels.min()), features.shape[1]
    number = max(1, round(len(labels) / (len(statistics.mean) - past)))
    lower = root(statistics.covariances[:past])
    draws = torch.randn(past, number, d, generator=generator) @ lower.mT
    drawn = statistics.mean[:past, None] + draws
    return drawn.flatten(0, 1), torch.arange(past).repeat_interleave(number)


def fit_head(
    past_features: Callable[[Statistics, Tensor, Tensor, torch.Generator], Labelled],
    statistics: Statistics,
    features: Tensor,
    labels: Tensor,
    generator: torch.Generator,
) -> Linear:
    """A layer fitted on the current classes' features and made-up ones of past classes."""
    most = max(FEWEST, FITTED // len(statistics.mean))
    few = torch.from_numpy(place_within_class(labels.numpy()) < most)
    features, labels = features[few], labels[few]
    past, past_labels = past_features(statistics, features, labels, generator)
    return fit_logistic(
        torch.cat([past, features]), torch.cat([past_labels, labels]), len(statistics.mean)
    )


@torch.no_grad()
def fit_logistic(features: Tensor, labels: Tensor, classes: int) -> Linear:
    """Multinomial logistic regression on features at length one, every class weighing the same."""
    X = F.normalize(features) * SCALE
    centre = X.mean(0)  # features share a large mean, which would take most of the iterations
    X = torch.cat([X - centre, torch.ones(len(X), 1)], dim=1)
    weight = (1 / labels.bincount(minlength=classes).clamp(min=1)[labels])[:, None] / classes
    W = torch.zeros(classes, X.shape[1], requires_grad=True)
    own = torch.arange(len(labels)), labels

    # The gradient by hand: with p the softmax of X W', it is (weight (p - one-hot))' X + DECAY W.
    # So one product X W' serves loss and gradient, and only training.py may call backward().
    @torch.no_grad()
    def loss() -> Tensor:
        log_p = (X @ W.T).log_softmax(1)
        error = log_p.exp()
        error[own] -= 1
        W.grad = (error * weight).T @ X + DECAY * W
        return -(log_p[own] * weight[:, 0]).sum() + DECAY / 2 * W.square().sum()

    torch.optim.LBFGS([W], max_iter=ITERATIONS, line_search_fn="strong_wolfe").step(loss)
    rows, bias = W.detach()[:, :-1], W.detach()[:, -1]
    return Linear(rows * SCALE, bias - rows @ centre, unit=True)


FITTED_HEADS = (
    Head(
        "fetril",
        "logistic regression over new features moved to past means (FeTrIL)",
        "means",
        partial(fit_head, fetril),
        fitted=True,
    ),
    Head(
        "gaussian_replay",
        "logistic regression over draws from past classes (EFC++)",
        "covariances",
        partial(fit_head, gaussian_replay),
        fitted=True,
    ),
)
