"""Heads fitted at the end of a state, on features of its images and made-up ones of past classes.

Made-up features of a past class come from its statistics alone, so no image is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from memoryless.images.dataset import place_within_class
from memoryless.stats.class_statistics import ClassStatistics
from memoryless.stats.heads.base import Head
from memoryless.stats.heads.classes import cholesky
from memoryless.stats.scorers import Linear, unit
from memoryless.threads import in_threads

FITTED = 8000  # features of all classes together that are fitted
FEWEST = 40  # of one class, however many classes there are
SCALE = 10.0  # features are fitted at this length, at which logits can tell classes apart
DECAY = (
    5e-4  # of 1e-4 to 1e-2 the best on held-out drawings: 3e-4 at middle stages, 1e-3 at the last
)
ITERATIONS = 40
Labelled = tuple[np.ndarray, np.ndarray]
PastFeatures = Callable[[ClassStatistics, np.ndarray, np.ndarray, np.random.Generator], Labelled]


def fetril(
    statistics: ClassStatistics,
    features: np.ndarray,
    labels: np.ndarray,
    random: np.random.Generator,
) -> Labelled:
    """Features of the nearest new class, moved to the past class's mean (FeTrIL, WACV 2023)."""
    past, m = int(labels.min()), statistics.mean.astype(features.dtype)
    nearest = past + (unit(m[:past]) @ unit(m[past:]).T).argmax(1)  # (past,)
    owner, donor = np.nonzero(nearest[:, None] == labels)
    centres = _class_means(features, labels, len(m))  # of the features at hand
    return features[donor] + (m[:past] - centres[nearest])[owner], owner


def _class_means(features: np.ndarray, labels: np.ndarray, classes: int) -> np.ndarray:
    own = (labels == np.arange(classes)[:, None]).astype(features.dtype)  # (classes, n)
    return own @ features / own.sum(1).clip(min=1)[:, None]


def gaussian_replay(
    statistics: ClassStatistics,
    features: np.ndarray,
    labels: np.ndarray,
    random: np.random.Generator,
) -> Labelled:
    """Draws from each past class's normal distribution, as many as new classes have (EFC++)."""
    past, d = int(labels.min()), features.shape[1]
    number = max(1, round(len(labels) / (statistics.classes - past)))
    drawn = random.standard_normal((past, number, d), dtype=np.float32)
    covariances = statistics.covariances

    def spread(c: int) -> None:
        drawn[c] = drawn[c] @ cholesky(covariances[c]).T + statistics.mean[c]

    for _ in in_threads(spread, range(past)):
        pass
    return drawn.reshape(-1, d), np.arange(past).repeat(number)


def fit_head(
    past_features: PastFeatures,
    statistics: ClassStatistics,
    features: np.ndarray,
    labels: np.ndarray,
    random: np.random.Generator,
) -> Linear:
    """A layer fitted on the current classes' features and made-up ones of past classes."""
    classes = statistics.classes
    few = place_within_class(labels) < max(FEWEST, FITTED // classes)
    features, labels = features[few], labels[few]
    past, past_labels = past_features(statistics, features, labels, random)
    return fit_logistic(
        np.concatenate([past, features]), np.concatenate([past_labels, labels]), classes
    )


def fit_logistic(features: np.ndarray, labels: np.ndarray, classes: int) -> Linear:
    """Multinomial logistic regression on features at length one, every class weighing the same."""
    from scipy.optimize import minimize
    from scipy.special import log_softmax

    X = (unit(features) * SCALE).astype(np.float32)
    centre = X.mean(0)  # features share a large mean, which would take most of the iterations
    X = np.concatenate([X - centre, np.ones((len(X), 1), np.float32)], axis=1)
    number = np.bincount(labels, minlength=classes).clip(min=1)
    weight = (1 / (number[labels] * classes)).astype(np.float32)[:, None]
    own = np.arange(len(labels)), labels

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        """The loss, and its gradient (weight (p - one-hot))' X + DECAY W, p the softmax of X W'."""
        W = flat.reshape(classes, -1)
        log_p = log_softmax(X @ W.T.astype(np.float32), axis=1)
        error = np.exp(log_p)
        error[own] -= 1
        gradient = (error * weight).T @ X + DECAY * W
        value = -(log_p[own] * weight[:, 0]).sum(dtype=np.float64) + DECAY / 2 * np.square(W).sum()
        return float(value), gradient.ravel().astype(np.float64)

    found = minimize(
        loss,
        np.zeros(classes * X.shape[1]),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": ITERATIONS, "gtol": 1e-7, "ftol": 1e-10, "maxcor": 20},
    )
    W = found.x.reshape(classes, -1).astype(np.float32)
    rows, bias = W[:, :-1], W[:, -1]
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
