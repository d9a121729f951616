"""What a head is: from the record to a scorer of features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from memoryless.stats.class_statistics import ClassStatistics

Layer = tuple[np.ndarray, np.ndarray]
"""Rows (N, d) and biases (N,) of a linear layer."""


@dataclass(frozen=True)
class Head:
    """A head says how features are scored, and what of the past it reads for that."""

    name: str
    about: str
    reads: str
    """What it reads: layer (as trained), rows (initial ones), means, covariances or projection."""
    make: Callable[..., Any]
    """Its function. Over layer or rows it takes (W, b) and gives (W, b). Over statistics it gives a
    scorer, and takes a shrinkage too if it has one. A fitted one takes (source, features, labels,
    random) and gives a scorer."""
    fitted: bool = False
    """Whether it is made while the state's images are there, from their features too."""
    shrinkage: float | None = None
    """How round covariances S become, S + shrinkage tr(S) / d I, if they do."""
    fixed_shrinkage: float | None = None
    """lda over fixed features: S + fixed_shrinkage tr(S) / n I, n images in all, so that the fewer
    the images, the rounder S becomes. docs/choosing.md compares rules."""

    one_covariance: bool = False
    """Whether it reads one covariance for all classes, whatever the record holds."""

    @property
    def gives_logits(self) -> bool:
        return self.reads in ("layer", "rows")

    @property
    def reads_statistics(self) -> bool:
        return self.reads in ("means", "covariances")

    def over(self, statistics: ClassStatistics, shrinkage: float | None = None) -> Any:
        """The scorer over class statistics, with its own shrinkage or another one."""
        if self.shrinkage is None:
            return self.make(statistics)
        own = self.shrinkage
        if statistics.fixed and self.fixed_shrinkage is not None:
            own = self.fixed_shrinkage
        return self.make(statistics, own if shrinkage is None else shrinkage)
