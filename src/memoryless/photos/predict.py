"""memoryless predict: the class of each photo, or that it is unknown."""

from __future__ import annotations

import glob
import io
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter

from memoryless.errors import ConfigError, DataError
from memoryless.images.files import Photo
from memoryless.images.find import find_photos
from memoryless.images.read import UnreadableError
from memoryless.model import Model
from memoryless.names import counted, natural, printable
from memoryless.output import paragraph, print_rows, report_broken, say, to_csv
from memoryless.photos.embedding import Progress, features, silent
from memoryless.photos.files import check_file, load_to_classify
from memoryless.progress import Display
from memoryless.store import to_json, write_bytes

CHUNK = 256  # photos that are classified together, so that memory does not grow with their number


@dataclass(frozen=True)
class Answer:
    """The answer for one file: its likeliest classes, or why it cannot be read."""

    file: str
    answer: Literal["known", "unsure", "unknown"] | None = None
    """None where the file cannot be read."""
    top: tuple[tuple[str, float], ...] = ()
    """The likeliest classes with their probabilities, best first."""
    error: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return the answer as JSON has it."""
        top = [{"label": label, "score": score} for label, score in self.top]
        entry = {"file": self.file, "answer": self.answer, "top": top}
        return entry | ({"error": self.error} if self.error else {})

    def as_row(self, top: int) -> dict[str, Any]:
        """Return the answer as a row of a table with places for so many classes."""
        row: dict[str, Any] = {"file": self.file, "answer": self.answer}
        for i in range(top):
            label, score = self.top[i] if i < len(self.top) else ("", "")
            row |= {f"label_{i + 1}": label, f"score_{i + 1}": score}
        return row | {"error": self.error}

    def as_cells(self, top: int) -> list[str]:
        """Return the answer as a line for people: file, class, probability, other classes."""
        (first, score), *others = self.top
        if self.answer == "unknown":
            return [self.file, f"unknown (closest: {first})", "", ""]
        shown = [f"{label} {part:.0%}" for label, part in others[: top - 1]]
        answer = f"{first} (unsure)" if self.answer == "unsure" else first
        return [self.file, answer, f"{100 * score:4.0f} %", ", ".join(shown)]


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
) -> Iterator[tuple[Any, tuple[tuple[str, float], ...]]]:
    """Yield known, unsure or unknown for each of some features, and its likeliest classes."""
    found = model.classify(rows)
    best = np.argsort(-found.scores, axis=1, kind="stable")[:, :top]
    for answer, order, each in zip(found.answers, best, found.probabilities, strict=True):
        yield str(answer), tuple((model.classes[i], float(each[i])) for i in order)


def find_all(paths: Iterable[str]) -> tuple[list[Photo | Answer], list[str]]:
    """Return the photos of files, folders, zips and patterns, and notes about these places.

    Photos of a folder are sorted as people count: 2.jpg before 10.jpg. A path that is none of these
    gets its answer at once.
    """
    things: list[Photo | Answer] = []
    notes: list[str] = []
    for path in paths:
        try:
            for place in _expanded(path):
                found = find_photos(place, labelled=False)
                photos = {photo.name: photo for photo in found.photos}
                things += [photos[name] for name in sorted(photos, key=natural)]
                notes += found.notes
        except DataError as error:
            things.append(Answer(path, error=str(error)))
    return things, notes


def _expanded(path: str) -> list[Path]:
    """Return a path, or the files that match it if it is a pattern and no file."""
    if Path(path).exists() or not glob.has_magic(path):
        return [Path(path)]
    names = glob.glob(path, recursive=True)  # noqa: PTH207 - Path.glob takes no absolute pattern
    found = [Path(name) for name in sorted(names, key=natural)]
    if not found:
        raise DataError(f"no file matches {path}: check the pattern")
    return found


def predict(
    model: Path,
    /,
    *paths: Annotated[str, Parameter(allow_leading_hyphen=True)],  # for - itself
    top: int | None = None,
    json: bool = False,
    csv: Path | None = None,
    force: bool = False,
) -> int:
    """Name the class of each photo, or answer that none fits.

    The answer is unsure if the class only just fits. Files that cannot be read are
    listed on standard error, and the exit code is then 1.

    Parameters
    ----------
    model
        File of the model.
    paths
        Photos, folders or zips of photos, patterns such as "*.jpg", or - to read one path a line
        from standard input.
    top
        How many classes to name, the likeliest first; 1 on the terminal and 3 in files by default.
    json
        Print a list with file, answer (known, unsure or unknown), and top: label and score.
    csv
        File for a table for spreadsheets.
    force
        Replace a file that is there already and is no table of answers.
    """
    loaded = load_to_classify(model)
    if top is not None and top < 1:
        raise ConfigError(f"`top={top}` names no class: choose 1 or more")
    if csv:
        check_file(csv, "csv", "file,answer,", "table of answers", force)
    most = min(top or 3, len(loaded.classes))
    things, notes = find_all(_lines(paths))
    for note in notes:
        print(printable(note), file=sys.stderr)
    with Display("reading photos", len(things)) as bar:
        found = list(predict_photos(loaded, things, most, bar))
    if csv:
        write_bytes(csv, to_csv([answer.as_row(most) for answer in found]).encode(), "`csv`")
    sound = [answer for answer in found if not answer.error]
    if json:
        print(to_json([answer.as_json() for answer in found]), end="")
    elif sound:
        if csv:
            say(f"written: {csv}")
        else:
            print_rows([answer.as_cells(top or 1) for answer in sound], indent=0)
        paragraph(summary(sound))
    return report_broken([answer.error for answer in found if answer.error])


def _lines(paths: tuple[str, ...]) -> list[str]:
    """Return the paths, with those of standard input in the place of -."""
    if not paths:
        raise ConfigError("name at least one photo or folder, or - for one path a line")
    for path in paths:
        if path.startswith("--"):
            raise ConfigError(f"unknown option: {path}: there are --top, --json, --csv and --force")
    typed = _typed() if "-" in paths else []
    if paths == ("-",) and not typed:
        print("standard input names no photo: give one path a line", file=sys.stderr)
    return [p for path in paths for p in (typed if path == "-" else [path])]


def _typed() -> list[str]:
    """Return the lines of standard input; bytes that are no text are escaped as Python does."""
    if sys.stdin is None:  # it was closed
        return []
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="surrogateescape")
    return [path for line in sys.stdin if (path := line.rstrip("\r\n"))]


def summary(found: Sequence[Answer]) -> str:
    """Return how many photos got each answer, in one sentence, and its limit."""
    counts = Counter(answer.top[0][0] for answer in found if answer.answer != "unknown")
    parts = [f"{number:,} {name}" for name, number in counts.most_common()]
    unsure = sum(answer.answer == "unsure" for answer in found)
    unknown = sum(answer.answer == "unknown" for answer in found)
    parts += [f"{unknown:,} unknown"] * (unknown > 0)
    named = f" The model is unsure about {unsure:,} of those that it names." if unsure else ""
    photos = counted(len(found), "photo", "photos")
    return f"{photos}: {', '.join(parts)}.{named} Things never learned can get a name too."
