"""Learn the photos of a plan, save the model, and tell what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from memoryless.errors import DataError
from memoryless.photos.place import save
from memoryless.photos.plan import LEAST, Plan
from memoryless.photos.seeing import Progress, see, silent

if TYPE_CHECKING:
    from memoryless.model import Lesson, Model
    from memoryless.model_folder import Place, Saved

# Half of the photos of a bird, learned as a class of their own, were taken for the other half's
# class in 47 to 100 % of cases, other species in up to 97 %: those look alike, most others less.
SIMILAR = 0.8


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
    seen = np.stack([np.asarray(looks[i]) for i in sound])
    warnings = list(look_alikes(plan.model, seen, labels)) if plan.model.classes else []
    lesson = plan.model.learn(seen, labels, groups=plan.groups[sound], report=report)
    saved = save(place, plan.model, history)
    return Taught(lesson, saved, plan.broken | late, warnings)


def _check_left(counts: Mapping[str, int], labels: Sequence[str], late: Mapping[str, str]) -> None:
    """Raise if photos have vanished since the plan, and a class has too few left."""
    left = Counter(labels)
    for name, count in counts.items():
        if left[name] < min(count, LEAST):
            raise DataError(f"too few photos of {name} are left: {next(iter(late.values()))}")


def look_alikes(model: Model, seen: np.ndarray, labels: Sequence[str]) -> Iterator[str]:
    """New classes nearly all of whose photos the model, as it is, takes for one that it knows."""
    judged, names = model.judge(seen), np.array(labels)
    answer = np.where(judged.known, judged.scores.argmax(1), -1)
    for name, count in sorted(Counter(labels).items()):
        (taken, times), *_ = Counter(answer[names == name].tolist()).most_common(1)
        if taken >= 0 and times >= SIMILAR * count:
            yield (
                f"{times} of {count} photos of {name} were taken for {model.classes[taken]} before "
                f"{name} was learned: if they are the same class, go back"
            )
