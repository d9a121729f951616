"""How well a model classifies labelled images; accuracies and errors are shares from 0 to 1."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from memoryless.model.report import Calibration
from memoryless.stats.confidence import Prediction
from memoryless.stats.metrics import auroc, calibration_error, ranks

LEAST_FOR_TOP5 = 10
"""Classes below which top-5 says little and is left out."""
PAIRS = 10  # of classes, most often confused, that are named
UNLABELLED = "no label"
Row = dict[str, Any]
Z = 1.96  # standard deviations of a 95 % interval


@dataclass(frozen=True)
class Mistake:
    """An image of a known class that got another answer."""

    number: int
    """The place of the image among those evaluated, counted from 0."""
    label: str
    answer: str
    probability: float
    """The probability of the answer."""
    own: float
    """The probability of the image's own class."""


@dataclass(frozen=True)
class Evaluation:
    """The result of classifying labelled images; images of unknown classes are counted apart."""

    photos: int
    """Images of known classes; all numbers but `auroc` and `rejected` are over these."""
    correct: int
    top1: float
    interval: tuple[float, float]
    """95 % interval of `top1` (Wilson 1927)."""
    top5: float | None
    """None below ten classes."""
    ece: float
    """Expected calibration error."""
    accepted: float
    """The share whose class the model calls known, unsure ones included."""
    unsure: float
    """The share that the model calls unsure."""
    states: list[Row]
    """The first state is 1."""
    classes: list[Row]
    """Worst first."""
    confused: list[Row]
    """Pairs of a class and the answer that its images got instead, most often first."""
    unknown: dict[str, int]
    """Images of each class that the model does not know."""
    auroc: float | None
    """Known against unknown classes, where there are images of these."""
    rejected: float | None
    """The share of images of unknown classes that the model calls unknown."""
    mistakes: list[Mistake]
    """The surest first."""
    calibration: Calibration | None = None
    """What was fitted on these images before they were classified."""

    @property
    def accuracy(self) -> float:
        """The share of images whose likeliest class is their own, the same as `top1`."""
        return self.top1

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        class_state: Sequence[int],
        labels: Sequence[str | None],
        found: Prediction,
        calibration: Calibration | None = None,
    ) -> Evaluation:
        """Return the evaluation of predictions over classes with these names and states."""
        index: dict[str | None, int] = {name: i for i, name in enumerate(names)}
        own = np.array([index.get(label, -1) for label in labels])
        inside = own >= 0
        known, scores = own[inside], found.scores[inside]
        rank, some = ranks(scores, known), not inside.all()
        hits = rank < 1
        strange = Counter(label or UNLABELLED for label in labels if label not in index)
        return cls(
            photos=len(known),
            correct=int(hits.sum()),
            top1=float(hits.mean()),
            interval=interval(int(hits.sum()), len(hits)),
            top5=float((rank < 5).mean()) if len(index) >= LEAST_FOR_TOP5 else None,
            ece=calibration_error(found.probabilities[inside], known) / 100,
            accepted=float(found.known[inside].mean()),
            unsure=float((found.answers[inside] == "unsure").mean()),
            states=_by_state(known, hits, np.array(class_state)),
            classes=_by_class(known, hits, names, class_state),
            confused=_confused(known, scores.argmax(1), names),
            unknown=dict(sorted(strange.items())),
            auroc=auroc(found.margin[inside], found.margin[~inside]) / 100 if some else None,
            rejected=float((~found.known[~inside]).mean()) if some else None,
            mistakes=_mistakes(own, found, names),
            calibration=calibration,
        )


def interval(correct: int, number: int) -> tuple[float, float]:
    """Return the 95 % interval of a share by Wilson's score.

    >>> [round(end, 3) for end in interval(141, 146)]
    [0.922, 0.985]
    """
    share, z2 = correct / number, Z**2 / number
    centre = (share + z2 / 2) / (1 + z2)
    half = Z * math.sqrt(share * (1 - share) / number + z2 / (4 * number)) / (1 + z2)
    return max(0.0, centre - half), min(1.0, centre + half)


def _by_state(labels: np.ndarray, hits: np.ndarray, class_state: np.ndarray) -> list[Row]:
    state = class_state[labels]
    return [
        {
            "state": int(s) + 1,
            "classes": len(np.unique(labels[state == s])),
            **_accuracy(hits[state == s]),
        }
        for s in np.unique(state)
    ]


def _by_class(
    labels: np.ndarray, hits: np.ndarray, names: Sequence[str], class_state: Sequence[int]
) -> list[Row]:
    rows = [
        {"class": names[c], "state": int(class_state[c]) + 1, **_accuracy(hits[labels == c])}
        for c in np.unique(labels)
    ]
    return sorted(rows, key=lambda row: (row["top1"], row["class"]))


def _accuracy(hits: np.ndarray) -> Row:
    return {"photos": len(hits), "correct": int(hits.sum()), "top1": float(hits.mean())}


def _confused(labels: np.ndarray, answer: np.ndarray, names: Sequence[str]) -> list[Row]:
    wrong = labels != answer
    pairs = Counter(zip(labels[wrong].tolist(), answer[wrong].tolist(), strict=True))
    ordered = sorted(pairs.items(), key=lambda pair: (-pair[1], pair[0]))[:PAIRS]
    photos = np.bincount(labels, minlength=len(names))
    return [
        {"class": names[a], "answer": names[b], "times": n, "photos": int(photos[a])}
        for (a, b), n in ordered
    ]


def _mistakes(own: np.ndarray, found: Prediction, names: Sequence[str]) -> list[Mistake]:
    """Return the wrong answers; `own` is -1 for images of unknown classes."""
    answer = found.scores.argmax(1)
    wrong = [
        Mistake(
            number=i,
            label=names[own[i]],
            answer=names[answer[i]],
            probability=float(found.probabilities[i, answer[i]]),
            own=float(found.probabilities[i, own[i]]),
        )
        for i in np.flatnonzero((own >= 0) & (answer != own)).tolist()
    ]
    return sorted(wrong, key=lambda mistake: -mistake.probability)
