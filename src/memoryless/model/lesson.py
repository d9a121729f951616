"""What a call of `learn` brought, as its held-out photos measured it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from memoryless.stats.confidence import Confidence


@dataclass(frozen=True)
class Lesson:
    """What a state taught, measured on photos that were held out."""

    held_out: int
    """How many photos of the state were held out."""
    right: int
    """How many of them were put into their class, of all classes."""
    right_by_class: dict[str, tuple[int, int]]
    """For each class of the state how many were right, of how many."""
    temperature: float
    threshold: float
    alike: list[tuple[str, str, float]] = field(default_factory=list)
    """The pairs of classes most alike, at least one of them new, with the share of photos that
    they are expected to lose to each other."""
    unlike: dict[str, float] = field(default_factory=dict)
    """Known classes whose new photos look unlike the ones before: by how many standard errors their
    means differ, where chance gives about 1."""

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        taught: np.ndarray,
        scores: np.ndarray,
        labels: np.ndarray,
        confidence: Confidence,
        **pairs: Any,
    ) -> Self:
        """Return the lesson of a state with labels `taught`, by the scores and labels of its
        held-out photos.
        """
        right = scores.argmax(1) == labels
        held = np.bincount(labels, minlength=len(names))
        good = np.bincount(labels[right], minlength=len(names))
        by_class = {names[c]: (int(good[c]), int(held[c])) for c in np.unique(taught)}
        return cls(
            held_out=len(right),
            right=int(right.sum()),
            right_by_class=dict(sorted(by_class.items())),
            temperature=confidence.temperature,
            threshold=confidence.threshold,
            **pairs,
        )
