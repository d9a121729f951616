"""memoryless predict: the classes of photos."""

from __future__ import annotations

import glob
import io
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter

from memoryless.errors import ConfigError, DataError
from memoryless.images.files import Photo
from memoryless.images.find import find_photos
from memoryless.images.read import UnreadableError
from memoryless.model import Model
from memoryless.names import counted, printable
from memoryless.output import report_broken, show, to_csv
from memoryless.photos.embedding import Progress, features, silent
from memoryless.photos.files import load_to_classify
from memoryless.progress import Display
from memoryless.store import to_json
from memoryless.tables import Table

CHUNK = 256  # photos that are classified together, so that memory does not grow with their number


@dataclass(frozen=True)
class Answer:
    """The answer for one file: its likeliest classes, or why it cannot be read."""

    file: str
    known: bool | None = None
    """Whether any class fits; None where the file cannot be read."""
    top: tuple[tuple[str, float], ...] = ()
    """The likeliest classes with their probabilities, best first."""
    error: str = ""

    def as_json(self) -> dict[str, Any]:
        top = [{"label": label, "score": score} for label, score in self.top]
        entry = {"file": self.file, "known": self.known, "top": top}
        return entry | ({"error": self.error} if self.error else {})

    def as_row(self, top: int) -> dict[str, Any]:
        """The answer as a row of a table with places for so many classes."""
        row: dict[str, Any] = {"file": self.file, "known": self.known}
        for i in range(top):
            label, score = self.top[i] if i < len(self.top) else ("", "")
            row |= {f"label_{i + 1}": label, f"score_{i + 1}": score}
        return row | {"error": self.error}


def predict_photos(
    model: Model, things: Sequence[Photo | Answer], top: int, progress: Progress = silent
) -> Iterator[Answer]:
    """Answer for each photo, in order; answers that are there already pass."""
    answers = _answers(model, [x for x in things if isinstance(x, Photo)], top, progress)
    for thing in things:
        yield thing if isinstance(thing, Answer) else next(answers)


def _answers(
    model: Model, photos: Sequence[Photo], top: int, progress: Progress
) -> Iterator[Answer]:
    read = zip(photos, features(model, photos, progress), strict=True)
    while chunk := list(islice(read, CHUNK)):
        rows = [row for _, row in chunk if not isinstance(row, UnreadableError)]
        found = likeliest(model, np.stack(rows), top) if rows else iter(())
        for photo, row in chunk:
            if isinstance(row, UnreadableError):
                yield Answer(photo.name, error=str(row))
            else:
                yield Answer(photo.name, *next(found))


def likeliest(
    model: Model, rows: np.ndarray, top: int
) -> Iterator[tuple[bool, tuple[tuple[str, float], ...]]]:
    """Whether any class fits each of some features, and its likeliest classes."""
    found = model.judge(rows)
    best = np.argsort(-found.scores, axis=1, kind="stable")[:, :top]
    for known, order, probabilities in zip(found.known, best, found.probabilities, strict=True):
        yield bool(known), tuple((model.classes[i], float(probabilities[i])) for i in order)


def find_all(paths: Iterable[str]) -> tuple[list[Photo | Answer], list[str]]:
    """The photos of files, folders, zips and patterns, and notes about these places.

    A path that is none of them gets its answer at once.
    """
    things: list[Photo | Answer] = []
    notes: list[str] = []
    for path in paths:
        try:
            for place in _expanded(path):
                found = find_photos(place, labelled=False)
                things += found.photos
                notes += found.notes
        except DataError as error:
            things.append(Answer(path, error=str(error)))
    return things, notes


def _expanded(path: str) -> list[Path]:
    """A path, or the files that match it if it is a pattern and no file."""
    if Path(path).exists() or not glob.has_magic(path):
        return [Path(path)]
    names = glob.glob(path, recursive=True)  # noqa: PTH207 - Path.glob takes no absolute pattern
    found = [Path(name) for name in sorted(names)]
    if not found:
        raise DataError(f"no file matches {path}: check the pattern")
    return found


def predict(
    model: Path,
    /,
    *paths: Annotated[str, Parameter(allow_leading_hyphen=True)],  # for - itself
    top: int = 3,
    json: bool = False,
    csv: bool = False,
) -> int:
    """Name the class of each photo, or answer that none fits.

    Files that cannot be read are listed on standard error, and the exit code is then 1.

    Parameters
    ----------
    model
        File of the model.
    paths
        Photos, folders or zips of photos, patterns such as "*.jpg", or - to read one path a line
        from standard input.
    top
        How many classes to name, the likeliest first.
    json
        Print a list with file, known, and top: label and score.
    csv
        Print a table for spreadsheets.
    """
    if json and csv:
        raise ConfigError("choose `json=True` or `csv=True`, not both")
    loaded = load_to_classify(model)
    if top < 1:
        raise ConfigError(f"`top={top}` names no class: choose 1 or more")
    top = min(top, len(loaded.classes))
    things, notes = find_all(_lines(paths))
    for note in notes:
        print(printable(note), file=sys.stderr)
    with Display("reading photos", len(things)) as bar:
        found = list(predict_photos(loaded, things, top, bar))
    if json:
        print(to_json([answer.as_json() for answer in found]), end="")
    elif csv:
        print(to_csv([answer.as_row(top) for answer in found]), end="")
    elif sound := [answer for answer in found if not answer.error]:
        show(_table(sound))
    return report_broken([answer.error for answer in found if answer.error])


def _lines(paths: tuple[str, ...]) -> list[str]:
    """The paths, with those of standard input in the place of -."""
    if not paths:
        raise ConfigError("name at least one photo or folder, or - for one path a line")
    for path in paths:
        if path.startswith("--"):
            raise ConfigError(f"unknown option: {path}: there are --top, --json and --csv")
    typed = _typed() if "-" in paths else []
    if paths == ("-",) and not typed:
        print("standard input names no photo: give one path a line", file=sys.stderr)
    return [p for path in paths for p in (typed if path == "-" else [path])]


def _typed() -> list[str]:
    """The lines of standard input; bytes that are no text stand in names as Python keeps them."""
    if sys.stdin is None:  # it was closed
        return []
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="surrogateescape")
    return [path for line in sys.stdin if (path := line.rstrip("\r\n"))]


def _table(found: list[Answer]) -> Table:
    rows = []
    for answer in found:
        (first, score), *others = answer.top
        then = ", ".join(f"{label} {part:.0%}" for label, part in others)
        sure = f"{score:.0%}"
        shown = first if answer.known else f"none of these (nearest: {first} {sure})"
        rows.append([answer.file, shown, sure if answer.known else "", then])
    caption = "scores are probabilities, assuming the photo shows a known class"
    columns = ["file", "answer", "score", "then"]
    return Table(counted(len(rows), "answer", "answers"), caption, columns, rows)
