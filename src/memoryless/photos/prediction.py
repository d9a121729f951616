"""Answers for files: the likeliest classes, that none fits, or why a file cannot be read."""

from __future__ import annotations

import glob
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from memoryless.errors import ConfigError, DataError
from memoryless.images.find import find_photos
from memoryless.images.read import Photo, UnreadableError
from memoryless.photos.seeing import Progress, Verdict, judge, silent

if TYPE_CHECKING:
    from memoryless.model import Model


@dataclass(frozen=True)
class Answer:
    """What a model says of one file."""

    file: str
    known: bool | None = None
    """Whether any class fits; None where the file cannot be read."""
    top: tuple[tuple[str, float], ...] = ()
    """The likeliest classes with their probabilities, best first."""
    error: str = ""

    def as_json(self) -> dict[str, Any]:
        top = [{"label": label, "score": score} for label, score in self.top]
        told = {"file": self.file, "known": self.known, "top": top}
        return told | ({"error": self.error} if self.error else {})

    def as_row(self, top: int) -> dict[str, Any]:
        """The answer as a row of a table with places for so many classes."""
        row: dict[str, Any] = {"file": self.file, "known": self.known}
        for i in range(top):
            label, score = self.top[i] if i < len(self.top) else ("", "")
            row |= {f"label_{i + 1}": label, f"score_{i + 1}": score}
        return row | {"error": self.error}


def to_predict(path: Path) -> Model:
    """The model in a file, without what only learning needs."""
    from memoryless.model import Model
    from memoryless.model.file import load_state

    model = Model.of(load_state(path, names=("features", "scorer")))
    model.check_taught()
    return model


def check_top(top: int, classes: int) -> int:
    """How many classes to name: at least one, at most those that there are."""
    if top < 1:
        raise ConfigError(f"`top={top}` names no class: choose 1 or more")
    return min(top, classes)


def find_all(paths: Iterable[str]) -> tuple[list[Photo | Answer], list[str]]:
    """The photos of files, folders, zips and patterns, an answer for what is none of these, and
    what is to be said of places.
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


def answers(
    model: Model, things: Sequence[Photo | Answer], top: int, progress: Progress = silent
) -> Iterator[Answer]:
    """An answer for each photo, in order; those that are there already pass."""
    verdicts = judge(model, [thing for thing in things if isinstance(thing, Photo)], progress)
    for thing in things:
        if isinstance(thing, Answer):
            yield thing
        else:
            yield _answer(thing.name, next(verdicts), model.classes, top)


def _answer(
    file: str, verdict: Verdict | UnreadableError, classes: Sequence[str], top: int
) -> Answer:
    if isinstance(verdict, UnreadableError):
        return Answer(file, error=str(verdict))
    best = np.argsort(-verdict.scores, kind="stable")[:top]
    named = tuple((classes[i], float(verdict.probabilities[i])) for i in best)
    return Answer(file, verdict.known, named)
