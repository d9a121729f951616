"""memoryless learn: classes from folders of photos into a model."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter

from memoryless.embed import LITE2_SIDE, WITH_LITE2
from memoryless.errors import DataError
from memoryless.images.duplicates import SEVERAL_LABELS, near_identical, under_several_labels
from memoryless.images.files import Photo
from memoryless.images.read import Facts, UnreadableError, remarks
from memoryless.model import LearningReport, Model, Suspect
from memoryless.model.database import model_file
from memoryless.model.description import State, check_history
from memoryless.model.file import load_state, writing
from memoryless.model.model import CHUNK
from memoryless.names import counted, first_ten, size
from memoryless.output import command, print_line, print_lines, reasons, say, to_csv
from memoryless.photos.doubts import (
    Answers,
    count_answers,
    larger_network,
    maybe_known,
    maybe_mislabelled,
    taken_for,
)
from memoryless.photos.embedding import Embedded, Progress, embed, silent
from memoryless.photos.files import check_file
from memoryless.photos.kept import kept_bytes, print_privacy
from memoryless.photos.plan import (
    LEAST_IN_ALL,
    Plan,
    check_enough,
    make_plan,
    model_to_learn,
    none_known,
)
from memoryless.progress import Display
from memoryless.store import write_bytes

SHOWN = 30  # photos; a share of fewer may be off by ten points and more, and is not printed
NAMED = 10  # suspects; more stand in the file alone
COLUMNS = ("file", "class", "looks_like", "probability")
ALONE = (
    "no earlier state was kept, so memoryless undo cannot take this back: a photo's feature would "
    "follow from it, or from the difference of two states"
)
CALIBRATED = (
    "temperature and threshold stay as `memoryless evaluate --calibrate` fitted them, in units of "
    "the spread of scores: calibrate again on photos of all classes"
)


@dataclass(frozen=True)
class Outcome:
    """What learning the photos of a plan gave."""

    report: LearningReport
    broken: dict[str, str]
    """Photos that could not be used, and why."""
    near: int
    """Photos that are nearly the same as another one."""
    size: int
    """Bytes of the files of all photos that were learned."""
    notes: list[str]
    warnings: list[str]
    """Reasons to go back."""
    suspects: list[tuple[str, Suspect]]
    """Photos that may be in the wrong folder by their names, the least probable first."""


def learn_photos(
    plan: Plan,
    progress: Progress = silent,
    training: Callable[[Any], None] = lambda done: None,
) -> Outcome:
    """Read all photos once, a chunk at a time, and learn those that can be used, if enough."""
    reading = Reading(plan, progress)
    report = plan.model.learn_chunks(
        reading.chunks(), plan.counts, lambda: reading.alike, training, more=bool(plan.more)
    )
    taken = taken_for(plan.known, reading.answers)
    new = {name: found for name, found in taken.items() if name in plan.new}
    return Outcome(
        report=report,
        broken=reading.broken,
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


class Reading:
    """The photos of a plan as they are read, and what is found out about them.

    Beyond a chunk of features it holds a few numbers for each photo.
    """

    def __init__(self, plan: Plan, progress: Progress = silent):
        self.plan, self.progress = plan, progress
        self.unsure = under_several_labels(plan.photos)
        self.broken = {photo.name: SEVERAL_LABELS for photo in self.unsure}
        """Photos that cannot be used, and why."""
        self.size = 0
        self.notes: list[str] = []
        self.odd: list[tuple[Photo, Facts]] = []
        """Photos that can be used and have something to remark."""
        self.answers: Answers = defaultdict(Counter)
        self.learned: list[Photo] = []
        """The photos that can be used, in the order of the plan."""
        self._hashes = array("Q")
        """The perceptual hash of each of them."""
        self._digests: dict[str, set[str]] = defaultdict(set)
        """Digests of different files of each class, up to as many as are enough."""

    def chunks(self) -> Iterator[tuple[np.ndarray, list[str]]]:
        """Yield features of photos with their classes; raise at the end if photos are too few."""
        sound = self._sound()
        while chunk := list(islice(sound, CHUNK)):
            features = np.stack([one.features for one in chunk])
            labels = [str(one.photo.label) for one in chunk]
            if self.plan.model.classes:
                count_answers(self.plan.model, features, labels, self.answers)
            yield features, labels
        self.notes = self._check_enough()

    def _sound(self) -> Iterator[Embedded]:
        """Yield the photos that can be used, and note what is known of them."""
        plan = self.plan
        read = embed(plan.model, (photo for photo in plan.photos if photo not in self.unsure))
        for done, photo in enumerate(plan.photos, 1):
            if photo not in self.unsure:
                one = next(read)
                if isinstance(one, UnreadableError):
                    self.broken[one.name] = one.why
                else:
                    self._note(photo, one.facts)
                    yield one
            self.progress(done)

    def _note(self, photo: Photo, facts: Facts) -> None:
        self.learned.append(photo)
        self._hashes.append(facts.hash)
        self.size += facts.size
        digests = self._digests[str(photo.label)]
        if len(digests) < LEAST_IN_ALL:
            digests.add(facts.sha256)
        if facts.frames > 1 or not facts.exif:
            self.odd.append((photo, facts))

    def _check_enough(self) -> list[str]:
        """Raise if a class has too few different photos; return warnings that the plan lacks."""
        plan, counts = self.plan, {name: len(d) for name, d in sorted(self._digests.items())}
        lost = {
            photo.label: f"{photo.label} ({photo.name}: {self.broken[photo.name]})"
            for photo in plan.photos
            if photo.label not in counts
        }
        if lost:
            raise DataError(
                f"{counted(len(lost), 'class has', 'classes have')} no photo that can be used: "
                f"{first_ten(lost.values())}; add photos, or take "
                f"{'the class' if len(lost) == 1 else 'these classes'} out"
            )
        said = check_enough(counts, plan.known, plan.allow_few)
        return [sentence for sentence in said if sentence not in plan.warnings]

    @cached_property
    def alike(self) -> np.ndarray:
        """A number for each photo that was learned; photos that look the same share one."""
        return near_identical(np.array(self._hashes, dtype=np.uint64))

    def across_classes(self) -> Iterator[str]:
        """Yield nearly the same photos in different classes: perhaps a mistake in the labels."""
        labels: dict[int, dict[str, str]] = {}
        several = np.flatnonzero(np.bincount(self.alike)[self.alike] > 1)
        for i in several.tolist():
            photo = self.learned[i]
            labels.setdefault(int(self.alike[i]), {}).setdefault(str(photo.label), photo.name)
        found = [" and ".join(names.values()) for names in labels.values() if len(names) > 1]
        if found:
            yield f"nearly the same photo in different classes: {first_ten(found)}"


def wrong_folders(suspects: Sequence[tuple[str, Suspect]]) -> str:
    """Say which photos may be in the wrong folder, the first ten by name."""
    named = "; ".join(
        f"{name} is in {suspect.label}, looks like {suspect.looks_like}"
        for name, suspect in suspects[:NAMED]
    )
    more = f"; and {len(suspects) - NAMED:,} more" if len(suspects) > NAMED else ""
    photos = counted(len(suspects), "photo", "photos")
    return f"{photos} may be in the wrong folder: {named}{more}"


def learn(
    model: Path,
    /,
    *photos: Path,
    dry_run: bool = False,
    allow_few: Annotated[bool, Parameter(name=("--allow-few", "--few"))] = False,
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
    suspects: Path | None = None,
    force: bool = False,
) -> int:
    """Learn new classes from photos. Creates MODEL if it does not exist.

    Prints a plan, then reads the photos. Only averages are stored, never a photo. Broken photos are
    left out and listed, and the exit code is then 1. Photos that may be in the wrong folder are
    listed at the end.

    Parameters
    ----------
    model
        File of the model; a name without a suffix gets .memoryless.
    photos
        Folders with a folder of photos for each class, a metadata.csv with the columns file_name
        and label, list files with lines "path label", or zips of these.
    dry_run
        Print the plan and stop; it counts files and reads only their headers. With --suspects,
        photos are read to find those that may be in the wrong folder, and nothing is learned.
    allow_few
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
        Network of a new model: efficientnet-lite0, efficientnet-lite0+lite2 to be more accurate in
        three times the time, onnx:FILE, timm:NAME, or resnet18 with --train.
    image_size
        Side in pixels of the images that a new model's network reads; 224 by default, and 320 if
        half of the photos have 366 pixels or more on their shorter side. Two networks have sizes of
        their own.
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
        How many earlier states stay in the file for memoryless undo: 2 at first, then the number
        given last.
    suspects
        CSV file for all photos that may be in the wrong folder: file, class, looks_like and the
        probability of the class.
    force
        Write the file of suspects even if a file is there that is no such list.
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

    def planned(before: State | None) -> Plan:
        learner = model_to_learn(before, given, train)
        if suspects:
            learner.check_sums("find photos in the wrong folder")
        plan = make_plan(learner, photos, allow_few, more)
        _print_plan(plan, model)
        if more and not plan.more:
            print_lines("warning", none_known(plan.new, plan.known))
        return plan

    if dry_run:
        plan = planned(load_state(model) if model_file(model).exists() else None)
        return _try_out(plan, suspects) if suspects else 0
    with writing(model) as writer:
        plan = planned(writer.before)
        with Display("learning photos", len(plan.photos)) as bar:
            done = learn_photos(plan, bar, bar.training)
            saved = plan.model.save_in(writer, history)
    _print_outcome(plan, done, saved, model, photos, suspects)
    return 1 if done.broken else 0


