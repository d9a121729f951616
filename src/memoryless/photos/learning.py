"""Learn the photos of a plan, save the model, and tell what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from memoryless.data.photos import Photo
from memoryless.errors import DataError
from memoryless.photos.cautions import LEAST, too_few
from memoryless.photos.plan import Plan
from memoryless.photos.seeing import Progress, see, silent

if TYPE_CHECKING:
    from memoryless.model import Lesson, Model
    from memoryless.model.file import State, Writer

# Measured on 40 kinds of birds, some of which were known: where half of a known kind's photos came
# as a new class, both numbers together told 87 % of these classes, and 11 % of truly new kinds.
# Of known kinds that got as many photos again (15 each), the first number and `Lesson.unlike`
# together told 98 of 100 whose new photos were of another kind, 74 of 100 where that was the most
# similar one, and 4 of 800 whose new photos were right.
TAKEN, RIGHT = 0.6, 0.7
"""A new class may be a known one if so many of its photos are taken for that one before it is
learned, and fewer than so many held-out ones are right afterwards; more photos of a known class may
be of another one if so many are taken for that."""


@dataclass(frozen=True)
class Taught:
    """What came of a plan."""

    lesson: Lesson
    saved: State
    broken: dict[str, str]
    """Photos that could not be read, when they were glanced at or later."""
    warnings: list[str]


def carry_out(
    plan: Plan,
    writer: Writer,
    history: int | None = None,
    progress: Progress = silent,
    report: Callable[[Any], None] = lambda progress: None,
) -> Taught:
    """Look at all photos once, learn them, save the model."""
    lesson, broken, warnings = teach(plan, progress, report)
    return Taught(lesson, plan.model.save_in(writer, history), broken, warnings)


def teach(
    plan: Plan,
    progress: Progress = silent,
    report: Callable[[Any], None] = lambda progress: None,
) -> tuple[Lesson, dict[str, str], list[str]]:
    """Look at all photos once and learn them: gives the lesson, photos that could not be read, and
    warnings.
    """
    looks = list(see(plan.model, plan.photos, progress))
    sound = [i for i, look in enumerate(looks) if not isinstance(look, str)]
    late = {
        photo: look for photo, look in zip(plan.photos, looks, strict=True) if isinstance(look, str)
    }
    _check_left(plan, late)
    labels = [str(plan.photos[i].label) for i in sound]
    seen = np.stack([np.asarray(looks[i]) for i in sound])
    taken = taken_for(plan.model, seen, labels) if plan.model.classes else {}
    lesson = plan.model.learn(
        seen, labels, groups=plan.groups[sound], report=report, more=bool(plan.more)
    )
    named = {photo.name: why for photo, why in late.items()}
    new = {name: found for name, found in taken.items() if name in plan.new}
    warnings = [*look_alikes(new, lesson), *doubtful(taken, plan.known, lesson)]
    return lesson, plan.broken | named, warnings


def _check_left(plan: Plan, late: Mapping[Photo, str]) -> None:
    """Raise if photos have vanished since the plan, and too few different ones are left."""
    left = [(p, look) for p, look in zip(plan.photos, plan.looks, strict=True) if p not in late]
    for lost, why in late.items():
        different = {look.sha256 for photo, look in left if photo.label == lost.label}
        if len(different) < (1 if plan.few else LEAST):
            raise DataError(f"too few photos of {lost.label} are left: {why}")
    problem = too_few([p for p, _ in left], [look for _, look in left], plan.known)
    if late and problem and not plan.few:
        raise DataError(f"{problem} that can still be read: {next(iter(late.values()))}")


def taken_for(
    model: Model, seen: np.ndarray, labels: Sequence[str]
) -> dict[str, tuple[str, int, int]]:
    """For each class the known one that most of its photos are taken for: name, how many, of how
    many.
    """
    judged, names = model.judge(seen), np.array(labels)
    answer = np.where(judged.known, judged.scores.argmax(1), -1)
    found = {}
    for name, count in sorted(Counter(labels).items()):
        (best, times), *_ = Counter(answer[names == name].tolist()).most_common(1)
        if best >= 0 and times >= TAKEN * count:
            found[name] = (model.classes[best], times, count)
    return found


def look_alikes(taken: Mapping[str, tuple[str, int, int]], lesson: Lesson) -> Iterator[str]:
    """New classes that the model still takes for another, now that it has learned them."""
    for name, (known, times, count) in taken.items():
        right, held_out = lesson.right_by_class[name]
        if right < RIGHT * held_out:
            yield (
                f"{name} may be {known} under another name: {times} of its {count} photos were "
                f"taken for that one, and of {held_out} held-out ones {right} are right now; if "
                "so, go back"
            )


def doubtful(
    taken: Mapping[str, tuple[str, int, int]], known: Sequence[str], lesson: Lesson
) -> Iterator[str]:
    """Known classes whose new photos look like those of another one, or unlike those before."""
    other = {name: of for name, of in taken.items() if name in known and of[0] != name}
    for name, (instead, times, count) in other.items():
        yield (
            f"of the {count} new photos of {name} {times} were taken for {instead} before they "
            f"were learned, and count for the mean of {name} now: if they are of {instead}, or of "
            "a kind that needs a name of its own, go back"
        )
    for name, errors in lesson.unlike.items():
        if name not in other:
            yield (
                f"the new photos of {name} look unlike those before: the two means lie "
                f"{errors:.1f} standard errors apart, where chance gives about 1; one mean stands "
                "for both now, and may fit neither: if the new ones are of another kind, which "
                "needs a name of its own, or a mistake, go back"
            )
