"""Scorers: features (n, d) to scores (n, N), the larger the likelier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from memoryless.statistics import Reading

MOST_VALUES = 2**23  # held at once by a scorer that needs more than its scores
COLUMNS = 64  # of a triangular root multiplied at once


class Scorer(Protocol):
    def __call__(self, features: Tensor) -> Tensor: ...

    @property
    def cost(self) -> int:
        """Multiplications for one image."""


@dataclass(frozen=True)
class Linear:
    """f W' + b, of the first d features, at length one if `unit`."""

    W: Tensor  # (N, d)
    b: Tensor  # (N,)
    unit: bool = False

    def __call__(self, features: Tensor) -> Tensor:
        read = features[:, : self.W.shape[1]]
        return torch.addmm(self.b, F.normalize(read) if self.unit else read, self.W.T)

    @property
    def cost(self) -> int:
        return self.W.numel()


@dataclass(frozen=True)
class Quadratic:
    """-|(f - m) R|^2 of features at length one, with a mean and a root for each class."""

    mean: Tensor  # (N, d)
    root: Tensor  # (N, d, d) upper triangular, root root' is the inverse of a covariance

    def __call__(self, features: Tensor) -> Tensor:
        parts = F.normalize(features).split(max(1, MOST_VALUES // (len(self.mean) * COLUMNS)))
        return torch.cat([self._score(part) for part in parts])

    def _score(self, features: Tensor) -> Tensor:
        """A block of columns at a time, of which the rows below are zero."""
        classes, d = self.mean.shape
        scores = features.new_zeros(len(features), classes)
        for start in range(0, d, COLUMNS):
            end = min(start + COLUMNS, d)
            block = self.root[:, :end, start:end]  # (N, end, columns)
            centre = torch.einsum("nd,ndc->nc", self.mean[:, :end], block)
            wide = block.permute(1, 0, 2).reshape(end, -1)
            away = (features[:, :end] @ wide).view(-1, classes, end - start).sub_(centre)
            scores -= away.square_().sum(2)
        return scores

    @property
    def cost(self) -> int:
        classes, d = self.mean.shape
        return classes * d * (d + 1) // 2


@dataclass(frozen=True)
class Read:
    """A scorer over what statistics read of features."""

    reading: Reading
    over: Scorer

    def __call__(self, features: Tensor) -> Tensor:
        return self.over(self.reading(features))

    @property
    def cost(self) -> int:
        return self.over.cost


@dataclass(frozen=True)
class Projected:
    """A linear scorer over random ReLU features."""

    directions: Tensor  # (d, P)
    over: Linear  # (N, P)

    def __call__(self, features: Tensor) -> Tensor:
        return self.over((features @ self.directions).relu_())

    @property
    def cost(self) -> int:
        return self.directions.numel() + self.over.cost