def _try_out(plan: Plan, suspects: Path) -> int:
    """Learn into a model that is not saved, to find suspects; return the exit code."""
    with Display("reading photos", len(plan.photos)) as bar:
        done = learn_photos(plan, bar)
    say("")
    _print_found(plan, done)
    _print_suspects(done, suspects, "correct this")
    print_line("next", "the same without --dry-run: nothing was learned")
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
        print_lines("size", [_size(plan.large, model.settings.backbone)])
    if plan.seconds is None:
        print_line("time", "minutes to hours: what is left is shown once training has begun")
    else:
        print_line("time", f"about {duration(plan.seconds)} ({plan.rate:.0f} photos a second)")
    if plan.bytes is not None:
        own = f", of which {size(plan.spread)} are each class's own scatter" if plan.spread else ""
        print_line("keeps", f"{size(plan.bytes)} in all{own}, and no photo")
    print_lines("warning", plan.warnings)


def _listed(where: str, counts: dict[str, int], one: str, several: str) -> str:
    listed = first_ten(f"{name} {number}" for name, number in counts.items())
    return f"{sum(counts.values()):,} photos {where} {counted(len(counts), one, several)}: {listed}"


def _size(large: float, backbone: str | None) -> str:
    """The image size of a new model, why, and the setting that changes it, if any does."""
    if large >= 0.5:
        chosen = (
            f"320 pixels, because {large:.0%} of the photos are large enough (366 pixels on the "
            "shorter side)"
        )
        other = "with `image_size=224` learning takes less than half the time"
    else:
        chosen = (
            f"224 pixels, because {large:.0%} of the photos are large enough for 320 (366 pixels "
            "on the shorter side)"
        )
        other = "`image_size=320` sees more, in 2.6 times the time"
    if backbone == WITH_LITE2:
        other = f"{LITE2_SIDE} for the second network"
    return f"{chosen}; {other}"


