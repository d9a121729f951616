"""Learn the photos of a plan, save the model, and tell what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from memoryless.errors import DataError
from memoryless.images.dataset import counted
from memoryless.images.duplicates import SEVERAL_LABELS, near_identical, several_labels
from memoryless.images.read import UnreadableError, remarks
from memoryless.names import first_ten
from memoryless.photos.cautions import across_classes, check_enough, too_few
from memoryless.photos.plan import Plan
from memoryless.photos.seeing import Embedded, Progress, embed, silent

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
    broken: dict[str, str]
    """Photos that could not be used, and why."""
    near: int
    """Photos that are nearly the same as another one."""
    size: int
    """Bytes of the files of all photos that were learned."""
    notes: list[str]
    warnings: list[str]
    """What speaks for going back."""


def carry_out(
    plan: Plan,
    writer: Writer,
    history: int | None = None,
    progress: Progress = silent,
    report: Callable[[Any], None] = lambda progress: None,
) -> tuple[Taught, State]:
    """Read all photos once, learn them, save the model."""
    taught = teach(plan, progress, report)
    return taught, plan.model.save_in(writer, history)


def teach(
    plan: Plan,
    progress: Progress = silent,
    report: Callable[[Any], None] = lambda progress: None,
) -> Taught:
    """Read all photos once and learn those that can be used, if these are enough."""
    sound, broken = _read_all(plan, progress)
    few = _check_left(plan, sound, broken)
    photos, facts = [one.photo for one in sound], [one.facts for one in sound]
    labels, looks = [str(photo.label) for photo in photos], np.stack([one.look for one in sound])
    groups = near_identical(np.array([fact.hash for fact in facts], dtype=np.uint64))
    taken = taken_for(plan.model, looks, labels) if plan.model.classes else {}
    lesson = plan.model.learn(looks, labels, groups=groups, report=report, more=bool(plan.more))
    new = {name: found for name, found in taken.items() if name in plan.new}
    return Taught(
        lesson=lesson,
        broken=broken,
        near=int((np.bincount(groups)[groups] > 1).sum()),
        size=sum(fact.size for fact in facts),
        notes=[*few, *remarks(photos, facts), *across_classes(photos, groups)],
        warnings=[*look_alikes(new, lesson), *doubtful(taken, plan.known, lesson)],
    )


def _read_all(plan: Plan, progress: Progress) -> tuple[list[Embedded], dict[str, str]]:
    """Read the photos of a plan: those that can be used, and why others cannot."""
    left = [photo for photo in plan.photos if photo not in plan.trial]
    read = embed(plan.model, left, lambda done: progress(len(plan.trial) + done))
    found = plan.trial | dict(zip(left, read, strict=True))
    each = [found[photo] for photo in plan.photos]
    sound = [one for one in each if isinstance(one, Embedded)]
    broken = {one.name: one.why for one in each if isinstance(one, UnreadableError)}
    unsure = several_labels((str(one.photo.label), one.facts.sha256) for one in sound)
    broken |= {one.photo.name: SEVERAL_LABELS for one in sound if one.facts.sha256 in unsure}
    return [one for one in sound if one.facts.sha256 not in unsure], broken


def _check_left(plan: Plan, sound: Sequence[Embedded], broken: Mapping[str, str]) -> list[str]:
    """Raise if a class has no photo that can be used, or different ones are too few; return what
    that means where it is allowed and the plan did not say so.
    """
    different = {(str(one.photo.label), one.facts.sha256) for one in sound}
    counts = dict(sorted(Counter(label for label, _ in different).items()))
    lost = {
        photo.label: f"{photo.label} ({photo.name}: {broken[photo.name]})"
        for photo in plan.photos
        if photo.label not in counts
    }
    if lost:
        raise DataError(
            f"{counted(len(lost), 'class has', 'classes have')} no photo that can be used: "
            f"{first_ten(lost.values())}; add photos, or take "
            f"{'the class' if len(lost) == 1 else 'these classes'} out"
        )
    said = check_enough(too_few(counts, plan.known), plan.few)
    return [sentence for sentence in said if sentence not in plan.warnings]


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
