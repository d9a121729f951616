"""Membership inference: attacks that find out which photos a model learned, and what they reach.

An attack gives every photo a number, the larger the likelier that the photo was used. Numbers of
photos that were used (members) and of photos that were not (others) are compared: pure NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from memoryless.randomness import numpy_generator
from memoryless.stats.class_statistics import ClassStatistics

DRAWS = 1000
INTERVAL = (2.5, 97.5)  # percentiles between which 95 % of the draws lie
ENTRIES = 2**22  # of the arrays that are computed together, so that memory stays bounded
TINY = 1e-9  # of the scatter's trace: far above its rounding errors, far below its own directions


@dataclass(frozen=True)
class Estimate:
    """A number in percent, and the interval that bootstrap draws give it."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Separation:
    """How well an attack separates members from others."""

    members: int
    others: int
    auroc: Estimate
    """How often a member has the larger number; 50 is guessing, 100 is certainty."""
    tpr: Estimate
    """The share of members found while at most 1 % of the others are taken for members."""


def separate(members: np.ndarray, others: np.ndarray, seed: int, *purpose: str) -> Separation:
    """Return what a threshold on the numbers of an attack reaches, with intervals of 95 %.

    Members and others are drawn again apart, each draw as weights of the photos.
    """
    a, b = np.sort(members), np.sort(others)
    values = rates(a, b, np.ones((1, len(a))), np.ones((1, len(b))))
    drawn = [rates(a, b, *weights) for weights in _draws(len(a), len(b), seed, *purpose)]
    auroc, tpr = (
        Estimate(float(value[0]), *np.percentile(np.concatenate(of), INTERVAL).tolist())
        for value, of in zip(values, zip(*drawn, strict=True), strict=True)
    )
    return Separation(len(a), len(b), auroc, tpr)


def _draws(
    members: int, others: int, seed: int, *purpose: str
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield how often each photo is drawn, in as many draws at once as memory takes."""
    random = numpy_generator(seed, "bootstrap", *purpose)
    step = max(1, ENTRIES // (members + others))
    for start in range(0, DRAWS, step):
        number = min(step, DRAWS - start)
        first, second = (random.multinomial(n, [1 / n] * n, number) for n in (members, others))
        yield first, second


def rates(
    members: np.ndarray, others: np.ndarray, times: np.ndarray, others_times: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return AUROC and TPR at 1 % FPR (draws,) of sorted numbers counted so often (draws, n).

    The threshold is the smallest number of an other that at most 1 % of the others exceed: with
    fewer than 100 others none of them does. Ties count half in the AUROC, and not as found.
    """
    n, m, below = len(others), len(members), _running(others_times)
    under, up_to = (np.searchsorted(others, members, side) for side in ("left", "right"))
    auroc = 50 * (times * (below[:, under] + below[:, up_to])).sum(1) / (n * m)
    exceeding = n - below[:, np.searchsorted(others, others, "right")]  # (draws, n)
    threshold = others[(100 * exceeding <= n).argmax(1)]
    missed = _running(times)[np.arange(len(times)), np.searchsorted(members, threshold, "right")]
    return auroc, 100 * (m - missed) / m


def _running(times: np.ndarray) -> np.ndarray:
    """Return the sum of the first 0, 1, ... n columns, (draws, n + 1)."""
    return np.pad(times.cumsum(1), ((0, 0), (1, 0)))


def centred(
    members: Sequence[np.ndarray], others: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Join the numbers of all classes, each less the middle between its two means.

    So classes compare whose photos lie nearer to their mean than those of others, and neither
    side gains: were members and others alike, both would be centred alike.
    """
    middles = [(a.mean() + b.mean()) / 2 for a, b in zip(members, others, strict=True)]

    def shifted(part: Sequence[np.ndarray]) -> np.ndarray:
        return np.concatenate([of - middle for of, middle in zip(part, middles, strict=True)])

    return shifted(members), shifted(others)


def by_score(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return how far the own class scores above the best other one, which any answer reveals.

    On 40 kinds of birds with 30 photos each this reached an AUROC of 79.6, the log probability of
    the own class at most 79.7 over temperatures of 1 to 60, where the best one cannot be known,
    and the bare score 67.6.
    """
    rows = np.arange(len(labels))
    own, left = scores[rows, labels], scores.astype(np.float64)
    if scores.shape[1] == 1:
        return own
    left[rows, labels] = -np.inf
    return own - left.max(1)


def by_distance(
    features: np.ndarray, labels: np.ndarray, statistics: ClassStatistics
) -> np.ndarray:
    """Return how near a feature is to the stored mean of its class."""
    means = np.concatenate([group.mean for group in statistics.groups], axis=1)
    return -np.linalg.norm(features - means[labels], axis=1)


def by_scatter(features: np.ndarray, labels: np.ndarray, statistics: ClassStatistics) -> np.ndarray:
    """Return how near it is by the stored scatter, which is wide where its own photos lie.

    A scatter of fewer photos than a feature has numbers spans just these photos: a member has no
    part outside of it, and any other photo has. Where each class's own scatter is kept, that one
    tells more, since it sums fewer photos. Several groups of features tell together.
    """
    found = np.zeros(len(features))
    each = np.split(features, np.cumsum(statistics.sizes)[:-1], axis=1)
    for group, rows in zip(statistics.groups, each, strict=True):
        away = rows - group.mean[labels]
        if group.spread is None:
            assert group.scatter is not None
            found += _within(group.scatter, away)
            continue
        spreads = group.spreads(statistics.count)
        for c in np.unique(labels):
            found[labels == c] += _within(spreads[c].T @ spreads[c], away[labels == c])
    return found


def _within(scatter: np.ndarray, away: np.ndarray) -> np.ndarray:
    S = scatter + (TINY * scatter.trace() or 1.0) * np.eye(len(scatter))
    return -(np.linalg.solve(S, away.T).T * away).sum(1)
