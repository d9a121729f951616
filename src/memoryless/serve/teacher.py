"""The model that a server answers from and teaches: the one place that calls models and commands.

Predictions read a `Current`, which never changes: a request sees one whole state. Everything that
writes opens the file for itself, as the commands do, so that several processes can share it.
"""

from __future__ import annotations

import io
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from threading import Lock
from typing import Any, Literal

import numpy as np

from memoryless.errors import DataError, MemorylessError, StoreError
from memoryless.images.duplicates import SEVERAL_LABELS, near_identical
from memoryless.images.files import Photo
from memoryless.images.quickdraw import TRAIN, read_drawings
from memoryless.images.read import Facts, UnreadableError, attempt, load, open_image, read, remarks
from memoryless.model import LearningReport, Model
from memoryless.model.database import model_file
from memoryless.model.description import State
from memoryless.model.evaluation import Evaluation
from memoryless.model.file import (
    file_bytes,
    kept_states,
    load_state,
    state_bytes,
    state_of_bytes,
    writing,
)
from memoryless.model.model import CHUNK
from memoryless.names import class_names, first_ten
from memoryless.photos.doubts import (
    Answers,
    count_answers,
    maybe_known,
    maybe_mislabelled,
    taken_for,
)
from memoryless.photos.export import onnx_bytes
from memoryless.photos.forget import forget_classes, verdict
from memoryless.photos.kept import privacy
from memoryless.photos.learn import ALONE
from memoryless.photos.merge import merge_into
from memoryless.photos.plan import (
    ADD,
    LEAST,
    alike_names,
    check_enough,
    few_photos,
    model_to_learn,
    small_classes,
    spanned_photos,
    too_few,
)
from memoryless.photos.predict import Answer, likeliest
from memoryless.photos.rename import rename_class
from memoryless.photos.show import overview
from memoryless.photos.undo import go_back
from memoryless.serve.lessons import Entry, Lesson
from memoryless.serve.limits import Limits
from memoryless.serve.refusals import Refusal, as_fields
from memoryless.serve.uploads import Upload

CLASSIFIES = ("features", "scorer")
LEARNS = ("record", "scorer")
DRAWN, SHOWN = 10, 3
"""Classes of embedded drawings to begin with, and drawings of each to try afterwards."""
TAUGHT = 30


@dataclass(frozen=True)
class Current:
    """A whole state and the model of it, which classifies; neither is ever changed."""

    state: State
    model: Model
    mark: tuple[int, ...]
    """What tells the file from what it was before or after."""

    @property
    def backbone(self) -> str:
        """The digest of the graph that computes features."""
        return self.state.parts.get("features", "")


