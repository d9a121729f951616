"""Ridge regression over random ReLU features: exact learning in states for a frozen backbone.

ACIL (NeurIPS 2022) and RanPAC (NeurIPS 2023): since sums over images only ever grow by new ones,
learning state by state gives the very layer of learning at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from memoryless.heads.base import Head
from memoryless.heads.classes import ridge_rows
from memoryless.randomness import torch_generator
from memoryless.scorers import Linear, Projected

SHRINKAGE = 0.003  # of 0.001 to 0.03 the best on held-out drawings
CHUNK = 4096


@dataclass(frozen=True)
class ProjectionSums:
    """Sums over all images so far: the Gram matrix of their random features, each class's sum."""

    gram: Tensor  # (P, P)
    sums: Tensor  # (N, P)

    @classmethod
    def empty(cls, size: int) -> ProjectionSums:
        return cls(torch.zeros(size, size), torch.zeros(0, size))

    def add(self, features: Tensor, labels: Tensor, classes: int) -> ProjectionSums:
        """The sums with features of new classes added, whose labels follow those there are."""
        gram = self.gram.double()
        sums = F.pad(self.sums.double(), (0, 0, 0, classes))
        directions = random_directions(features.shape[1], len(gram))
        for f, y in zip(features.split(CHUNK), labels.split(CHUNK), strict=True):
            projected = (f @ directions).relu_().double()
            gram += projected.T @ projected
            sums.index_add_(0, y, projected)
        return ProjectionSums(gram.float(), sums.float())

    def scorer(self, features: int, shrinkage: float = SHRINKAGE) -> Projected:
        """Ridge regression over the random features of d = `features`."""
        rows = ridge_rows(self.gram, self.sums, shrinkage)
        directions = random_directions(features, rows.shape[1])
        return Projected(directions, Linear(rows, torch.zeros(len(rows))))


def projection(
    sums: ProjectionSums, features: Tensor, labels: Tensor, generator: torch.Generator
) -> Projected:
    """The scorer of these sums; of the state's features only their dimension d is read."""
    return sums.scorer(features.shape[1])


def random_directions(features: int, size: int) -> Tensor:
    """Random directions (d, P), always the same, so that a record need not keep them."""
    generator = torch_generator(0, "projection")
    return torch.randn(features, size, generator=generator)


PROJECTION_HEADS = (
    Head(
        "projection",
        "ridge regression over random features, for a backbone that stays (RanPAC)",
        "projection",
        projection,
        fitted=True,
    ),
)
