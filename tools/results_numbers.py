"""Looks collected figures up: what a method reached on a stream, seed by seed."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from memoryless.names import size

MISSING = "\N{EN DASH}"
# Settings of the record that a method depends on, by what it reads; others make no difference.
DEPENDS = {
    "layer": (),
    "rows": (),
    "moved rows": ("level", "square_roots"),
    "means": ("level", "square_roots"),
    "covariances": ("level", "square_roots", "statistics"),
    "projection": ("level", "square_roots", "projection"),
}
SHARES = ("held_out", "validation")
TRAINING = ("width", "epochs", "epochs_later", "batch_size", "lr")
WHICH = "say which by of='FILE' or by a setting"
BEFORE = "before-"  # begins the names of files of an earlier version, which must be asked for
RECORD = ("level", "square_roots", "statistics", "projection")
# Where the page does not say otherwise, a row is one of these.
USUAL: dict[str, Any] = {
    "level": "last",
    "square_roots": False,
    "statistics": "full",
    "held_out": 0.0,
    "validation": 0.0,
}


@dataclass(frozen=True)
class Score:
    """A number for each seed; it is written as mean±deviation, and a single one without."""

    values: dict[int, float] = field(default_factory=dict)
    signed: bool = False
    memoryless: bool = True

    @property
    def mean(self) -> float:
        return fmean(self.values.values())

    def __str__(self) -> str:
        if not self.values:
            return MISSING
        mean = f"{self.mean:+.1f}" if self.signed else f"{self.mean:.1f}"
        return f"{mean}±{stdev(self.values.values()):.1f}" if len(self.values) > 1 else mean

    def __bool__(self) -> bool:
        return bool(self.values)

    def above(self, other: Score) -> list[bool]:
        """Whether it is above the other, for every seed that both have."""
        return [self.values[seed] > other.values[seed] for seed in self.values if seed in other]

    def below(self, bound: float) -> list[bool]:
        """Whether it is below a number, for every seed."""
        return [value < bound for value in self.values.values()]

    def __contains__(self, seed: int) -> bool:
        return seed in self.values

    def __or__(self, other: Score) -> Score:
        """With the other's seeds that it has not itself."""
        return replace(self, values=dict(sorted((other.values | self.values).items())))

    def __sub__(self, other: Score) -> Score:
        """The difference for every seed that both have."""
        common = [seed for seed in self.values if seed in other]
        return Score({s: self.values[s] - other.values[s] for s in common}, signed=True)


@dataclass(frozen=True)
class Row:
    """What one method reached on one stream; all figures are empty where it was not measured."""

    method: str = ""
    memoryless: bool = True
    bytes_kept: int | None = None
    top1: Score = Score()
    top5: Score = Score()
    last_top1: Score = Score()
    last_top5: Score = Score()
    past: Score = Score()
    forgetting: Score = Score()
    image_bytes: int = 0
    """Of the training images, which are not kept."""
    seconds: float = 0.0
    """Of the strategy's training on this stream, in the run that was disturbed least."""

    def __str__(self) -> str:
        return f"{self.top1} / {self.top5}" if self.top1 else MISSING

    def __bool__(self) -> bool:
        return bool(self.top1)

    @property
    def mean(self) -> float:
        return self.top1.mean

    @property
    def kept(self) -> str:
        if not self.memoryless:
            return f"images, {kept(self.image_bytes)}"
        return kept(self.bytes_kept) if self else MISSING