class Teacher:
    """A model's file: what it answers now, and every change of it."""

    def __init__(self, path: Path | str, limits: Limits | None = None):
        self.path, self.limits = model_file(path), limits or Limits()
        self.problem = ""
        """Why the file cannot be read, if it cannot."""
        self._refreshing = Lock()
        self.photo_bytes = 0
        """Of the photos that were learned since the server was started."""

    def open(self, image_size: int | None = None, read_only: bool = False) -> None:
        """Load the model, or make one without classes; raise where it takes no photos."""
        given: dict[str, Any] = {"image_size": image_size} if image_size else {}
        if not self.path.exists() and not read_only:
            Model(**given).save(self.path)
        elif given:
            model_to_learn(load_state(self.path), given)  # raises where it has another size
        self.current = self._load(None)
        _ = self.current.model.min_side

    def refresh(self) -> None:
        """Read the file again if it was changed. While it cannot be read, the last state stays."""
        with self._refreshing:
            if self._mark() == self.current.mark:
                return
            try:
                self.current, self.problem = self._load(self.current), ""
            except MemorylessError as error:
                self.problem = str(error).replace(str(self.path), self.path.name)

    def _mark(self) -> tuple[int, ...]:
        try:
            status = self.path.stat()
        except OSError:
            return ()
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns

    def _load(self, before: Current | None) -> Current:
        """Return what is in the file; the graph, which hardly ever changes, is read once."""
        mark = self._mark()  # first: a change while it is read is noticed the next time
        state = load_state(self.path, names=("scorer",) if before else CLASSIFIES)
        if before and before.backbone != state.parts.get("features", ""):
            return self._load(None)
        if before:
            state = replace(state, graph=before.model._current.graph)
        model = Model.of(state)
        if before:
            model._extractor = before.model._extractor  # one session for all states
        model.open()
        return Current(state, model, mark)

    @property
    def known(self) -> tuple[str, ...]:
        """The classes that the model knows now."""
        return self.current.model.classes

    def overview(self) -> dict[str, Any]:
        """Return what `memoryless show --json` prints, and what is honest to say of privacy."""
        found = overview(self.path)
        states, _ = kept_states(self.path)
        found["file"] = self.path.name  # folders may name a person
        found["name"] = self.path.name.removesuffix(".memoryless")
        found["photo_bytes"] = self.photo_bytes
        current = next((one for one in states if one.number == found["number"]), None)
        found["privacy"] = privacy(current, *states) if current else []
        found["bytes_kept"] = sum(found["record"].values())
        return found

    # Photos

    def answer(self, current: Current, top: int, upload: Upload) -> dict[str, Any]:
        """Return the answer for a photo, as `predict --json` prints it."""
        try:
            self._check_pixels(upload)
            row = current.model.embed_photo(load(photo_of(upload), current.model.min_side))
        except UnreadableError as error:
            return _as_json(Answer(upload.name, error=str(error)))
        (found,) = likeliest(current.model, row[None], top)
        return _as_json(Answer(upload.name, *found))

    def embed(self, current: Current, upload: Upload) -> tuple[np.ndarray, Facts] | UnreadableError:
        """Return the feature (d,) of a photo and facts about it, or why it cannot be read."""
        try:
            self._check_pixels(upload)
            pixels, facts = read(photo_of(upload), current.model.min_side)
        except UnreadableError as error:
            return error
        return current.model.learning_input(pixels), facts

    def _check_pixels(self, upload: Upload) -> None:
        def check(exif: bool) -> None:
            width, height = open_image(io.BytesIO(upload.content), exif).size
            if width * height > self.limits.pixels:
                raise ValueError(f"it has more than {self.limits.pixels:,} pixels")

        attempt(upload.name, check)

    def check_taught(self) -> None:
        """Refuse unless the model knows a class."""
        if not self.known:
            raise Refusal(409, "the model knows no class yet: teach it some first")

    # Teaching

    def check(self, lesson: Lesson) -> dict[str, Any]:
        """Return what learning a lesson would give, and leave the model as it is."""
        before = load_state(self.path, names=LEARNS)
        return self._learn(lesson, Model.of(before), few=True, trial=True)

    def learn(self, lesson: Lesson, few: bool = False, more: bool = False) -> dict[str, Any]:
        """Learn a lesson, and save that as one state."""
        with writing(self.path) as writer:
            if writer.before is None:
                raise StoreError(f"there is no model {self.path}: start the server again")
            model = Model.of(writer.before)
            _check_names(lesson, model.classes, more)
            found = self._learn(lesson, model, few)
            saved = model.save_in(writer)
        self.photo_bytes += found["photo_bytes"]
        alone = saved.number > 1 and saved.parent is None
        if alone:
            found["warnings"].append(ALONE)
        kept = saved.description.kept
        return found | {"state": saved.number, "can_undo": not alone, "bytes_kept": kept}

    def _learn(
        self, lesson: Lesson, model: Model, few: bool, trial: bool = False
    ) -> dict[str, Any]:
        """Let a model learn a lesson; return what came of it."""
        left_out = dict.fromkeys(lesson.under_several_labels(), SEVERAL_LABELS)
        entries = {i: one for i, one in lesson.entries.items() if i not in left_out}
        if not entries:
            raise DataError("the lesson has no photo to learn: send some first")
        known, places = model.classes, [*entries]
        counts = Counter(one.label for one in entries.values())
        counts = Counter(dict(sorted(counts.items())))
        past = [name for name in counts if name in known]
        different = _different(entries.values())
        if small := few_photos(different, few):
            raise too_few(f"a class needs at least {LEAST} different photos", small)
        warnings = check_enough(different, few)
        alike = near_identical(np.array([e.facts.hash for e in entries.values()], np.uint64))
        answers: Answers = defaultdict(Counter)

        def chunks() -> Iterator[tuple[np.ndarray, list[str]]]:
            for i in range(0, len(places), CHUNK):
                part = [entries[place] for place in places[i : i + CHUNK]]
                rows, labels = np.stack([one.row for one in part]), [one.label for one in part]
                if known:
                    count_answers(model, rows, labels, answers)
                yield rows, labels

        report = model.learn_chunks(chunks(), counts, lambda: alike, more=bool(past))
        taken = taken_for(known, answers)
        new = {name: of for name, of in taken.items() if name not in known}
        doubts = [*maybe_known(new, report), *maybe_mislabelled(taken, known, report)]
        after = dict(zip(model.classes, model.counts, strict=True))
        return {
            "state": None,
            "can_undo": False,
            "classes": len(after),
            "photos": sum(after.values()),
            "new": {name: n for name, n in counts.items() if name not in known},
            "more": {name: n for name, n in counts.items() if name in known},
            "left_out": [{"place": i, "why": why} for i, why in left_out.items()],
            "repeats": int((np.bincount(alike)[alike] > 1).sum()),
            **_measured(report, places),
            "notes": [*remarks([_named(i) for i in places], [e.facts for e in entries.values()])],
            "warnings": [
                *map(as_fields, warnings or small_classes(counts, past)),
                *map(as_fields, alike_names(counts, known, ADD)),
                *(
                    spanned_photos(counts, after, max(model.feature_groups))
                    if model.forgettable
                    else []
                ),
                *(f"{doubt} by undo" for doubt in doubts if not trial),
            ],
            "photo_bytes": sum(one.facts.size for one in entries.values()),
            "bytes_kept": 0,
        }

    def evaluate(self, current: Current, entries: Mapping[int, Entry], broken: Mapping[int, str]
                 ) -> dict[str, Any]:  # fmt: skip
        """Return how good the model is on photos with their classes, and the answer for each."""
        labels = [one.label for one in entries.values()]
        current.model.check_known({*labels})
        judged = current.model.classify(np.stack([one.row for one in entries.values()]))
        model = current.model
        found = vars(Evaluation.of(model.classes, model.class_state, labels, judged))
        answers = [
            {"place": place, "class": label, "known": bool(known),
             "answer": model.classes[best], "score": float(each[best])}
            for place, label, known, best, each in zip(
                entries, labels, judged.known, judged.scores.argmax(1).tolist(),
                judged.probabilities, strict=True)
        ]  # fmt: skip
        return {key: found[key] for key in found if key not in ("mistakes", "calibration")} | {
            "answers": answers,
            "broken": [{"place": i, "why": why} for i, why in broken.items()],
        }

    # Changes

    def rename(self, old: str, new: str) -> None:
        """Give a class another name."""
        rename_class(self.path, old, new)

    def forget(self, names: Sequence[str], dry_run: bool) -> dict[str, Any]:
        """Forget classes for good, or return what that would mean."""
        done = forget_classes(self.path, names, dry_run)
        return vars(done) | {"remains": verdict(done)}

    def undo(self, to: int | None) -> dict[str, Any]:
        """Make a kept state the current one: `to`, or the one before."""
        self.refresh()
        before, now = go_back(self.path, to)
        before = before or self.current.state  # which is not read again where `to` says the state
        gone = {*before.classes.names} - {*now.classes.names}
        return {"state": now.number, "left": before.number, "no_longer_known": sorted(gone)}

    def merge(self, upload: Upload, same_class: Literal["refuse", "join"]) -> dict[str, Any]:
        """Merge a model that was uploaded into this one, as one new state."""
        name = PurePath(upload.name).name or "model.memoryless"
        if name == self.path.name:
            name = f"uploaded/{name}"  # two models need two names
        try:
            other = state_of_bytes(upload.content, name)
        except StoreError as error:
            raise DataError(str(error)) from error
        before, saved = merge_into(self.path, other, same_class)
        added = [name for name in saved.classes.names if name not in {*before.classes.names}]
        return {"state": saved.number, "classes": len(saved.classes.names), "new": added}

    def onnx(self) -> bytes:
        """Return the model as one ONNX file, compared with the model first."""
        content, _ = onnx_bytes(load_state(self.path, names=CLASSIFIES))
        return content

    def copy(self, history: bool) -> bytes:
        """Return a file of the current state alone, or of all kept states."""
        return file_bytes(self.path) if history else state_bytes(self.path)


