"""memoryless evaluate: accuracy on test photos, and the mistakes."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import msgspec
from PIL import Image

from memoryless import pages
from memoryless.errors import DataError
from memoryless.images.files import COLUMNS, Photo
from memoryless.images.find import find_photos, find_test
from memoryless.images.read import load
from memoryless.model import Evaluation, Mistake, Model
from memoryless.names import counted
from memoryless.output import command, paragraph, print_next, print_rows, report_broken, say
from memoryless.photos.embedding import Progress, all_features, silent
from memoryless.photos.files import changing, check_file, load_to_classify, print_places
from memoryless.progress import Display
from memoryless.store import to_json
from memoryless.tables import Table

SIDE = 200  # pixels of a picture's longer side
PICTURES = 24
LISTED = 10  # classes that are printed
NAMED = 5  # mistakes that are printed


@dataclass(frozen=True)
class PhotoEvaluation:
    """The evaluation of photos in files."""

    result: Evaluation
    photos: list[Photo]
    """Those that could be read, in the order of `Mistake.number`."""
    broken: dict[str, str]
    """A sentence for each photo that could not be read."""

    def as_json(self) -> dict[str, Any]:
        """Return every number, and the files of the mistakes."""
        mistakes = [
            {"file": self.photos[mistake.number].name, **vars(mistake)}
            for mistake in self.result.mistakes
        ]
        for mistake in mistakes:
            del mistake["number"]
        found = vars(self.result) | {"mistakes": mistakes, "broken": self.broken}
        return found | {"calibration": msgspec.to_builtins(self.result.calibration)}


def evaluate_photos(
    model: Model,
    photos: Sequence[Photo],
    progress: Progress = silent,
    unknown: Sequence[Photo] = (),
    calibrate: bool = False,
) -> PhotoEvaluation:
    """Classify photos, and compare the answers with their labels.

    `unknown` are photos without labels, of things that the model does not know. With `calibrate`
    the model is calibrated on all of them first.
    """
    model.check_known({str(photo.label) for photo in photos})
    found = all_features(model, [*photos, *unknown], progress)
    labels = [photo.label for photo in found.photos if photo.label is not None]
    if not {*labels} & {*model.classes}:
        why = next(iter(found.broken.values()))
        raise DataError(f"no photo of a known class can be read: {why}")
    known, strange = found.rows[: len(labels)], found.rows[len(labels) :]
    result = model.evaluate(known, labels, strange if len(unknown) else None, calibrate)
    return PhotoEvaluation(result, found.photos, found.broken)


def evaluate(
    model: Path,
    test: Path,
    /,
    *,
    unknown: Path | None = None,
    calibrate: bool = False,
    json: bool = False,
    html: Path | None = None,
    path_column: str = COLUMNS[0],
    label_column: str = COLUMNS[1],
    force: bool = False,
) -> int:
    """Measure a model on test photos of its classes.

    Photos of unknown classes measure how often the model rejects them. The model stays as it is,
    unless it is to be calibrated.

    Parameters
    ----------
    model
        File of the model.
    test
        Test photos in the same layouts as for memoryless learn; of train/ and test/, test/ is read.
    unknown
        Photos of things that the model does not know, in folders of any kind.
    calibrate
        Fit the temperature of probabilities and the threshold for unknown on these photos, 20 or
        more that were not learned, and save both as a state of the model. The threshold accepts
        95 % of photos of known classes; with --unknown it best separates known from unknown.
    json
        Print every number as JSON, shares from 0 to 1, and nothing else.
    html
        File for one self-contained page, with the surest mistakes as pictures.
    path_column
        Column of a table that holds the paths of photos.
    label_column
        Column of a table that holds their classes.
    force
        Replace a file that is there already and is no page of memoryless.
    """
    loaded, found = load_to_classify(model), find_test(test, (path_column, label_column))
    places = [found, find_photos(unknown, labelled=False)] if unknown else [found]
    strange = places[1].photos if unknown else []
    if html:
        check_file(html, "html", pages.MARK, pages.KIND, force)
    with Display("reading photos", len(found.photos) + len(strange)) as bar:
        if calibrate:
            with changing(model) as (_, writable):
                done = evaluate_photos(writable, found.photos, bar, strange, calibrate=True)
        else:
            done = evaluate_photos(loaded, found.photos, bar, strange)
    if html:
        pages.write(html, render(str(model), str(test), done), "html")
    if json:
        print(to_json(done.as_json()), end="")
        return report_broken(done.broken.values())
    print_places(places)
    _print_result(done)
    if calibrate:
        say(f"The model is calibrated. To undo it: {command('undo', model)}")
    if html:
        say(f"written: {html}")
    elif done.result.mistakes:
        print_next("evaluate", model, test, "--html", "mistakes.html")
    return report_broken(done.broken.values())


def _print_result(found: PhotoEvaluation) -> None:
    for sentence in summary(found):
        paragraph(sentence)
    result = found.result
    worst = [row for row in result.classes if row["correct"] < row["photos"]]
    if worst:
        say("Classes with mistakes, worst first:")
        print_rows([
            (row["class"], f"{row['correct']:,} of {row['photos']:,}", _confusion(result, row))
            for row in worst[:LISTED]
        ])  # fmt: skip
        if len(worst) > LISTED:
            paragraph(f"and {len(worst) - LISTED:,} more (--json, --html)", 2)
    if result.mistakes:
        say("Surest mistakes:")
        print_rows([
            (found.photos[one.number].name, f"{one.answer} {_percent(one.probability)}")
            for one in result.mistakes[:NAMED]
        ])  # fmt: skip


def _confusion(result: Evaluation, row: Mapping[str, Any]) -> str:
    """Say which class the photos of another one were mistaken for most often."""
    for pair in result.confused:
        if pair["class"] == row["class"]:
            return f"{pair['times']:,} as {pair['answer']}"
    return ""


def tables(found: Evaluation) -> Iterator[Table]:
    """Yield the tables of classes and states of the page, in percent."""
    head = ["photos", "top-1"]
    classes = [
        [row["class"], row["state"], row["photos"], 100 * row["top1"]] for row in found.classes
    ]
    yield Table("By class", "top-1 in percent, worst first", ["class", "state", *head], classes)
    states = [
        [str(row["state"]), row["classes"], row["photos"], 100 * row["top1"]]
        for row in found.states
    ]
    if len(states) > 1:
        caption = "a state is one call of learn"
        yield Table("By state", caption, ["state", "classes", *head], states)
    pairs = [[c["class"], c["answer"], f"{c['times']} of {c['photos']}"] for c in found.confused]
    if pairs:
        yield Table("Most confused", "", ["class", "answer", "photos"], pairs)
    if found.unknown:
        caption = "left out of the other tables"
        rows = list(found.unknown.items())
        yield Table("Classes that the model does not know", caption, ["class", "photos"], rows)


def render(model: str, place: str, found: PhotoEvaluation) -> str:
    """Return the page about a model and its test photos, without the folders that these lie in."""
    mistakes = found.result.mistakes
    return pages.render(
        "mistakes",
        title=f"{pages.name_of(model)}, evaluated on {pages.name_of(place)}",
        summary=list(summary(found)),
        mistakes=len(mistakes),
        pictures=list(pictures(mistakes, found.photos)),
        tables=list(tables(found.result)),
    )


def summary(found: PhotoEvaluation) -> Iterator[str]:
    """Yield the numbers in sentences."""
    result = found.result
    low, high = (f"{100 * end:.0f}" for end in result.interval)
    yield (
        f"{result.correct:,} of {counted(result.photos, 'photo', 'photos')} correct: "
        f"{100 * result.top1:.1f} % (95 % interval {low} to {high})."
    )
    if result.top5 is not None:
        yield f"The right class is among the five likeliest for {100 * result.top5:.1f} % (top-5)."
    yield (
        f"Answers: {_percent(result.accepted - result.unsure)} known, {_percent(result.unsure)} "
        f"unsure, {_percent(1 - result.accepted)} unknown. Probabilities are off by "
        f"{100 * result.ece:.1f} points on average (ECE)."
    )
    if result.rejected is not None and result.auroc is not None:
        strange = counted(sum(result.unknown.values()), "photo", "photos")
        yield (
            f"{strange} of unknown things: {_percent(result.rejected)} answered as unknown (AUROC "
            f"{100 * result.auroc:.1f}, where 50 is guessing)."
        )
    if fitted := result.calibration:
        before, after = fitted.before, fitted.after
        yield (
            f"Calibrated on these photos: temperature {before.temperature:.3g} to "
            f"{after.temperature:.3g}, threshold {before.threshold:.3g} to {after.threshold:.3g}. "
            "So the shares accepted and rejected and the ECE do not hold for new photos; the "
            "accuracy does."
        )
    if found.broken:
        yield f"{counted(len(found.broken), 'photo', 'photos')} could not be read."


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def pictures(
    mistakes: Sequence[Mistake], photos: Sequence[Photo]
) -> Iterator[tuple[Mistake, str, str]]:
    """Yield the surest mistakes whose photos can be read, with file and picture.

    Folders further up are left out: they may name a person.
    """
    for mistake in mistakes[:PICTURES]:
        photo = photos[mistake.number]
        with suppress(DataError):
            yield mistake, "/".join(PurePath(photo.name).parts[-2:]), thumbnail(photo)


def thumbnail(photo: Photo) -> str:
    """Return a small JPEG of a photo, as an address that holds it."""
    image = Image.fromarray(load(photo, SIDE))
    image.thumbnail((SIDE, SIDE))
    content = io.BytesIO()
    image.save(content, "JPEG", quality=80)
    return "data:image/jpeg;base64," + base64.b64encode(content.getvalue()).decode()
