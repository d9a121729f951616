"""Sums over random ReLU features: exact learning in states for a backbone that stays.

ACIL (NeurIPS 2022) and RanPAC (NeurIPS 2023): since sums over images only ever grow by new ones,
learning state by state gives the very layer of learning at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memoryless.randomness import numpy_generator

CHUNK = 4096  # images projected at once


@dataclass(frozen=True)
class ProjectionSums:
    """Sums over all images so far: the Gram matrix of their random features, each class's sum."""

    gram: np.ndarray  # (P, P)
    sums: np.ndarray  # (N, P)

    @classmethod
    def empty(cls, size: int) -> ProjectionSums:
        return cls(np.zeros((size, size), np.float32), np.zeros((0, size), np.float32))

    def add(self, features: np.ndarray, labels: np.ndarray, classes: int) -> ProjectionSums:
        """Add features of new classes, whose labels follow those there are."""
        gram = self.gram.astype(np.float64)
        sums = np.pad(self.sums.astype(np.float64), ((0, classes), (0, 0)))
        directions = random_directions(features.shape[1], len(gram))
        for start in range(0, len(features), CHUNK):
            chunk = slice(start, start + CHUNK)
            projected = (features[chunk] @ directions).clip(min=0).astype(np.float64)  # (n, P)
            gram += projected.T @ projected
            np.add.at(sums, labels[chunk], projected)
        return ProjectionSums(gram.astype(np.float32), sums.astype(np.float32))


def random_directions(features: int, size: int) -> np.ndarray:
    """Return random directions (d, P), always the same, so that a record need not keep them."""
    generator = numpy_generator(0, "projection")
    return generator.standard_normal((features, size), dtype=np.float32)