def photo_of(upload: Upload) -> Photo:
    """Return a photo whose file is in memory alone."""
    return Photo(upload.name, None, lambda _: io.BytesIO(upload.content))


def drawings() -> Iterator[tuple[str, Upload]]:
    """Yield embedded drawings to begin with, each with its class."""
    names, drawn = read_drawings()
    for name, own in zip(names[:DRAWN], drawn, strict=False):
        for pixels in own[:TAUGHT]:
            yield name, Upload(name, _png(pixels))


def drawing(number: int) -> bytes:
    """Return a drawing that is not among those to begin with."""
    _, drawn = read_drawings()
    return _png(drawn[number % DRAWN, TRAIN + number // DRAWN % SHOWN])


def check_label(name: str) -> str:
    """Return the name of a class as it is stored, or raise."""
    return class_names([name])[name]


def _png(pixels: np.ndarray) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels.squeeze()).save(file, "PNG")
    return file.getvalue()


def _closed(name: str) -> Any:
    raise OSError(f"the photo {name} is gone")


def _named(place: int) -> Photo:
    return Photo(f"photo {place + 1}", None, _closed)


def _as_json(answer: Answer) -> dict[str, Any]:
    """Return an answer as programs read it: known, unsure or unknown, or broken."""
    return answer.as_json() | ({"answer": "broken"} if answer.error else {})


def _different(entries: Iterable[Entry]) -> dict[str, int]:
    """Return how many different photos each class has."""
    digests: dict[str, set[str]] = defaultdict(set)
    for one in entries:
        digests[one.label].add(one.facts.sha256)
    return {name: len(found) for name, found in sorted(digests.items())}


def _check_names(lesson: Lesson, known: Sequence[str], more: bool) -> None:
    """Refuse photos of known classes without `more`, and classes that were new or known when the
    lesson was opened and are not so now.
    """
    names, now = {*lesson.counts()}, {*known}
    then = now if lesson.known is None else lesson.known
    learned, gone = names & now - then, names & then - now
    for changed, what in ((learned, "learned"), (gone, "forgotten or renamed")):
        if changed:
            lesson.known = frozenset(now)
            raise Refusal(
                409,
                f"{first_ten(sorted(changed))} was {what} meanwhile: send the same again if these "
                "photos are to be learned all the same, or take them out",
            )
    if not more and (past := sorted(names & now)):
        raise Refusal(
            409,
            f"the model knows {first_ten(past)} already: send more=true to add these photos to "
            "what it knows, or give them another class",
        )


def _measured(report: LearningReport, places: Sequence[int]) -> dict[str, Any]:
    """Return what leave-one-out says of the photos that were learned."""
    return {
        "checked": report.checked,
        "correct": report.correct,
        "by_class": [
            {"class": name, "correct": right, "checked": checked}
            for name, (right, checked) in report.correct_by_class.items()
        ],
        "confused": [
            {"class": one, "other": other, "times": times, "photos": photos}
            for one, other, times, photos in report.confused
        ],
        "suspects": [
            {"place": places[one.number], "class": one.label, "looks_like": one.looks_like,
             "probability": one.probability}
            for one in report.suspects
        ],
    }  # fmt: skip