class Numbers:
    """All rows of the collected files."""

    def __init__(self, folder: Path):
        self.files: dict[str, dict[str, Any]] = {
            file.stem: json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))
        }

    def row(self, data: str, states: int, method: str, of: str = "", **settings: Any) -> Row:
        """A method's row; a setting of the run that is None may be any.

        `of` names the file where several fit, or one of an earlier version.
        """
        wanted = USUAL | settings | {"data": data}
        if method != "Full":  # which has one state, whatever the others have
            wanted |= {"states": states}
        found = [
            (stream, scores)
            for name, file in self.files.items()
            if (name == of if of else not name.startswith(BEFORE))
            for stream in file["streams"]
            for scores in stream["methods"]
            if scores["method"] == method and _fits(stream, scores, wanted)
        ]
        what = f"{method} on {data} in {states} states"
        _check_one_training([stream for stream, _ in found], what)
        return _one_of([_row(s, scores, self._seconds(s)) for s, scores in found], what)

    def _seconds(self, stream: dict[str, Any]) -> float:
        """The least time of a training that differs at most in its record and seed."""
        same = ("data", "states", "strategy", "backbone", *SHARES)
        return min(
            seconds
            for file in self.files.values()
            for other in file["streams"]
            if all(other[name] == stream[name] for name in same)
            for seconds in other["quiet_seconds"]
        )

    def chance(self, data: str, states: int) -> tuple[str, str]:
        """Top-1 and top-5 of guessing."""
        streams = [stream for file in self.files.values() for stream in file["streams"]]
        for stream in streams:
            if (stream["data"], stream["states"]) == (data, states):
                return f"{stream['chance_top1']:.1f}", f"{stream['chance_top5']:.1f}"
        return MISSING, MISSING

    def made(self, *names: str) -> list[dict[str, Any]]:
        """What made the runs of some files, or of all."""
        files = [self.files[name] for name in names or self.files if name in self.files]
        return [made for file in files for made in file["made"]]


def _fits(stream: dict[str, Any], scores: dict[str, Any], wanted: dict[str, Any]) -> bool:
    depends = DEPENDS[scores["reads"]]
    return all(
        stream[name] == value
        for name, value in wanted.items()
        if value is not None and (name not in RECORD or name in depends)
    )


def _row(stream: dict[str, Any], scores: dict[str, Any], seconds: float) -> Row:
    seeds = stream["seeds"]

    def figure(values: list[float | None]) -> Score:
        pairs = zip(seeds, values, strict=True)
        there = {seed: value for seed, value in pairs if value is not None}
        return Score(there, memoryless=stream["memoryless"])

    at_once = stream["states"] == 1  # then there is no average over later states
    top1, top5 = ("last_top1", "last_top5") if at_once else ("top1", "top5")
    return Row(
        method=scores["method"],
        memoryless=stream["memoryless"],
        bytes_kept=scores["bytes_kept"],
        image_bytes=stream["image_bytes"],
        top1=figure(scores[top1]),
        top5=figure(scores[top5]),
        last_top1=figure(scores["last_top1"]),
        last_top5=figure(scores["last_top5"]),
        past=figure(scores["past"]),
        forgetting=figure(scores["forgetting"]),
        seconds=seconds,
    )


def _check_one_training(streams: list[dict[str, Any]], what: str) -> None:
    """Seeds of trainings with other settings, where files tell them, do not make one row."""
    for name in TRAINING:
        values = {stream[name] for stream in streams if name in stream}
        if len(values) > 1:
            raise SystemExit(f"several rows fit {what}, of {name} {sorted(values)}: {WHICH}")


def _one_of(rows: list[Row], what: str) -> Row:
    """One row of all seeds; where several have a seed, they must not contradict each other."""
    joined = Row()
    for row in rows:
        for k in ("top1", "top5"):
            differences = (getattr(row, k) - getattr(joined, k)).values
            if any(abs(value) > 0.005 for value in differences.values()):
                most = max(differences.values())
                raise SystemExit(f"several rows fit {what}, and differ by {most:.2f}: {WHICH}")
        joined = _joined(joined, row) if joined else row
    return joined


def _joined(one: Row, other: Row) -> Row:
    """A row with the seeds of both."""
    scores = {name: value for name, value in vars(one).items() if isinstance(value, Score)}
    return replace(one, **{name: score | getattr(other, name) for name, score in scores.items()})


def kept(number: int | None) -> str:
    """Bytes as a person says them.

    >>> kept(0), kept(26_400)
    ('nothing', '26.4 kB')
    """
    return size(number) if number else "nothing"


def verdict(*comparisons: list[bool]) -> str:
    """Whether a claim holds: in every seed of every comparison, in none, or in some.

    >>> verdict([True, True]), verdict([True], [False]), verdict([False]), verdict([])
    ('holds', 'unclear', 'does not hold', 'not measured')
    """
    seeds = [answer for comparison in comparisons for answer in comparison]
    if not seeds:
        return "not measured"
    return "holds" if all(seeds) else "unclear" if any(seeds) else "does not hold"