def _method(model: Model) -> str:
    sees = f"at {model.settings.image_size or 224} pixels"
    if model.fixed:
        return f"{model.method} over {model.settings.backbone} {sees}, which is never trained"
    return f"{model.method}; {model.settings.backbone or 'ResNet-18'} {sees} is trained"


def duration(seconds: float) -> str:
    """A time as people read it.

    >>> duration(0.4), duration(89.7), duration(3700), duration(86400)
    ('1 s', '90 s', '1:01:40', '1 day, 0:00:00')
    """
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    return str(timedelta(seconds=round(seconds)))


def _print_outcome(
    plan: Plan,
    done: Outcome,
    saved: State,
    folder: Path,
    places: tuple[Path, ...],
    suspects: Path | None,
) -> None:
    alone = saved.number > 1 and saved.parent is None
    say("")
    print_line("learned", f"{_learned(plan)}: {folder} knows {len(plan.model.classes):,} now")
    _print_found(plan, done)
    kept = kept_bytes(saved.description.record)
    print_line("kept", f"{kept}, and none of the photos, which take {size(done.size)}")
    way = "to a copy of the model" if alone else f"by {command('undo', folder)}"
    print_lines("warning", [f"{warning} {way}" for warning in done.warnings])
    if alone:
        print_line("warning", ALONE)
    print_privacy(saved)
    back = f"delete {model_file(folder)}" if saved.number == 1 else f"go back {way}"
    _print_suspects(done, suspects, f"{back}, correct this and learn again")
    tests = [place / "test" for place in places if (place / "test").is_dir()]
    then = ("evaluate", folder, tests[0]) if tests else ("predict", folder, "PHOTO")
    print_line("next", command(*then))


