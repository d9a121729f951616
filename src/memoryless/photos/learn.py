"""memoryless learn: classes from folders of photos into a model."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

from memoryless.errors import DataError
from memoryless.images.duplicates import SEVERAL_LABELS, near_identical, several_labels
from memoryless.images.files import Photo
from memoryless.images.read import UnreadableError, remarks
from memoryless.model import Lesson, Model
from memoryless.model.database import model_file
from memoryless.model.description import State, check_history
from memoryless.model.file import load_state, writing
from memoryless.names import counted, first_ten, size
from memoryless.output import print_line, print_lines, reasons, say
from memoryless.photos.embedding import Embedded, Progress, embed, silent
from memoryless.photos.kept import kept_bytes, print_privacy
from memoryless.photos.plan import Plan, check_enough, make_plan, model_to_learn
from memoryless.progress import Display

# Measured on 40 kinds of birds, some of which were known: where half of a known kind's photos came
# as a new class, both numbers together told 87 % of these classes, and 11 % of truly new kinds.
# Of known kinds that got as many photos again (15 each), the first number and `Lesson.unlike`
# together told 98 of 100 whose new photos were of another kind, 74 of 100 where that was the most
# similar one, and 4 of 800 whose new photos were right.
TAKEN, RIGHT = 0.6, 0.7
"""A new class may be a known one if so many of its photos are taken for that one before it is
learned, and fewer than so many held-out ones are right afterwards; more photos of a known class may
be of another one if so many are taken for that."""
ALONE = (
    "no earlier state was kept, so memoryless undo cannot take this back: a photo's feature would "
    "be the difference of two states"
)


@dataclass(frozen=True)
class Outcome:
    """What learning the photos of a plan gave."""

    lesson: Lesson
    broken: dict[str, str]
    """Photos that could not be used, and why."""
    near: int
    """Photos that are nearly the same as another one."""
    size: int
    """Bytes of the files of all photos that were learned."""
    notes: list[str]
    warnings: list[str]
    """Reasons to go back."""


def learn_photos(
    plan: Plan,
    progress: Progress = silent,
    report: Callable[[Any], None] = lambda progress: None,
) -> Outcome:
    """Read all photos once and learn those that can be used, if these are enough."""
    sound, broken = _read_all(plan, progress)
    few = _check_left(plan, sound, broken)
    photos, facts = [one.photo for one in sound], [one.facts for one in sound]
    labels, rows = [str(one.label) for one in photos], np.stack([one.features for one in sound])
    groups = near_identical(np.array([fact.hash for fact in facts], dtype=np.uint64))
    taken = taken_for(plan.model, rows, labels) if plan.model.classes else {}
    lesson = plan.model.learn(rows, labels, groups=groups, report=report, more=bool(plan.more))
    new = {name: found for name, found in taken.items() if name in plan.new}
    return Outcome(
        lesson=lesson,
        broken=broken,
        near=int((np.bincount(groups)[groups] > 1).sum()),
        size=sum(fact.size for fact in facts),
        notes=[*few, *remarks(photos, facts), *across_classes(photos, groups)],
        warnings=[*_maybe_known(new, lesson), *_maybe_mislabelled(taken, plan.known, lesson)],
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
    """Raise if a class has too few photos that can be used; return warnings that the plan lacks."""
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
    said = check_enough(counts, plan.known, plan.few)
    return [sentence for sentence in said if sentence not in plan.warnings]


def across_classes(photos: Sequence[Photo], groups: np.ndarray) -> Iterator[str]:
    """Nearly the same photos in different classes: perhaps a mistake in the labels."""
    labels: dict[int, dict[str, str]] = {}
    for photo, group in zip(photos, groups.tolist(), strict=True):
        labels.setdefault(group, {}).setdefault(str(photo.label), photo.name)
    several = [" and ".join(names.values()) for names in labels.values() if len(names) > 1]
    if several:
        yield f"nearly the same photo in different classes: {first_ten(several)}"


def taken_for(
    model: Model, rows: np.ndarray, labels: Sequence[str]
) -> dict[str, tuple[str, int, int]]:
    """For each class the known one that most of its photos are taken for: name, how many, of how
    many.
    """
    found, names = model.judge(rows), np.array(labels)
    answer = np.where(found.known, found.scores.argmax(1), -1)
    taken = {}
    for name, count in sorted(Counter(labels).items()):
        (best, times), *_ = Counter(answer[names == name].tolist()).most_common(1)
        if best >= 0 and times >= TAKEN * count:
            taken[name] = (model.classes[best], times, count)
    return taken


def _maybe_known(taken: Mapping[str, tuple[str, int, int]], lesson: Lesson) -> Iterator[str]:
    """New classes that the model still takes for another, now that it has learned them."""
    for name, (known, times, count) in taken.items():
        right, held_out = lesson.right_by_class[name]
        if right < RIGHT * held_out:
            yield (
                f"{name} may be {known} under another name: {times} of its {count} photos were "
                f"taken for that one, and of {held_out} held-out ones {right} are right now; if "
                "so, go back"
            )


def _maybe_mislabelled(
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


def learn(
    model: Path,
    /,
    *photos: Path,
    dry_run: bool = False,
    few: bool = False,
    more: bool = False,
    forgettable: bool = False,
    train: bool = False,
    method: str | None = None,
    backbone: str | None = None,
    image_size: int | None = None,
    crop: float | None = None,
    mean: tuple[float, ...] | None = None,
    std: tuple[float, ...] | None = None,
    backbone_weights: Path | None = None,
    epochs: int | None = None,
    seed: int | None = None,
    device: str | None = None,
    history: int | None = None,
) -> int:
    """Learn new classes from photos. Creates MODEL if it does not exist.

    Prints a plan, then reads the photos. Only averages are stored, never a photo. Broken photos are
    left out and listed, and the exit code is then 1.

    Parameters
    ----------
    model
        File of the model; a name without a suffix gets .memoryless.
    photos
        Folders with a folder of photos for each class, a metadata.csv with the columns file_name
        and label, list files with lines "path label", or zips of these.
    dry_run
        Print the plan and stop; it counts files and reads only headers and a few photos.
    few
        Allow fewer than 5 photos per class or 20 in all. The model may then reveal which photos
        were used.
    more
        Add photos to classes that the model knows, as if all had come at once.
    forgettable
        Make a model that also keeps each class's own scatter, so that `forget` is exact. It takes
        more room and reveals more about single photos.
    train
        Train the backbone too, for pictures that are far from photographs; this takes long.
    method
        Method of a new model; fixed+lda by default, lwf_kd+lda+widened with --train.
    backbone
        Network of a new model: efficientnet-lite0, onnx:FILE, timm:NAME, or resnet18 with --train.
    image_size
        Side in pixels of the images that a new model's network reads; 224 by default, and 320 if
        half of the photos have 366 pixels or more on their shorter side.
    crop
        Share of a photo's central square that the network reads, 0.875 by default.
    mean
        Mean of each channel on the scale 0..1, for onnx:FILE.
    std
        Standard deviation of each channel on the scale 0..1, for onnx:FILE.
    backbone_weights
        File with weights of the network, .safetensors or .pth.
    epochs
        Epochs of each state with --train.
    seed
        Seed of all random draws.
    device
        auto, cpu, cuda or cuda:N; with --train also mps.
    history
        How many earlier states stay in the file for memoryless undo: 5 at first, then the number
        given last.
    """
    settings = {
        "method": method, "backbone": backbone, "image_size": image_size, "crop": crop,
        "mean": mean, "std": std, "backbone_weights": backbone_weights, "epochs": epochs,
        "seed": seed, "device": device, "forgettable": forgettable or None,
    }  # fmt: skip
    if history is not None:
        check_history(history)
    given = {name: value for name, value in settings.items() if value is not None}
    if dry_run:
        before = load_state(model) if model_file(model).exists() else None
        _print_plan(make_plan(model_to_learn(before, given, train), photos, few, more), model)
        return 0
    with writing(model) as writer:
        plan = make_plan(model_to_learn(writer.before, given, train), photos, few, more)
        _print_plan(plan, model)
        with Display("learning photos", len(plan.photos)) as bar:
            done = learn_photos(plan, bar, bar.training)
            saved = plan.model.save_in(writer, history)
    _print_outcome(plan, done, saved, model, photos)
    return 1 if done.broken else 0


def _print_plan(plan: Plan, folder: Path) -> None:
    model = plan.model
    knows = counted(len(model.classes), "class", "classes")
    print_line("model", f"{folder} knows {knows}" if model.classes else f"{folder} will be made")
    for place, layout in plan.layouts.items():
        print_line("reads", f"{place}: {layout}")
    if plan.new:
        print_line("learns", _listed("of", plan.new, "new class", "new classes"))
    if plan.more:
        print_line("adds", _listed("to", plan.more, "known class", "known classes"))
    if plan.skipped:
        print_line("skips", reasons(plan.skipped))
    print_lines("note", plan.notes)
    print_line("method", _method(model))
    if plan.large is not None:
        print_lines("size", [_size(plan.large)])
    print_line("time", _time(plan))
    if plan.bytes is not None:
        print_line("keeps", _keeps(plan))
    print_lines("warning", plan.warnings)


def _listed(where: str, counts: dict[str, int], one: str, several: str) -> str:
    listed = first_ten(f"{name} {number}" for name, number in counts.items())
    return f"{sum(counts.values()):,} photos {where} {counted(len(counts), one, several)}: {listed}"


def _keeps(plan: Plan) -> str:
    own = f", of which {size(plan.spread)} are each class's own scatter" if plan.spread else ""
    return f"{size(plan.bytes or 0)} in all{own}, and no photo"


def _size(large: float) -> str:
    """The image size of a new model, why, and the setting that changes it."""
    if large >= 0.5:
        return (
            f"320 pixels, because {large:.0%} of the photos are large enough (366 pixels on the "
            "shorter side); with `image_size=224` learning takes less than half the time"
        )
    return (
        f"224 pixels, because {large:.0%} of the photos are large enough for 320 (366 pixels on "
        "the shorter side); `image_size=320` sees more, in 2.6 times the time"
    )


def _method(model: Any) -> str:
    sees = f"at {model.settings.image_size or 224} pixels"
    if model.fixed:
        return f"{model.method} over {model.settings.backbone} {sees}, which is never trained"
    return f"{model.method}; {model.settings.backbone or 'ResNet-18'} {sees} is trained"


def _time(plan: Plan) -> str:
    if plan.seconds is None:
        return "minutes to hours: what is left is shown once training has begun"
    return f"about {duration(plan.seconds)} ({plan.rate:.0f} photos a second)"


def duration(seconds: float) -> str:
    """A time as people read it.

    >>> duration(0.4), duration(89.7), duration(3700), duration(86400)
    ('1 s', '90 s', '1:01:40', '1 day, 0:00:00')
    """
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return str(timedelta(seconds=round(seconds)))


def _print_outcome(
    plan: Plan, done: Outcome, saved: State, folder: Path, places: tuple[Path, ...]
) -> None:
    lesson, name = done.lesson, shlex.quote(str(folder))
    classes = len(saved.classes.names)
    alone = saved.number > 1 and saved.parent is None
    say("")
    print_line("learned", f"{_learned(plan)}: {folder} knows {classes:,} now")
    if done.broken:
        print_line("broken", f"left out {reasons(done.broken)}")
    print_line("held out", _held_out(lesson, classes, "these" if plan.more else "the new"))
    alike = [f"{a} and {b} ({share:.0%})" for a, b, share in lesson.alike]
    if alike:
        print_line("alike", f"classes most often taken for each other: {', '.join(alike)}")
    print_lines("note", done.notes)
    if done.near:
        print_line("repeats", f"{done.near:,} photos are nearly the same as another; these were "
                   "held out together")  # fmt: skip
    kept = kept_bytes(saved.description.record)
    print_line("kept", f"{kept}, and none of the photos, which take {size(done.size)}")
    way = "to a copy of the model" if alone else f"by memoryless undo {name}"
    print_lines("warning", [f"{warning} {way}" for warning in done.warnings])
    if alone:
        print_line("warning", ALONE)
    print_privacy(saved)
    print_line("next", _next(name, places))


def _learned(plan: Plan) -> str:
    """What was learned, such as "1 class, and more photos of 2"."""
    more = f"more photos of {counted(len(plan.more), 'class', 'classes')}" if plan.more else ""
    new = counted(len(plan.new), "class", "classes") if plan.new else ""
    return ", and ".join(filter(None, [new, more]))


def _held_out(lesson: Any, classes: int, which: str) -> str:
    if not lesson.held_out:
        return "none: there are too few photos to measure how good it is"
    if classes == 1:
        return "a model of one class cannot be wrong yet: learn another"
    share = 100 * lesson.right / lesson.held_out
    worst = sorted(
        ((right / n, name, right, n) for name, (right, n) in lesson.right_by_class.items() if n)
    )[:3]
    listed = ", ".join(f"{name} {right} of {n}" for part, name, right, n in worst if part < 1)
    return (
        f"{share:.1f} % right: {lesson.right:,} of {lesson.held_out:,} photos of {which} classes, "
        f"among all {classes:,} classes" + (f"; worst: {listed}" if listed else "")
    )


def _next(name: str, places: tuple[Path, ...]) -> str:
    """The command to type next: where there are test photos, how good the model is on them."""
    for place in places:
        if (place / "test").is_dir():
            return f"memoryless evaluate {name} {shlex.quote(str(place / 'test'))}"
    return f"memoryless predict {name} PHOTO"
