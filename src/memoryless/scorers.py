"""Scorers: features (n, d) to scores (n, N), the larger the likelier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

MOST_VALUES = 2**24  # held at once by a scorer that needs more than its scores


class Scorer(Protocol):
    def __call__(self, features: Tensor) -> Tensor: ...

    @property
    def cost(self) -> int:
        """Multiplications for one image."""


@dataclass(frozen=True)
class Linear:
    """f W' + b, of features at length one if `unit`."""

    W: Tensor  # (N, d)
    b: Tensor  # (N,)
    unit: bool = False

    def __call__(self, features: Tensor) -> Tensor:
        return torch.addmm(self.b, F.normalize(features) if self.unit else features, self.W.T)

    @property
    def cost(self) -> int:
        return self.W.numel()


@dataclass(frozen=True)
class Quadratic:
    """-|(f - m) R|^2 of features at length one, with a mean and a root for each class."""

    mean: Tensor  # (N, d)
    root: Tensor  # (N, d, d), root root' is the inverse of a covariance

    def __call__(self, features: Tensor) -> Tensor:
        classes, d = self.mean.shape
        wide = self.root.permute(1, 0, 2).reshape(d, classes * d)
        centre = torch.einsum("nd,nde->ne", self.mean, self.root).flatten()
        parts = F.normalize(features).split(max(1, MOST_VALUES // (classes * d)))
        return torch.cat(
            [(p @ wide).sub_(centre).view(-1, classes, d).square_().sum(2).neg_() for p in parts]
        )

    @property
    def cost(self) -> int:
        return self.root.numel()


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