def _print_found(plan: Plan, done: Outcome) -> None:
    """Print what was found out about the photos."""
    report = done.report
    if done.broken:
        print_line("broken", f"left out {reasons(done.broken)}")
    print_line("accuracy", _accuracy(report, len(plan.model.classes), plan.model.fixed))
    if confused := [f"{a} and {b} ({wrong} of {of})" for a, b, wrong, of in report.confused]:
        print_line("confused", f"photos of one class taken for the other: {', '.join(confused)}")
    print_lines("note", done.notes)
    if done.near:
        print_line("repeats", f"{done.near:,} photos are nearly the same as another; in the "
                   "accuracy these are left out together")  # fmt: skip


def _print_suspects(done: Outcome, file: Path | None, fix: str) -> None:
    """Print the first photos that may be in the wrong folder, and write all of them as CSV."""
    if done.suspects:
        print_line("suspects", f"{wrong_folders(done.suspects)}; if so, {fix}")
    if file:
        rows = [
            dict(zip(COLUMNS, (name, one.label, one.looks_like, one.probability), strict=True))
            for name, one in done.suspects
        ]
        write_bytes(file, to_csv(rows, COLUMNS).encode(), "`suspects`")
        print_line("written", f"{counted(len(done.suspects), 'suspect', 'suspects')}: {file}")


def _learned(plan: Plan) -> str:
    """What was learned, such as "1 class, and more photos of 2"."""
    more = f"more photos of {counted(len(plan.more), 'class', 'classes')}" if plan.more else ""
    new = counted(len(plan.new), "class", "classes") if plan.new else ""
    return ", and ".join(filter(None, [new, more]))


def _accuracy(report: LearningReport, classes: int, fixed: bool) -> str:
    """How many photos of the call are right, measured on photos like these."""
    if classes == 1:
        return "a model of one class cannot be wrong yet: learn another"
    if not report.checked:
        return "not measured: there are too few photos"
    share = 100 * report.correct / report.checked
    shown = f"{share:.1f} %, " if report.checked >= SHOWN else ""
    way = "leave-one-out" if fixed else "held out"
    worst = sorted(
        ((right / n, name, right, n) for name, (right, n) in report.correct_by_class.items() if n)
    )[:3]
    listed = ", ".join(f"{name} {right} of {n}" for part, name, right, n in worst if part < 1)
    return (
        f"{shown}{report.correct:,} of {report.checked:,} photos right among {classes:,} classes "
        f"({way}, on photos like these)" + (f"; worst: {listed}" if listed else "")
    )
