"""What is kept of fixed features: sums over photos, which add up exactly, in any order.

Everything is NumPy in double precision: in single precision scores, which span hundreds, would
differ by 2e-5 between two orders of the same photos; in double precision they differ by 2e-12.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from memoryless.scorers import Linear

ROUNDING = 1e-24
"""A scatter so small beside the sum of squares is of photos that are all alike, and rounding."""

AT_ONCE = 2**21  # numbers in work: they stay in the cache, and matrix products are still fast


@dataclass(frozen=True)
class Sums:
    """Sums over the photos of N classes: how many, their means, and one scatter for all.

    The scatter is the sum over all photos of (f - m)'(f - m), m the mean of the photo's class.
    """

    count: np.ndarray  # (N,)
    mean: np.ndarray  # (N, d)
    scatter: np.ndarray  # (d, d)
    spread: np.ndarray | None = None  # (R, d)
    """Each class's own scatter, where classes can be forgotten exactly. A class of n photos has
    `spread_rows(n, d)` rows R, and R'R is its scatter, which would take more room as long as there
    are fewer photos than features."""

    @classmethod
    def none(cls, d: int, forgettable: bool = False) -> Self:
        """The sums over no photo; `forgettable` ones keep each class's own scatter."""
        spread = np.zeros((0, d)) if forgettable else None
        return cls(np.zeros(0), np.zeros((0, d)), np.zeros((d, d)), spread)

    @classmethod
    def of(
        cls,
        features: np.ndarray,
        labels: np.ndarray,
        classes: int,
        forgettable: bool = False,
        rows: np.ndarray | None = None,
    ) -> Self:
        """Sums over features (n, d) of classes 0 to classes - 1, each with a photo or more.

        Where rows (m,) are given, the sums are over these, and labels (m,) are theirs.
        """
        small = labels.astype(np.min_scalar_type(classes))  # which NumPy sorts by radix
        order = np.argsort(small, kind="stable")
        rows, own = order if rows is None else rows[order], labels[order]
        d = features.shape[1]
        scatter, pieces = np.zeros((d, d)), []
        step = max(1, AT_ONCE // d)
        cuts = np.arange(step, len(own), step)
        chunks = zip(np.split(rows, cuts), np.split(own, cuts), strict=True)
        for chunk in chunks:
            away, found = _centred(features, *chunk)
            scatter += away.T @ away
            pieces += found
        count, mean, between = _means(pieces, classes)
        spread = None
        if forgettable:
            each = zip(np.split(rows, np.flatnonzero(np.diff(own)) + 1), mean, strict=True)
            spread = np.concatenate([_spread(features[of], m) for of, m in each])
        return cls(count, mean, scatter + between, spread)

    def join(self, other: Self, places: np.ndarray | None = None) -> Self:
        """The sums over both; class i of the other is class places[i] of the result.

        A place from `classes` on is a new class, as all are where no places are given. The spread
        is kept if both have it.
        """
        if places is None:
            places = np.arange(self.classes, self.classes + other.classes)
        new = max(0, int(places.max(initial=-1)) + 1 - self.classes)
        past = np.concatenate([self.count, np.zeros(new)])
        mean = np.concatenate([self.mean, np.zeros((new, self.mean.shape[1]))])
        count = past.copy()
        count[places] += other.count
        away = other.mean - mean[places]
        share = other.count / count[places]
        mean[places] += share[:, None] * away
        # What the scatter around two means lacks of that around their common mean.
        between = np.sqrt(past[places] * share)[:, None] * away
        both = between[past[places] > 0]
        scatter = self.scatter + other.scatter + both.T @ both
        joined = type(self)(count, mean, scatter)
        if self.spread is None or other.spread is None:
            return joined
        parts = [*self.spreads(), *[np.zeros((0, mean.shape[1]))] * new]
        for place, part, row in zip(places, other.spreads(), between, strict=True):
            known = [parts[place], row[None]] if past[place] else []
            parts[place] = _triangle(np.concatenate([*known, part])) if known else part
        return replace(joined, spread=np.concatenate(parts))

    def spreads(self) -> list[np.ndarray]:
        """The spread of each class."""
        assert self.spread is not None
        rows = spread_rows(self.count, self.mean.shape[1])
        return np.split(self.spread, np.cumsum(rows)[:-1]) if len(rows) else []

    def without(self, gone: np.ndarray) -> Self:
        """The sums without the classes of a mask (N,).

        With their spread it is as if these classes had never been. Without, the covariance stays as
        it was: the spread of a class that is gone has weight n / (photos of all) in it.
        """
        stay = ~gone
        count, mean = self.count[stay], self.mean[stay]
        if self.spread is None:
            return type(self)(count, mean, self.scatter * (count.sum() / self.count.sum()))
        rows = spread_rows(self.count, self.mean.shape[1])
        spread = self.spread[np.repeat(stay, rows)]
        return type(self)(count, mean, spread.T @ spread, spread)

    @property
    def classes(self) -> int:
        return len(self.count)

    @property
    def centre(self) -> np.ndarray:
        """The mean (d,) of all photos."""
        return self.count @ self.mean / self.count.sum()

    @property
    def covariance(self) -> np.ndarray:
        """The covariance (d, d) that classes share, shrunk by a rule that reads nothing but sums.

        S + tr(S) / n I, so that the fewer the photos, the rounder it is: docs/choosing.md compares
        rules. Where all photos of a class are alike it is the identity.
        """
        photos = self.count.sum()
        S = self.scatter / photos
        squares = self.count @ np.square(self.mean).sum(1) / photos
        alike = S.trace() <= ROUNDING * squares
        return S + (1.0 if alike else S.trace() / photos) * np.eye(len(S))

    def discriminant(self) -> Linear:
        """Linear discriminant analysis: m L f' - m L m' / 2, L the inverse covariance.

        Means are taken as they are. One row more than classes: the last is of the mean of all
        photos, and what a class scores above it says whether any class fits.
        """
        means = np.concatenate([self.mean, self.centre[None]])
        W = np.linalg.solve(self.covariance, means.T).T
        return Linear(W, -(W * means).sum(1) / 2)

    def arrays(self) -> dict[str, np.ndarray]:
        """The sums as they are stored: of the scatter, which is symmetric, the upper triangle."""
        triangle = self.scatter[np.triu_indices(len(self.scatter))]
        spread = {} if self.spread is None else {"spread": self.spread}
        return {"count": self.count, "mean": self.mean, "scatter": triangle, **spread}

    @classmethod
    def restore(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """The sums that `arrays` gave."""
        d = arrays["mean"].shape[1]
        scatter = np.zeros((d, d))
        scatter[np.triu_indices(d)] = arrays["scatter"]
        scatter += np.triu(scatter, 1).T
        return cls(arrays["count"], arrays["mean"], scatter, arrays.get("spread"))


def spread_rows(count: np.ndarray, d: int) -> np.ndarray:
    """How many rows the spread of classes with so many photos has.

    >>> spread_rows(np.array([1.0, 5.0, 900.0]), 64).tolist()
    [0, 4, 64]
    """
    return np.minimum(count.astype(np.int64) - 1, d)


Piece = tuple[int, int, np.ndarray]
"""A class, how many photos of it there are in one place, and the sum (d,) of their features."""


def _centred(
    features: np.ndarray, rows: np.ndarray, labels: np.ndarray
) -> tuple[np.ndarray, list[Piece]]:
    """Some rows of features, in double precision, without the means of their classes, each of which
    follows the other; and what was taken off.
    """
    away = features[rows].astype(np.float64, copy=False)
    starts = np.flatnonzero(np.diff(labels, prepend=-1))
    pieces = []
    for label, part in zip(labels[starts], np.split(away, starts[1:]), strict=True):
        total = part.sum(0)
        np.subtract(part, total / len(part), out=part)
        pieces.append((label, len(part), total))
    return away, pieces


def _means(pieces: Sequence[Piece], classes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counts and means of classes that came in pieces, and the scatter of the pieces' own means,
    which is 0 where each class came in one.
    """
    own, number, total = (np.array(column) for column in zip(*pieces, strict=True))
    starts = np.searchsorted(own, np.arange(classes))
    count = np.add.reduceat(number, starts).astype(np.float64)
    mean = np.add.reduceat(total, starts) / count[:, None]
    away = np.sqrt(number)[:, None] * (total / number[:, None] - mean[own])
    return count, mean, away.T @ away


def _spread(features: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """The spread of one class."""
    return _triangle(_one_row_less(features - mean))


def _one_row_less(away: np.ndarray) -> np.ndarray:
    """Rows (n - 1, d) with the same scatter as rows (n, d) that add up to zero.

    A reflection takes the direction in which all n count alike to the first row: that becomes zero.
    """
    return away[1:] - away[:1] / (1 + math.sqrt(len(away)))


def _triangle(rows: np.ndarray) -> np.ndarray:
    """At most d rows with the same scatter, none of which is of one photo alone."""
    return np.asarray(np.linalg.qr(rows, mode="r"))


def moved(past: Sums, after: Sums) -> np.ndarray:
    """How many standard errors (N,) lie between the mean of a past class and that of the photos
    that it got since; 0 without any.

    For photos of the same kind it is about 1: the squared distance of two means is
    var (1 / n1 + 1 / n2) on average, where var is the trace of the covariance that classes share
    (Bai and Saranadasa 1996).
    """
    count, mean = after.count[: past.classes], after.mean[: past.classes]
    more = count - past.count
    new = np.maximum(more, 1)  # classes without any have not moved
    squares = np.square((mean - past.mean) * (count / new)[:, None]).sum(1)
    variance = after.scatter.trace() / max(1.0, after.count.sum() - after.classes)
    return np.sqrt(squares / np.maximum(variance * (1 / past.count + 1 / new), ROUNDING))


def far(sums: Sums) -> float:
    """How many standard errors are more than chance.

    1.5, which of 2,000 pairs of halves of a class of birds40 and CIFAR-100 one or two reached; or,
    where features are few and chance is wider, five standard deviations of the squared distance.
    """
    square = np.square(sums.scatter).sum() / max(sums.scatter.trace(), ROUNDING) ** 2
    return max(1.5, math.sqrt(1 + 5 * math.sqrt(2 * square)))


def closest(
    sums: Sums, layer: Linear, new: int, temperature: float, number: int = 3
) -> list[tuple[int, int, float]]:
    """The pairs of classes most alike, of which one at least is among the last `new`.

    Each pair comes with the share of photos that the two are expected to lose to each other. Two
    normal classes at Mahalanobis distance D, as likely each, lose Phi(-D / 2). Here D^2, like the
    scores, is too large by the temperature T, because the covariance is of few photos in many
    directions: the share is Phi(-D / (2 sqrt(T))).
    """
    first = sums.classes - new
    W, own = layer.W[:-1], -2 * layer.b[:-1]
    squares = own[first:, None] + own - 2 * sums.mean[first:] @ W.T  # (new, N) of distances
    later = np.arange(sums.classes) >= np.arange(first, sums.classes)[:, None]
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
