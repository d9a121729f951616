"""memoryless learn: classes from folders of photos into a model."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memoryless.model import Model
    from memoryless.model.file import State
    from memoryless.photos.learning import Taught
    from memoryless.photos.plan import Plan

ALONE = (
    "no earlier state was kept, so memoryless undo cannot take this back: a photo's feature would "
    "be the difference of two states"
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
    """Learn classes from photos; MODEL is made, or gets one more state.

    First a plan is printed. Then each photo is read once, and none is kept: what stays is averages.
    Broken photos are left out and listed, and the exit code is then 1.

    Parameters
    ----------
    model
        File of the model; a name without a suffix gets .memoryless.
    photos
        Folders with a folder of photos for each class, a metadata.csv with the columns file_name
        and label, list files with lines "path label", or zips of these.
    dry_run
        Print the plan and stop; it counts files, and reads no more than headers and a few photos.
    few
        Learn fewer than 5 photos of a class or 20 in all, although these can be traced back.
    more
        Add photos to classes that the model knows: it is then as if all had come at once.
    forgettable
        Make a model that also keeps each class's own scatter, so that a class can be forgotten as
        if it had never been; it takes more room and tells more of single photos.
    train
        Train the backbone too, for pictures that are far from photographs; this takes long.
    method
        Method of a new model; fixed+lda by default, lwf_kd+lda+widened with --train.
    backbone
        Network of a new model: efficientnet-lite0, onnx:FILE, timm:NAME, or resnet18 with --train.
    image_size
        Side in pixels of what the network of a new model sees; 224 by default, and 320 if half of
        the photos have 366 pixels or more on their shorter side.
    crop
        Share of a photo's central square that the network sees, 0.875 by default.
    mean
        Mean of each channel on the scale 0..1, for onnx:FILE.
    std
        Standard deviation of each channel, likewise.
    backbone_weights
        File with weights of the network, .safetensors or .pth.
    epochs
        Epochs of each state with --train.
    seed
        Seed of everything that is drawn.
    device
        auto, cpu, cuda or cuda:N; with --train also mps.
    history
        How many earlier states stay in the file for memoryless undo: 5 at first, and then as
        many as were asked for last.
    """
    from memoryless.model.description import check_history
    from memoryless.photos.learning import carry_out
    from memoryless.photos.place import model_to_teach, teaching
    from memoryless.photos.plan import make_plan
    from memoryless.progress import Display

    settings = {
        "method": method, "backbone": backbone, "image_size": image_size, "crop": crop,
        "mean": mean, "std": std, "backbone_weights": backbone_weights, "epochs": epochs,
        "seed": seed, "device": device, "forgettable": forgettable or None,
    }  # fmt: skip
    if history is not None:
        check_history(history)
    given = {name: value for name, value in settings.items() if value is not None}

    def plan_of(taught: Model) -> Plan:
        plan = make_plan(taught, photos, few, more)
        _tell_plan(plan, model)
        return plan

    if dry_run:
        plan_of(model_to_teach(model, given, train))
        return 0
    with teaching(model, given, train) as (writer, taught):
        plan = plan_of(taught)
        with Display("learning photos", len(plan.photos)) as bar:
            done, saved = carry_out(plan, writer, history, bar, bar.training)
    _tell_result(plan, done, saved, model, photos)
    return 1 if done.broken else 0


def _tell_plan(plan: Plan, file: Path) -> None:
    from memoryless.cli.wording import reasons, tell, tell_each
    from memoryless.images.dataset import counted
    from memoryless.names import as_flags

    model = plan.model
    knows = counted(len(model.classes), "class", "classes")
    tell("model", f"{file} knows {knows}" if model.classes else f"{file} will be made")
    for place, layout in plan.layouts.items():
        tell("reads", f"{place}: {layout}")
    if plan.new:
        tell("learns", _listed("of", plan.new, "new class", "new classes"))
    if plan.more:
        tell("adds", _listed("to", plan.more, "known class", "known classes"))
    if plan.skipped:
        tell("skips", reasons(plan.skipped))
    tell_each("note", map(as_flags, plan.notes))
    tell("method", _method(model))
    if plan.large is not None:
        tell("size", as_flags(_size(plan.large)))
    tell("time", _time(plan))
    if plan.bytes is not None:
        tell("keeps", _keeps(plan))
    tell_each("warning", map(as_flags, plan.warnings))


def _listed(where: str, counts: dict[str, int], one: str, several: str) -> str:
    from memoryless.images.dataset import counted
    from memoryless.names import first_ten

    listed = first_ten(f"{name} {number}" for name, number in counts.items())
    return f"{sum(counts.values()):,} photos {where} {counted(len(counts), one, several)}: {listed}"


def _keeps(plan: Plan) -> str:
    from memoryless.cli.wording import size

    own = f", of which {size(plan.spread)} are each class's own scatter" if plan.spread else ""
    return f"{size(plan.bytes or 0)} in all{own}, and no photo"


def _size(large: float) -> str:
    """What the network of a new model sees, why, and the setting that decides otherwise."""
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
    from memoryless.cli.wording import duration

    if plan.seconds is None:
        return "minutes to hours: what is left is shown once training has begun"
    return f"about {duration(plan.seconds)} ({plan.rate:.0f} photos a second)"


def _tell_result(
    plan: Plan, done: Taught, saved: State, file: Path, places: tuple[Path, ...]
) -> None:
    from memoryless.cli.output import say
    from memoryless.cli.wording import reasons, size, tell, tell_each
    from memoryless.model.card import parts_kept, privacy
    from memoryless.names import as_flags

    lesson, name = done.lesson, shlex.quote(str(file))
    about, classes = saved.description, len(saved.classes.names)
    alone = saved.number > 1 and saved.parent is None
    say("")
    tell("learned", f"{_learned(plan)}: {file} knows {classes:,} now")
    if done.broken:
        tell("broken", f"left out {reasons(done.broken)}")
    tell("held out", _held_out(lesson, classes, "these" if plan.more else "the new"))
    alike = [f"{a} and {b} ({share:.0%})" for a, b, share in lesson.alike]
    if alike:
        tell("alike", f"classes that are taken for each other most: {', '.join(alike)}")
    tell_each("note", map(as_flags, done.notes))
    if done.near:
        tell("repeats", f"{done.near:,} photos are nearly the same as another; such were held out "
             "together")  # fmt: skip
    ledger = ", ".join(
        f"{part} {size(number)}" for part, number in parts_kept(about.record).items()
    )
    kept = f"{size(about.kept)} ({ledger})"
    tell("kept", f"{kept}, and none of the photos, which take {size(done.size)}")
    way = "to a copy of the model" if alone else f"by memoryless undo {name}"
    warned = [f"{warning} {way}" for warning in done.warnings]
    tell_each("warning", warned)
    if alone:
        tell("warning", ALONE)
    say("")
    for sentence in privacy(saved):
        say(sentence)
    say("")
    tell("next", _next(name, places))


def _learned(plan: Plan) -> str:
    """What was learned, such as "1 class, and more photos of 2"."""
    from memoryless.images.dataset import counted

    more = f"more photos of {counted(len(plan.more), 'class', 'classes')}" if plan.more else ""
    new = counted(len(plan.new), "class", "classes") if plan.new else ""
    return ", and ".join(filter(None, [new, more]))


def _held_out(lesson: Any, classes: int, which: str) -> str:
    if not lesson.held_out:
        return "none: there are too few photos to measure how good it is"
    if classes == 1:
        return "a model of one class cannot be wrong yet: teach it another"
    share = 100 * lesson.right / lesson.held_out
    worst = sorted(
        ((right / n, name, right, n) for name, (right, n) in lesson.right_by_class.items() if n)
    )[:3]
    told = ", ".join(f"{name} {right} of {n}" for part, name, right, n in worst if part < 1)
    return (
        f"{share:.1f} % right: {lesson.right:,} of {lesson.held_out:,} photos of {which} classes, "
        f"among all {classes:,} classes" + (f"; worst: {told}" if told else "")
    )


def _next(name: str, places: tuple[Path, ...]) -> str:
    """The command to type next: where there are test photos, how good the model is on them."""
    for place in places:
        if (place / "test").is_dir():
            return f"memoryless evaluate {name} {shlex.quote(str(place / 'test'))}"
    return f"memoryless predict {name} PHOTO"
