"""What a head is: from the record to a scorer of features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Head:
    """How features are scored, and what of the past that takes."""

    name: str
    about: str
    reads: str
    """layer (as trained), rows (initial ones), means, covariances, or projection (its sums)."""
    make: Callable[..., Any]
    """Of layer and rows: (W, b) to (W, b). Of statistics: to a scorer, with a shrinkage if
    `shrinkages` are named. Of what is fitted: (source, features, labels, generator) to a scorer."""
    fitted: bool = False
    """Whether it is made while the state's images are there, from their features too."""
    shrinkages: tuple[float, ...] = ()
    """What a shrinkage of auto chooses from."""

    @property
    def gives_logits(self) -> bool:
        return self.reads in ("layer", "rows")

    @property
    def reads_statistics(self) -> bool:
        return self.reads in ("means", "covariances")
