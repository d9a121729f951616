"""Reports of one call of `learn` or `calibrate`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Self

import numpy as np

from memoryless.stats.confidence import Confidence

PAIRS = 3  # of confused classes that are named


class Suspect(NamedTuple):
    """An image that may have the wrong label: another class fits it far better than its own."""

    number: int
    """The place of the image in the call, counted from 0."""
    label: str
    looks_like: str
    """The class that fits best."""
    probability: float
    """The probability of its own class."""


@dataclass(frozen=True)
class LearningReport:
    """A report on the photos of one call of `learn`, each scored by a model without it.

    Over fixed features that is leave-one-out: every photo is learned and counts. Where features are
    trained, some photos were held out of the training.
    """

    checked: int
    """How many photos were scored."""
    correct: int
    """How many of them got their own class, among all classes."""
    correct_by_class: dict[str, tuple[int, int]]
    """For each class of the call how many were correct, of how many."""
    confused: list[tuple[str, str, int, int]]
    """Pairs of classes taken for each other, the most often first: how many photos, of how many."""
    temperature: float
    threshold: float
    unlike: dict[str, float] = field(default_factory=dict)
    """Known classes whose new photos differ from those before, and by how many standard errors the
    two means differ; chance gives about 1."""
    suspects: list[Suspect] = field(default_factory=list)
    """Images whose leave-one-out scores contradict their labels, the least probable first; none
    where features are trained."""

    @property
    def accuracy(self) -> float:
        """The share of the scored photos that got their own class, nan if none was scored."""
        return self.correct / self.checked if self.checked else float("nan")

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        brought: np.ndarray,
        answers: np.ndarray,
        labels: np.ndarray,
        confidence: Confidence,
        unlike: dict[str, float] | None = None,
        suspects: Sequence[Suspect] = (),
    ) -> Self:
        """Return the report on a call that brought some classes, by answers (n,) and labels (n,).

        Classes stand as their numbers.
        """
        hit = answers == labels
        checked = np.bincount(labels, minlength=len(names))
        good = np.bincount(labels[hit], minlength=len(names))
        by_class = {names[c]: (int(good[c]), int(checked[c])) for c in brought}
        pairs = np.sort(np.stack([answers[~hit], labels[~hit]]), axis=0)
        found, times = np.unique(pairs, axis=1, return_counts=True)
        of = checked[found].sum(0)
        most = np.lexsort((-times / np.maximum(of, 1), -times))[:PAIRS]
        return cls(
            checked=len(labels),
            correct=int(hit.sum()),
            correct_by_class=dict(sorted(by_class.items())),
            confused=[
                (names[found[0, i]], names[found[1, i]], int(times[i]), int(of[i])) for i in most
            ],
            temperature=confidence.temperature,
            threshold=confidence.threshold,
            unlike=unlike or {},
            suspects=[*suspects],
        )


@dataclass(frozen=True)
class Calibration:
    """A temperature and a threshold that were fitted on photos, and those before."""

    photos: int
    """How many photos of known classes they were fitted on."""
    unknown: int
    """How many photos of unknown things took part in the threshold."""
    left_out: dict[str, int]
    """Photos of each class that the model does not know, by its name."""
    before: Confidence
    after: Confidence
