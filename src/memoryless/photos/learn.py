"""memoryless learn: new classes from photos."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter

from memoryless.embed import WITH_LITE2
from memoryless.embed.preparation import LITE2_SIDE
from memoryless.errors import ConfigError
from memoryless.images.files import COLUMNS as TABLE_COLUMNS
from memoryless.images.read import remarks
from memoryless.model import LearningReport, Model, Suspect
from memoryless.model.database import model_file
from memoryless.model.description import State, check_history
from memoryless.model.file import load_state, writing
from memoryless.names import counted, first_ten, size
from memoryless.output import (
    command,
    paragraph,
    print_line,
    print_lines,
    print_next,
    print_rows,
    reasons,
    say,
    to_csv,
)
from memoryless.photos.doubts import larger_network, maybe_known, maybe_mislabelled, taken_for
from memoryless.photos.embedding import Progress, silent
from memoryless.photos.files import check_file
from memoryless.photos.kept import print_privacy
from memoryless.photos.plan import LEAST, Plan, make_plan, model_to_learn, none_known
from memoryless.photos.reading import Reading, TooFewError
from memoryless.progress import Display
from memoryless.store import write_bytes

LISTED = 24  # classes of a plan that are printed
NAMED = 5  # suspects and classes that are printed
COLUMNS = ("file", "class", "looks_like", "probability")
ALONE = (
    "no earlier state was kept, so undo cannot take this back: the difference of two states would "
    "give the feature of a photo"
)
CALIBRATED = (
    "temperature and threshold stay as evaluate --calibrate fitted them: calibrate again on photos "
    "of all classes"
)
REPEATS = (
    "photos of earlier calls cannot be recognised, because nothing is stored per photo. Those that "
    "come again count twice, so known classes get no accuracy"
)


@dataclass(frozen=True)
class Outcome:
    """The result of learning the photos of a plan."""

    plan: Plan
    """The plan as it was carried out."""
    late: dict[str, int]
    """Classes that turned out to have too few photos, and how many different ones each has."""
    report: LearningReport
    broken: dict[str, str]
    """Photos that could not be used, and why."""
    near: int
    """Photos that are nearly the same as another one; leave-one-out leaves these out together."""
    size: int
    """Bytes of the files of all photos that were learned."""
    notes: list[str]
    warnings: list[str]
    """Reasons to go back."""
    suspects: list[tuple[str, Suspect]]
    """Photos that may be in the wrong folder, by name, the least probable first."""

    @property
    def exit_code(self) -> int:
        """1 if photos or classes were left out, else 0."""
        return 1 if self.broken or self.plan.left_out else 0


def learn_photos(
    plan: Plan,
    progress: Progress = silent,
    training: Callable[[Any], None] = lambda done: None,
) -> Outcome:
    """Read photos, a chunk at a time, and learn those that can be used.

    Photos may turn out to be broken or repeated. A class that has too few others is left out, and
    all is read once more.
    """
    broken, late = dict[str, str](), dict[str, int]()
    while True:
        reading = Reading(plan, progress)
        try:
            report = reading.learn(training)
        except TooFewError as error:
            broken |= reading.broken
            late |= error.fields["classes"]
            plan = plan.without(error.fields["classes"])
        else:
            break
    taken = taken_for(plan.known, reading.answers)
    new = {name: found for name, found in taken.items() if name in plan.new}
    return Outcome(
        plan=plan,
        late=late,
        report=report,
        broken=broken | reading.broken,
        near=int((np.bincount(reading.alike)[reading.alike] > 1).sum()),
        size=reading.size,
        notes=[
            *(larger_network(plan.model.settings.backbone, report) if not plan.known else []),
            *reading.notes,
            *remarks([photo for photo, _ in reading.odd], [facts for _, facts in reading.odd]),
            *reading.across_classes(),
            *([CALIBRATED] if plan.model.calibrated else []),
        ],
        warnings=[*maybe_known(new, report), *maybe_mislabelled(taken, plan.known, report)],
        suspects=[(reading.learned[one.number].name, one) for one in report.suspects],
    )


def learn(
    model: Path,
    /,
    *photos: Path,
    dry_run: bool = False,
    allow_few: Annotated[bool, Parameter(name=("--allow-few", "--few"))] = False,
    more: bool = False,
    explain: bool = False,
    path_column: str = TABLE_COLUMNS[0],
    label_column: str = TABLE_COLUMNS[1],
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
    suspects: Path | None = None,
    force: bool = False,
) -> int:
    """Learn new classes from photos. Creates MODEL if it does not exist.

    Prints a plan, then reads the photos. Only averages are stored, never a photo. Broken photos and
    classes with too few photos are left out and listed, and the exit code is then 1.

    Parameters
    ----------
    model
        File of the model; a name without a suffix gets .memoryless.
    photos
        Folders with a folder of photos for each class, tables (.csv) of photos and their classes,
        list files with lines "path label", or zips of these.
    dry_run
        Print the plan and stop; it counts files and reads only their headers. With --suspects,
        photos are read to find those that may be in the wrong folder, and nothing is learned.
    explain
        Print more: method, image size, what is stored, and what it reveals about photos.
    allow_few
        Allow fewer than 5 photos per class or 20 in all. The model may then reveal which photos
        were used.
    more
        Add photos to classes that the model knows, as if all had come at once.
    path_column
        Column of a table that holds the paths of photos.
    label_column
        Column of a table that holds their classes.
    forgettable
        Make a model that also keeps each class's own scatter, so that `forget` is exact. It takes
        more room and reveals more about single photos.
    train
        Train the backbone too, for pictures that are far from photographs; this takes long.
    method
        Method of a new model; fixed+lda by default, lwf_kd+lda+widened with --train.
    backbone
        Network of a new model: efficientnet-lite0, efficientnet-lite0+lite2 to be more accurate in
        three times the time, onnx:FILE, timm:NAME, or resnet18 with --train.
    image_size
        Side in pixels of the images that a new model's network reads; 224 by default, and 320 if
        half of the photos have 366 pixels or more on their shorter side. Not for
        efficientnet-lite0+lite2.
    crop
        Share of the central square's side that the network reads, 0.875 by default.
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
        How many earlier states stay in the file for memoryless undo: 2 at first, then the number
        given last.
    suspects
        CSV file for all photos that may be in the wrong folder: file, class, looks_like and the
        probability of the class.
    force
        Replace a file that is there already and is no list of suspects.
    """
    settings = {
        "method": method, "backbone": backbone, "image_size": image_size, "crop": crop,
        "mean": mean, "std": std, "backbone_weights": backbone_weights, "epochs": epochs,
        "seed": seed, "device": device, "forgettable": forgettable or None,
    }  # fmt: skip
    if history is not None:
        check_history(history)
    given = {name: value for name, value in settings.items() if value is not None}
    if suspects:
        check_file(suspects, "suspects", ",".join(COLUMNS), "list of suspects", force)
    _check_order(model, photos)

    def planned(before: State | None) -> Plan:
        learner = model_to_learn(before, given, train)
        if suspects:
            learner.check_sums("find photos in the wrong folder")
        plan = make_plan(learner, photos, allow_few, more, (path_column, label_column))
        if more and not plan.more:
            plan.warnings.extend(none_known(plan.new, plan.known))
        _print_plan(plan, model, explain)
        return plan

    if dry_run:
        plan = planned(load_state(model) if model_file(model).exists() else None)
        if suspects:
            return _try_out(plan, suspects)
        return 1 if plan.left_out else 0
    with writing(model) as writer:
        plan = planned(writer.before)
        with Display("learning photos", len(plan.photos)) as bar:
            done = learn_photos(plan, bar, bar.training)
            saved = done.plan.model.save_in(writer, history)
    _print_outcome(done, saved, model, explain)
    _print_suspects(done, suspects)
    tests = [place / "test" for place in photos if (place / "test").is_dir()]
    print_next("evaluate", model, tests[0] if tests else "TEST_PHOTOS")
    return done.exit_code


def _check_order(model: Path, photos: Sequence[Path]) -> None:
    """Raise if a folder of photos is named as the model, and a model as the photos."""
    if model.is_dir() and photos and not any(place.exists() for place in photos):
        meant = command("learn", *photos, model)
        raise ConfigError(
            f"the model comes first, and {model} is a folder: did you mean {meant}?",
            meant=meant,
        )


def _try_out(plan: Plan, suspects: Path) -> int:
    """Learn into a model that is not saved, to find suspects; return the exit code."""
    with Display("reading photos", len(plan.photos)) as bar:
        done = learn_photos(plan, bar)
    say(_accuracy(done))
    _print_found(done)
    _print_suspects(done, suspects)
    say("Nothing was learned: type the same without --dry-run to learn.")
    return done.exit_code


def _print_plan(plan: Plan, file: Path, explain: bool) -> None:
    model, known = plan.model, counted(len(plan.model.classes), "class", "classes")
    new = [counted(len(plan.new), "new class", "new classes")] * bool(plan.new)
    more = [counted(len(plan.more), "known class", "known classes")] * bool(plan.more)
    classes = " and ".join([*new, *more])
    time = "minutes to hours" if plan.seconds is None else duration(plan.seconds)
    photos = counted(sum(plan.counts.values()), "photo", "photos")
    where = f"{file} knows {known}" if model.classes else f"{file} is new"
    paragraph(f"Learning {photos} of {classes} ({where}). About {time}.")
    listed = [f"{name} {number}" for name, number in plan.counts.items()]
    more_names = [f"and {len(listed) - LISTED:,} more"] * (len(listed) > LISTED)
    paragraph("   ".join([*listed[:LISTED], *more_names]), 2)
    if plan.bytes is not None:
        own = f", {size(plan.spread)} of it to forget exactly" if plan.spread else ""
        print_line("stores", f"{size(plan.bytes)} of class statistics{own}")
    if plan.skipped:
        print_line("skipped", reasons(plan.skipped))
    _print_left_out(plan.left_out, plan.allow_few)
    print_lines("note", plan.notes)
    if plan.more:
        print_line("repeats", REPEATS)
    print_lines("warning", plan.warnings)
    if explain:
        for place, layout in plan.layouts.items():
            print_line("reads", f"{place}: {layout}")
        print_line("method", _method(model))
        if plan.large is not None:
            print_lines("size", [_size(plan.large, model.settings.backbone)])


def _print_left_out(classes: Mapping[str, int], allow_few: bool) -> None:
    if classes:
        has = first_ten(f"{name} has {n}" for name, n in classes.items())
        needed = "1 photo is" if allow_few else f"{LEAST} different photos are"
        print_line("left out", f"{has}, where {needed} needed" + " (--allow-few)" * (not allow_few))


def _size(large: float, backbone: str | None) -> str:
    """Say the image size of a new model, why, and which setting changes it, if any does."""
    if large >= 0.5:
        chosen = (
            f"320 pixels: {large:.0%} of the photos are large enough (366 pixels on the shorter "
            "side)"
        )
        other = "With `image_size=224` learning takes less than half the time"
    else:
        chosen = (
            f"224 pixels: {large:.0%} of the photos are large enough for 320 (366 pixels on the "
            "shorter side)"
        )
        other = "With `image_size=320` learning takes 2.6 times as long"
    if backbone == WITH_LITE2:
        other = f"The second network sees {LITE2_SIDE} pixels"
    return f"{chosen}. {other}"


def _method(model: Model) -> str:
    size = f"at {model.settings.image_size or 224} pixels"
    if model.fixed:
        return f"{model.method} over {model.settings.backbone} {size}, which is never trained"
    return f"{model.method}; {model.settings.backbone or 'ResNet-18'} {size} is trained"


def duration(seconds: float) -> str:
    """Return a time as people read it.

    >>> duration(0.4), duration(89.7), duration(3700), duration(86400)
    ('1 s', '90 s', '1:01:40', '1 day, 0:00:00')
    """
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return str(timedelta(seconds=round(seconds)))


def _print_outcome(done: Outcome, saved: State, file: Path, explain: bool) -> None:
    plan, alone = done.plan, saved.number > 1 and saved.parent is None
    known = counted(len(plan.model.classes), "class", "classes")
    photos = counted(sum(plan.model.counts), "photo", "photos")
    accuracy = _accuracy(done) if plan.new else f"All their photos: {photos}."
    paragraph(f"Done: {file} knows {known}. {accuracy}")
    _print_found(done)
    if done.warnings:
        way = "undo a copy of the model" if alone else command("undo", file)
        if saved.number == 1:
            way = f"delete {model_file(file)}"
        print_lines("warning", done.warnings)
        print_line("go back", way)
    if alone:
        print_line("warning", ALONE)
    size_of_file = size(saved.path.stat().st_size)
    print_line("file", f"{model_file(file)}, {size_of_file} (the photos: {size(done.size)})")
    print_privacy(saved, explain)


def _print_found(done: Outcome) -> None:
    """Print facts about the photos and classes."""
    report, new = done.report, done.plan.new
    weak = sorted(
        (correct / n, name, f"{name} {correct} of {n}")
        for name, (correct, n) in report.correct_by_class.items()
        if n and name in new and correct < n
    )
    if weak and len(done.plan.model.classes) > 1:
        print_line("weakest", ", ".join(text for *_, text in weak[:NAMED]))
    if confused := [
        f"{a} and {b} ({wrong} of {of})" for a, b, wrong, of in report.confused if {a, b} & {*new}
    ]:
        print_line("confused", ", ".join(confused))
    _print_left_out(done.late, done.plan.allow_few)
    if done.broken:
        print_line("broken", f"left out {reasons(done.broken, 'photo', 'photos')}")
    print_lines("note", done.notes)
    if done.near:
        near = counted(done.near, "photo is", "photos are")
        print_line("repeats", f"{near} nearly equal to another; each was checked without the other")


def _print_suspects(done: Outcome, file: Path | None) -> None:
    """Print the first photos that may be in the wrong folder, and write all of them as CSV."""
    if done.suspects:
        number = counted(len(done.suspects), "photo", "photos")
        paragraph(f"{number} may be in the wrong folder:")
        print_rows([
            (name, f"in {one.label}", f"looks like {one.looks_like}")
            for name, one in done.suspects[:NAMED]
        ])  # fmt: skip
        if len(done.suspects) > NAMED and not file:
            paragraph("All of them: --suspects FILE.csv", 2)
    if file:
        rows = [
            dict(zip(COLUMNS, (name, one.label, one.looks_like, one.probability), strict=True))
            for name, one in done.suspects
        ]
        write_bytes(file, to_csv(rows, COLUMNS).encode(), "`suspects`")
        print_line("written", f"{file}: {counted(len(done.suspects), 'suspect', 'suspects')}")


def _accuracy(done: Outcome) -> str:
    """Say how many photos of new classes are correct, each scored by the model without it."""
    report, plan = done.report, done.plan
    if len(plan.model.classes) == 1:
        return "A model of one class has no accuracy: learn another."
    pairs = [pair for name, pair in report.correct_by_class.items() if name in plan.new]
    correct, checked = sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)
    if not checked:
        return "Too few photos to measure the accuracy."
    way = "Leave-one-out" if plan.model.fixed else "Held-out photos"
    return f"{way}: {correct:,} of {checked:,} photos correct ({100 * correct / checked:.1f} %)."
