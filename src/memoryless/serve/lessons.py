"""Lessons: photos that were embedded and are not learned yet, as feature rows in memory alone."""

from __future__ import annotations

import secrets
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from memoryless.images.duplicates import several_labels
from memoryless.images.read import Facts
from memoryless.serve.limits import Limits
from memoryless.serve.refusals import Refusal


@dataclass(frozen=True)
class Entry:
    """A photo of a lesson: its class, its feature (d,), and facts such as its digest."""

    label: str
    row: np.ndarray
    facts: Facts


@dataclass
class Lesson:
    """Photos of a lesson by their places, which count from 0 and are never given twice."""

    id: str
    backbone: str
    """The digest of the graph that computed the features."""
    known: frozenset[str] | None
    """The classes that the model knew when the lesson was opened; None for one request."""
    used: float
    """When it was used last."""
    entries: dict[int, Entry] = field(default_factory=dict)
    next: int = 0
    busy: bool = False
    """Whether it is being learned or checked."""

    def add(self, entries: Sequence[Entry | None]) -> list[int]:
        """Add photos; one that cannot be read has a place and no entry. Return their places."""
        places = list(range(self.next, self.next + len(entries)))
        self.next += len(entries)
        self.entries |= {i: one for i, one in zip(places, entries, strict=True) if one}
        return places

    def remove(self, places: Iterable[int]) -> int:
        """Take photos out; return how many there were."""
        return sum(self.entries.pop(place, None) is not None for place in places)

    def counts(self) -> dict[str, int]:
        """Return how many photos each class has."""
        return dict(sorted(Counter(one.label for one in self.entries.values()).items()))

    def under_several_labels(self) -> list[int]:
        """Return the places of photos that are equal to one of another class, byte by byte."""
        twice = several_labels((one.label, one.facts.sha256) for one in self.entries.values())
        return [place for place, one in self.entries.items() if one.facts.sha256 in twice]

    def copy(self) -> Lesson:
        """Return the lesson as it is now, to be read by another thread."""
        entries = dict(self.entries)
        return Lesson(self.id, self.backbone, self.known, self.used, entries, self.next)


class Lessons:
    """The open lessons of a server; those that nobody uses are dropped."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic):
        self.limits, self.clock = limits, clock
        self._open: dict[str, Lesson] = {}

    def __len__(self) -> int:
        return len(self._open)

    def open(self, backbone: str, known: Iterable[str]) -> Lesson:
        """Open a lesson."""
        self.drop_old()
        if len(self._open) >= self.limits.lessons:
            raise Refusal(
                429,
                f"there are {self.limits.lessons} open lessons already: learn or delete one, or "
                "wait until one expires",
                Retry_After="60",
            )
        lesson = Lesson(secrets.token_urlsafe(16), backbone, frozenset(known), self.clock())
        self._open[lesson.id] = lesson
        return lesson

    def get(self, name: str) -> Lesson:
        """Return an open lesson that nobody is learning."""
        self.drop_old()
        if name not in self._open:
            raise Refusal(404, "this lesson is not open, perhaps it expired: open another")
        lesson = self._open[name]
        if lesson.busy:
            raise Refusal(409, "the lesson is being learned or checked: wait for the answer")
        lesson.used = self.clock()
        return lesson

    def check_room(self, lesson: Lesson, photos: int, names: Iterable[str]) -> None:
        """Raise unless a lesson can hold so many photos more, of these classes."""
        if len(lesson.entries) + photos > self.limits.lesson_photos:
            raise Refusal(
                413,
                f"a lesson holds {self.limits.lesson_photos:,} photos at most: learn this one, and "
                "open another",
            )
        if len({*lesson.counts(), *names}) > self.limits.classes:
            raise Refusal(
                413,
                f"a lesson holds {self.limits.classes:,} classes at most: learn this one, and open "
                "another",
            )

    def close(self, name: str) -> None:
        """Drop a lesson with all that it holds."""
        self._open.pop(name, None)

    def drop_old(self) -> None:
        """Drop the lessons that were not used for long."""
        limit = self.clock() - self.limits.lesson_seconds
        for name, lesson in list(self._open.items()):
            if lesson.used < limit and not lesson.busy:
                self.close(name)
