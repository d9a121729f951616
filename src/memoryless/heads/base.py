"""What a head is: from the record to a scorer of features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Head:
    """A head says how features are scored, and what of the past it reads for that."""

    name: str
    about: str
    reads: str
    """What it reads: layer (as trained), rows (initial ones), means, covariances or projection."""
    make: Callable[..., Any]
    """Its function. Over layer or rows it takes (W, b) and gives (W, b). Over statistics it gives a
    scorer, and takes a shrinkage too if it `shrinks`. A fitted one takes (source,
    features, labels, generator) and gives a scorer."""
    fitted: bool = False
    """Whether it is made while the state's images are there, from their features too."""
    shrinks: bool = False
    """Whether a method may give it another shrinkage than its own."""

    @property
    def gives_logits(self) -> bool:
        return self.reads in ("layer", "rows")

    @property
    def reads_statistics(self) -> bool:
        return self.reads in ("means", "covariances")
