"""Learn the photos of a plan, save the model, and tell what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from memoryless.errors import DataError
from memoryless.photos.plan import LEAST, Plan
from memoryless.photos.seeing import Progress, see, silent

if TYPE_CHECKING:
    from memoryless.model import Lesson
    from memoryless.model_folder import Place, Saved

SIMILAR = 0.25
"""The share of photos expected to be mistaken, of at most a half, from which two classes may be
one."""


@dataclass(frozen=True)
class Taught:
    """What came of a plan."""

    lesson: Lesson
    saved: Saved
    broken: dict[str, str]
    """Photos that could not be read, when they were glanced at or later."""
    warnings: list[str]


def carry_out(
    plan: Plan,
    place: Place,
    history: int = 5,
    progress: Progress = silent,
    report: Callable[[Any], None] = lambda progress: None,
) -> Taught:
    """Look at all photos once, learn them, save the model."""
    looks = list(see(plan.model, plan.photos, progress))
    sound = [i for i, look in enumerate(looks) if not isinstance(look, str)]
    late = {
        photo.name: look
        for photo, look in zip(plan.photos, looks, strict=True)
        if isinstance(look, str)
    }
    labels = [str(plan.photos[i].label) for i in sound]
    _check_left(plan.counts, labels, late)
    known = set(plan.model.classes)
    lesson = plan.model.learn(
        np.stack([np.asarray(looks[i]) for i in sound]),
        labels,
        groups=plan.groups[sound],
        report=report,
    )
    saved = place.save(*plan.model._stored(), history)
    return Taught(lesson, saved, plan.broken | late, _warnings(lesson.alike, known))


def _check_left(
    counts: Mapping[str, int], labels: Sequence[str], late: Mapping[str, str]
) -> None:
    """Raise if photos have vanished since the plan, and a class has too few left."""
    left = Counter(labels)
    for name, count in counts.items():
        if left[name] < min(count, LEAST):
            raise DataError(f"too few photos of {name} are left: {next(iter(late.values()))}")


def _warnings(alike: Sequence[tuple[str, str, float]], known: set[str]) -> list[str]:
    """What looks like a class that was known already."""
    pairs = [(*sorted(pair, key=lambda name: name in known), share) for *pair, share in alike]
    return [
        f"{new} looks like {old}, which the model knew: if they are the same class, take {new} back"
        for new, old, share in pairs
        if share >= SIMILAR and old in known
    ]
