"""The linear discriminant over fixed features, solved from class statistics.

A group of features has N photos of C classes, class i with n_i photos and the mean m_i, and the
scatter G of all photos around the means of their classes. With S = G / N and t = tr(S) / N,

    L = (S + c t I)^-1,   W_i = m_i L,   b_i = -m_i L m_i / 2 + tau / (2 n_i),

where c is the shrinkage. The mean of few photos is noisy, and m_i L m_i is too large by
tr(Sigma L) / n_i on average, which would count against classes with few photos. tau estimates
tr(Sigma L) from the sums, so that b_i is unbiased (Moran and Murphy 1979).

Means are taken less the mean of all photos. This changes all scores of a photo alike, and features
far from zero lose no digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from memoryless.stats.class_statistics import ClassStatistics, Group
from memoryless.threads import one_thread

SHRINKAGE = 1.0  # docs/lab/archive.md compares rules
FREE = 16
"""With fewer photos than this beyond one for each class, nothing is known of the noise."""
LEAST_FREEDOM = 0.02
PAIRS = 2000  # of classes, whose median spread is taken; more change it by less than a percent


@dataclass(frozen=True)
class Solution:
    """The discriminant of one group of features."""

    count: np.ndarray  # (C,)
    centre: np.ndarray  # (d,), the mean of all photos
    means: np.ndarray  # (C, d), less the centre
    inverse: np.ndarray  # (d, d), L
    W: np.ndarray  # (C, d), rows
    shrinkage: float  # c
    added: float  # c t

    @classmethod
    def of(cls, statistics: ClassStatistics, group: Group, shrinkage: float) -> Self:
        """Solve the discriminant of a group with its shrinkage c."""
        from scipy.linalg import lapack

        count, mean = statistics.count.astype(np.float64), group.mean.astype(np.float64)
        centre = count @ mean / count.sum()
        assert group.scatter is not None
        S = group.scatter.astype(np.float64) / count.sum()
        added = 1.0 if group.alike(count) else shrinkage * S.trace() / count.sum()
        S[np.diag_indices_from(S)] += added
        root, _ = lapack.dpotrf(S, lower=1, overwrite_a=1)
        inverse, _ = lapack.dpotri(root, lower=1, overwrite_c=1)
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
        means = mean - centre
        rows = np.ascontiguousarray(means @ inverse)
        return cls(count, centre, means, inverse, rows, shrinkage, added)

    @property
    def photos(self) -> float:
        return float(self.count.sum())

    @property
    def free(self) -> float:
        """How many photos there are beyond one for each class."""
        return self.photos - len(self.count)

    @cached_property
    def own(self) -> np.ndarray:
        """m_i L m_i of each class, (C,)."""
        return np.einsum("ij,ij->i", self.W, self.means)

    @property
    def freedom(self) -> float:
        """Degrees of freedom that the layer takes, tr(S L)."""
        return max(0.0, len(self.inverse) - self.added * float(self.inverse.trace()))

    @property
    def optimism(self) -> float:
        """How much wider new photos spread under L than those of the sums."""
        return 1 / max(1 - self.freedom / max(self.free, 1.0), LEAST_FREEDOM)

    @property
    def widening(self) -> float:
        """The variance of scores of new photos, over that of photos of the sums."""
        return self.optimism**2 * self.photos / max(self.free, 1.0)

    @cached_property
    def tau(self) -> float:
        """The estimate of tr(Sigma L), Sigma the covariance of new photos; 0 if unknown."""
        if self.free < FREE:
            return 0.0
        return self.optimism * self.freedom * self.photos / self.free

    @cached_property
    def b(self) -> np.ndarray:
        """Biases (C,) for features less the centre."""
        return (self.tau / self.count - self.own) / 2

    def pairs(self, rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what to expect of new photos of classes i, of rows, against j, of columns.

        By how much i leads j on average, (R, J), and the variance of that. The model has seen the
        photos of its sums, so leads are lowered, and variances widened, by what it would gain from
        them.
        """
        K = self.W[rows] @ self.means[columns].T
        noise = self.tau / 2 - self.optimism * self.freedom, self.tau / 2
        lead = (self.own[rows] / 2 + noise[0] / self.count[rows])[:, None] - K
        lead += self.own[columns] / 2 - noise[1] / self.count[columns]
        squares = self._squares(self.W, self.means)
        variance = squares[rows][:, None] + squares[columns]
        variance -= 2 * (K - self.added * (self.W[rows] @ self.W[columns].T))
        return lead, self.widening * np.maximum(variance, 0)

    def variances(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Return the variances over new photos of score differences of pairs of classes."""
        rows, means = self.W[one] - self.W[other], self.means[one] - self.means[other]
        return self.widening * np.maximum(self._squares(rows, means), 0)

    def _squares(self, rows: np.ndarray, means: np.ndarray) -> np.ndarray:
        """Return w S w' of rows w = m L."""
        return (rows * means).sum(1) - self.added * np.square(rows).sum(1)


@dataclass(frozen=True)
class Discriminant:
    """The weighted sum of the discriminants of feature groups."""

    groups: tuple[Solution, ...]
    weights: tuple[float, ...]

    @classmethod
    def of(
        cls,
        statistics: ClassStatistics,
        shrinkages: tuple[float, ...] = (SHRINKAGE,),
        weights: tuple[float, ...] = (1.0,),
    ) -> Self:
        """Solve the discriminant from the class statistics, under one thread of BLAS."""
        with one_thread():
            each = zip(statistics.groups, shrinkages, strict=True)
            return cls(tuple(Solution.of(statistics, group, c) for group, c in each), weights)

    @property
    def chosen(self) -> tuple[tuple[float, float], ...]:
        """The weight and the shrinkage of each group."""
        each = zip(self.weights, self.groups, strict=True)
        return tuple((weight, group.shrinkage) for weight, group in each)

    @property
    def layer(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows (C + 1, d) and biases (C + 1,) over the joined features of all groups.

        The last row is that of the mean of all photos. How far the best class scores above it says
        whether any class fits.
        """
        with one_thread():
            rows, biases = [], np.zeros(len(self.groups[0].count) + 1)
            for weight, group in zip(self.weights, self.groups, strict=True):
                own = np.append(group.b - group.W @ group.centre, group.tau / group.photos / 2)
                rows.append(weight * np.concatenate([group.W, np.zeros((1, group.W.shape[1]))]))
                biases += weight * own
            return np.concatenate(rows, axis=1), biases

    @property
    def unit(self) -> float:
        """The median spread of score differences of two classes over new photos; 1 if unknown.

        Scores grow with the number of photos and with the weights. Numbers that are kept over
        several calls are divided by this unit.
        """
        one, other = _pairs(len(self.groups[0].count))
        with one_thread():
            each = [
                weight * np.sqrt(group.variances(one, other))
                for weight, group in zip(self.weights, self.groups, strict=True)
            ]
        median = float(np.sqrt(np.median(combined(each)))) if len(one) else 0.0
        return median if median > 0 else 1.0


def combined(spreads: Sequence[np.ndarray]) -> np.ndarray:
    """Return the variance of a sum of groups with these spreads.

    It is halfway between that of errors that are independent and of errors that agree.
    """
    whole: np.ndarray = sum(spreads, np.zeros(1))
    return (sum(map(np.square, spreads)) + np.square(whole)) / 2


def _pairs(classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return all pairs of classes, or about `PAIRS` of them at equal steps.

    >>> [part.tolist() for part in _pairs(3)]
    [[1, 2, 2], [0, 0, 1]]
    """
    pairs = classes * (classes - 1) // 2
    number = np.arange(0, pairs, -(-pairs // PAIRS) or 1)
    one = ((1 + np.sqrt(1 + 8 * number)) / 2).astype(np.int64)  # pair (i, j) is i (i - 1) / 2 + j
    return one, number - one * (one - 1) // 2
