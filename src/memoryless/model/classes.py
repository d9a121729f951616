"""The classes of a model: their names, how many photos each has, and which state brought them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import count as numbers
from pathlib import Path
from typing import Annotated, Self

from msgspec import Meta, Struct, field
from msgspec.structs import replace

SAFE = 2**53  # every program reads whole numbers up to here
Count = Annotated[int, Meta(ge=0, le=SAFE)]
Some = Annotated[int, Meta(ge=1, le=SAFE)]
Name = Annotated[str, Meta(min_length=1, max_length=255)]
Date = Annotated[str, Meta(pattern=r"^\d{4}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-6]\dZ$")]


class Strict(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A part of a description; a key that is none of its own is an error."""


class Learned(Strict, frozen=True, kw_only=True):
    """A state: what one call brought."""

    date: Date
    photos: Count
    more: dict[Name, Some] = field(default_factory=dict)
    """How many of the photos were of which class that was known already."""
    model: Name | None = None
    """The model that learned it, where it was merged into this one."""


@dataclass(frozen=True)
class Classes:
    """Names, counts and first states, one each a class, and all states; a change gives another."""

    names: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()
    """Photos of each class."""
    first: tuple[int, ...] = ()
    """The state that brought each class, from 0."""
    learned: tuple[Learned, ...] = ()
    """The states."""

    def learn(self, count: Mapping[str, int], date: str, model: str | None = None) -> Self:
        """Return the classes after one more state, which brought so many photos of each class; new
        ones come last, in that order.
        """
        return self._after([(count, date, model)])

    def _after(self, states: Iterable[tuple[Mapping[str, int], str, str | None]]) -> Self:
        """Return the classes after several more states, each as `learn` takes one."""
        counts, first, learned = dict(self._counted()), list(self.first), list(self.learned)
        for count, date, model in states:
            more = {name: n for name, n in count.items() if name in counts}
            first += [len(learned)] * (len(count) - len(more))
            learned.append(Learned(date=date, photos=sum(count.values()), more=more, model=model))
            for name, n in count.items():
                counts[name] = counts.get(name, 0) + n
        return type(self)(tuple(counts), tuple(counts.values()), tuple(first), tuple(learned))

    def brought(self) -> list[dict[str, int]]:
        """Return how many photos of each class every state brought."""
        found = [dict(state.more) for state in self.learned]
        more: Counter[str] = Counter()
        for state in self.learned:
            more.update(state.more)
        for (name, count), first in zip(self._counted(), self.first, strict=True):
            found[first][name] = count - more[name]
        return found

    def forget(self, names: Collection[str]) -> Self:
        """Return the others, without photos of the forgotten ones in any state."""
        names = set(names)
        gone = [sum(n for name, n in b.items() if name in names) for b in self.brought()]
        states = [
            replace(
                state,
                photos=state.photos - number,
                more={name: n for name, n in state.more.items() if name not in names},
            )
            for state, number in zip(self.learned, gone, strict=True)
        ]
        stay = [i for i, name in enumerate(self.names) if name not in names]
        return type(self)(
            tuple(self.names[i] for i in stay),
            tuple(self.counts[i] for i in stay),
            tuple(self.first[i] for i in stay),
            tuple(states),
        )

    def rename(self, names: Mapping[str, str]) -> Self:
        """Return the same with other names for some classes."""
        states = [
            replace(state, more={names.get(name, name): n for name, n in state.more.items()})
            for state in self.learned
        ]
        renamed = tuple(names.get(name, name) for name in self.names)
        return type(self)(renamed, self.counts, self.first, tuple(states))

    def merge(self, other: Self, model: str) -> Self:
        """Return these classes with all states of another model; of a class that both have, its
        photos are more.

        Models that are merged already keep their names, as far as these are still free.
        """
        taken = {state.model for state in self.learned if state.model}
        called: dict[str, str] = {}
        for own in [state.model or model for state in other.learned]:
            if own not in called:
                called[own] = _free(own, taken)
                taken.add(called[own])
        return self._after(
            (count, state.date, called[state.model or model])
            for state, count in zip(other.learned, other.brought(), strict=True)
        )

    def _counted(self) -> zip[tuple[str, int]]:
        return zip(self.names, self.counts, strict=True)


def model_name(path: str) -> str:
    """Return what a model at a path is called: without folders, which may name a person.

    >>> model_name("data/north"), model_name("mail/south.memoryless"), model_name("/")
    ('north', 'south', 'model')
    """
    whole = Path(path)
    name = whole.resolve().name if whole.name in ("", "..") else whole.name
    return name.removesuffix(".memoryless") or "model"


def _free(name: str, taken: Collection[str]) -> str:
    """Return the name, or the first numbered one that is not taken."""
    names = (f"{name}-{i}" if i > 1 else name for i in numbers(1))
    return next(name for name in names if name not in taken)
