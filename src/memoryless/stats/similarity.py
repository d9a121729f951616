"""Whether new images of a class look like those before."""

from __future__ import annotations

import math

import numpy as np

from memoryless.stats.class_statistics import ROUNDING, ClassStatistics


def mean_shift(past: ClassStatistics, after: ClassStatistics) -> np.ndarray:
    """Return how far the mean of a past class is from that of the images that it got since.

    It is counted in standard errors (N,), 0 without any new image. For images of the same kind it
    is about 1: the squared distance of two means is var (1 / n1 + 1 / n2) on average, where var is
    the trace of the covariance that classes share (Bai and Saranadasa 1996).
    """
    count, mean = after.count[: past.classes], after.mean[: past.classes]
    more = count - past.count
    new = np.maximum(more, 1)  # classes without any have not moved
    squares = np.square((mean - past.mean) * (count / new)[:, None]).sum(1)
    assert after.first.scatter is not None
    variance = after.first.scatter.trace() / max(1.0, after.count.sum() - after.classes)
    return np.sqrt(squares / np.maximum(variance * (1 / past.count + 1 / new), ROUNDING))


def chance_shift(statistics: ClassStatistics) -> float:
    """Return how many standard errors are more than chance.

    1.5, which of 2,000 pairs of halves of a class of birds40 and CIFAR-100 one or two reached; or,
    where features are few and chance is wider, five standard deviations of the squared distance.
    """
    scatter = statistics.first.scatter
    assert scatter is not None
    square = np.square(scatter / max(scatter.trace(), ROUNDING)).sum()
    return max(1.5, math.sqrt(1 + 5 * math.sqrt(2 * square)))
