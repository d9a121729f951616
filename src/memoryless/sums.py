"""What is kept of fixed features: sums over photos, which add up exactly, in any order.

Everything is NumPy in double precision: in single precision scores, which span hundreds, would
differ by 2e-5 between two orders of the same photos; in double precision they differ by 2e-12.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from memoryless.scorers import Linear


@dataclass(frozen=True)
class Sums:
    """Sums over the photos of N classes: how many, their means, and one scatter for all.

    The scatter is the sum over all photos of (f - m)'(f - m), m the mean of the photo's class.
    """

    count: np.ndarray  # (N,)
    mean: np.ndarray  # (N, d)
    scatter: np.ndarray  # (d, d)

    @classmethod
    def of(cls, features: np.ndarray, labels: np.ndarray, classes: int) -> Self:
        """Sums over features (n, d) of classes 0 to classes - 1, each with a photo or more."""
        count = np.bincount(labels, minlength=classes)
        away = features[np.argsort(labels, kind="stable")].astype(np.float64, copy=False)
        mean = np.add.reduceat(away, np.cumsum(count) - count) / count[:, None]
        away -= np.repeat(mean, count, axis=0)
        return cls(count.astype(np.float64), mean, away.T @ away)

    def join(self, other: Self) -> Self:
        """The sums over both, where the other's classes are new ones."""
        return type(self)(
            np.concatenate([self.count, other.count]),
            np.concatenate([self.mean, other.mean]),
            self.scatter + other.scatter,
        )

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
        return S + (S.trace() / photos or 1.0) * np.eye(len(S))

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
        return {"count": self.count, "mean": self.mean, "scatter": triangle}

    @classmethod
    def restore(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """The sums that `arrays` gave."""
        d = arrays["mean"].shape[1]
        scatter = np.zeros((d, d))
        scatter[np.triu_indices(d)] = arrays["scatter"]
        scatter += np.triu(scatter, 1).T
        return cls(arrays["count"], arrays["mean"], scatter)


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
