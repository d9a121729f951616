"""memoryless predict: the classes of photos."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from memoryless.tables import Table

if TYPE_CHECKING:
    from memoryless.photos.prediction import Answer


def predict(
    model: Path,
    /,
    *paths: Annotated[str, Parameter(allow_leading_hyphen=True)],  # for - itself
    top: int = 3,
    json: bool = False,
    csv: bool = False,
) -> int:
    """Say which class photos are of, or that none fits.

    A file that cannot be read is reported, the others are answered, and the exit code is 1.

    Parameters
    ----------
    model
        File of the model.
    paths
        Photos, folders or zips of photos, patterns such as "*.jpg", or - for one path a line on
        standard input.
    top
        How many classes to name, the likeliest first.
    json
        Print a list with file, known, and top: label and score.
    csv
        Print a table for spreadsheets.
    """
    from memoryless.cli.output import to_csv
    from memoryless.errors import ConfigError
    from memoryless.names import printable
    from memoryless.photos.prediction import answers, check_top, find_all, to_predict
    from memoryless.progress import Display
    from memoryless.store import to_json

    if json and csv:
        raise ConfigError("choose `json=True` or `csv=True`, not both")
    loaded = to_predict(model)
    top = check_top(top, len(loaded.classes))
    things, notes = find_all(_lines(paths))
    for note in notes:
        print(printable(note), file=sys.stderr)
    with Display("looking at photos", len(things)) as bar:
        found = list(answers(loaded, things, top, bar))
    if json:
        print(to_json([answer.as_json() for answer in found]), end="")
    elif csv:
        print(to_csv([answer.as_row(top) for answer in found]), end="")
    else:
        _show(found)
    return _report(found)


def _lines(paths: tuple[str, ...]) -> list[str]:
    """The paths, with those of standard input in the place of -."""
    from memoryless.errors import ConfigError

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


def _show(found: list[Answer]) -> None:
    from memoryless.cli.output import show

    sound = [answer for answer in found if not answer.error]
    if sound:
        show(_table(sound))


def _table(found: list[Answer]) -> Table:
    from memoryless.images.dataset import counted

    rows = []
    for answer in found:
        (first, score), *others = answer.top
        then = ", ".join(f"{label} {part:.0%}" for label, part in others)
        sure = f"{score:.0%}"
        shown = first if answer.known else f"none of these (nearest: {first} {sure})"
        rows.append([answer.file, shown, sure if answer.known else "", then])
    caption = "scores are probabilities, if it is one of the classes that the model knows"
    columns = ["file", "answer", "score", "then"]
    return Table(counted(len(rows), "answer", "answers"), caption, columns, rows)


def _report(found: list[Answer]) -> int:
    """Tell on standard error what could not be answered; gives the exit code."""
    from memoryless.names import printable

    failed = [answer.error for answer in found if answer.error]
    for error in failed:
        print("memoryless:", printable(error), file=sys.stderr)
    return 1 if failed else 0
