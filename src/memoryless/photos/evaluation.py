"""How well a model does on photos with labels: numbers, and the worst mistakes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from memoryless.errors import DataError
from memoryless.images.read import Photo, UnreadableError
from memoryless.names import first_ten
from memoryless.photos.seeing import Progress, Verdict, judge, silent
from memoryless.stats.metrics import accuracy_at, auroc, calibration_error, ranks

if TYPE_CHECKING:
    from memoryless.model import Model

PAIRS = 10  # of classes, most confused, that are named


@dataclass(frozen=True)
class Mistake:
    """A photo that was put into a wrong class."""

    photo: Photo
    answer: str
    probability: float
    """Of the answer."""
    own: float
    """The probability of the photo's own class; 0 where the model does not know it."""


@dataclass(frozen=True)
class Evaluation:
    """Numbers over the photos of known classes, in percent, and what is left of the others."""

    photos: int
    top1: float
    top5: float
    ece: float
    """Expected calibration error."""
    accepted: float
    """The share of these photos that the model says it knows."""
    states: list[dict[str, Any]]
    """The first state is 1."""
    classes: list[dict[str, Any]]
    """Worst first."""
    confused: list[dict[str, Any]]
    """Pairs of a class and what its photos were taken for, most often first."""
    unknown: dict[str, int]
    """Photos of each class that the model does not know."""
    auroc: float | None
    """Known against unknown classes, where there are photos of these."""
    rejected: float | None
    """The share of photos of unknown classes that the model says it does not know."""
    broken: dict[str, str]
    mistakes: list[Mistake]
    """Those of known classes, the surest first."""

    def as_json(self) -> dict[str, Any]:
        hidden = ("mistakes",)
        return {key: value for key, value in vars(self).items() if key not in hidden}


def evaluate(model: Model, photos: Sequence[Photo], progress: Progress = silent) -> Evaluation:
    """Judge photos, and compare with their labels."""
    here = {photo.label for photo in photos} & set(model.classes)
    if not here:
        theirs = first_ten(sorted({str(photo.label) for photo in photos}))
        raise DataError(
            f"the model knows none of the classes there ({theirs}): it knows "
            f"{first_ten(model.classes)}"
        )
    judged = list(zip(photos, judge(model, photos, progress), strict=True))
    sound = [(photo, v) for photo, v in judged if not isinstance(v, UnreadableError)]
    broken = {photo.name: str(v) for photo, v in judged if isinstance(v, UnreadableError)}
    if not any(photo.label in here for photo, _ in sound):
        raise DataError(f"no photo of a known class can be read: {next(iter(broken.values()))}")
    return _numbers(model, sound, broken)


def _numbers(
    model: Model, sound: Sequence[tuple[Photo, Verdict]], broken: dict[str, str]
) -> Evaluation:
    index = {name: i for i, name in enumerate(model.classes)}
    inside = [(photo, v) for photo, v in sound if photo.label in index]
    outside = [(photo, v) for photo, v in sound if photo.label not in index]
    labels = np.array([index[str(photo.label)] for photo, _ in inside])
    scores = np.stack([v.scores for _, v in inside])
    rank, answer = ranks(scores, labels), scores.argmax(1)
    margins = [np.array([v.margin for _, v in part]) for part in (inside, outside)]
    return Evaluation(
        photos=len(inside),
        top1=accuracy_at(rank, 1),
        top5=accuracy_at(rank, min(5, len(index))),
        ece=calibration_error(np.stack([v.probabilities for _, v in inside]), labels),
        accepted=100 * float((margins[0] >= 0).mean()),
        states=_by_state(labels, rank, np.array(model.class_state)),
        classes=_by_class(labels, rank, model.classes, model.class_state),
        confused=_confused(labels, answer, model.classes),
        unknown=dict(sorted(Counter(str(photo.label) for photo, _ in outside).items())),
        auroc=auroc(*margins) if outside else None,
        rejected=100 * float((margins[1] < 0).mean()) if outside else None,
        broken=broken,
        mistakes=_mistakes(inside, labels, answer, model.classes),
    )


def _by_state(
    labels: np.ndarray, rank: np.ndarray, class_state: np.ndarray
) -> list[dict[str, Any]]:
    """Accuracies over the photos of each state's classes, among all classes."""
    state = class_state[labels]
    return [
        {
            "state": int(s) + 1,
            "classes": len(set(labels[state == s].tolist())),
            "photos": int((state == s).sum()),
            "top1": accuracy_at(rank[state == s], 1),
        }
        for s in np.unique(state)
    ]


def _by_class(
    labels: np.ndarray, rank: np.ndarray, names: Sequence[str], class_state: Sequence[int]
) -> list[dict[str, Any]]:
    rows = [
        {
            "class": names[c],
            "state": int(class_state[c]) + 1,
            "photos": int((labels == c).sum()),
            "top1": accuracy_at(rank[labels == c], 1),
        }
        for c in np.unique(labels)
    ]
    return sorted(rows, key=lambda row: (row["top1"], row["class"]))


def _confused(labels: np.ndarray, answer: np.ndarray, names: Sequence[str]) -> list[dict[str, Any]]:
    wrong = labels != answer
    pairs = Counter(zip(labels[wrong].tolist(), answer[wrong].tolist(), strict=True))
    ordered = sorted(pairs.items(), key=lambda pair: (-pair[1], pair[0]))[:PAIRS]
    photos = np.bincount(labels, minlength=len(names))
    return [
        {"class": names[a], "taken_for": names[b], "times": n, "photos": int(photos[a])}
        for (a, b), n in ordered
    ]


def _mistakes(
    inside: Sequence[tuple[Photo, Verdict]],
    labels: np.ndarray,
    answer: np.ndarray,
    names: Sequence[str],
) -> list[Mistake]:
    wrong = [
        Mistake(photo, names[a], float(v.probabilities[a]), float(v.probabilities[c]))
        for (photo, v), c, a in zip(inside, labels, answer, strict=True)
        if a != c
    ]
    return sorted(wrong, key=lambda mistake: -mistake.probability)
