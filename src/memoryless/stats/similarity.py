"""How alike classes are, and whether new images of a class look like those before."""

from __future__ import annotations

import math

import numpy as np

from memoryless.stats.class_statistics import ROUNDING, ClassStatistics


def mean_shift(past: ClassStatistics, after: ClassStatistics) -> np.ndarray:
    """How many standard errors (N,) lie between the mean of a past class and that of the images
    that it got since; 0 without any.

    For images of the same kind it is about 1: the squared distance of two means is
    var (1 / n1 + 1 / n2) on average, where var is the trace of the covariance that classes share
    (Bai and Saranadasa 1996).
    """
    count, mean = after.count[: past.classes], after.mean[: past.classes]
    more = count - past.count
    new = np.maximum(more, 1)  # classes without any have not moved
    squares = np.square((mean - past.mean) * (count / new)[:, None]).sum(1)
    assert after.first.scatter is not None
    variance = after.first.scatter.trace() / max(1.0, after.count.sum() - after.classes)
    return np.sqrt(squares / np.maximum(variance * (1 / past.count + 1 / new), ROUNDING))


def chance_shift(statistics: ClassStatistics) -> float:
    """How many standard errors are more than chance.

    1.5, which of 2,000 pairs of halves of a class of birds40 and CIFAR-100 one or two reached; or,
    where features are few and chance is wider, five standard deviations of the squared distance.
    """
    scatter = statistics.first.scatter
    assert scatter is not None
    square = np.square(scatter / max(scatter.trace(), ROUNDING)).sum()
    return max(1.5, math.sqrt(1 + 5 * math.sqrt(2 * square)))


def closest_pairs(
    statistics: ClassStatistics, W: np.ndarray, new: int, temperature: float, number: int = 3
) -> list[tuple[int, int, float]]:
    """The pairs of classes most alike, of which one at least is among the last `new`.

    Rows of W (N, d) are (m - c) L with c the mean of all images and L the inverse covariance. Each
    pair comes with the share of images that the two are expected to lose to each other. Two normal
    classes at Mahalanobis distance D, as likely each, lose Phi(-D / 2). Here D^2, like the scores,
    is too large by the temperature T, because the covariance is computed from few images in many
    directions: the share is Phi(-D / (2 sqrt(T))).
    """
    first, means = statistics.classes - new, statistics.mean - statistics.centre
    own = (W * means).sum(1)
    squares = own[first:, None] + own - 2 * means[first:] @ W.T  # (new, N) of distances
    later = np.arange(statistics.classes) >= np.arange(first, statistics.classes)[:, None]
    squares[later] = np.inf  # each pair once, and no class with itself
    best = np.argsort(squares, axis=None)[:number]
    pairs = zip(*np.unravel_index(best, squares.shape), strict=True)
    return [
        (
            first + int(a),
            int(b),
            math.erfc(math.sqrt(max(squares[a, b], 0.0) / temperature / 8)) / 2,
        )
        for a, b in pairs
        if np.isfinite(squares[a, b])
    ]
