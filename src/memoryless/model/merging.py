"""Models that can be merged: their features compare, and no photo counts twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeVar, cast

from memoryless.errors import ConfigError, DataError
from memoryless.names import counted, first_ten

if TYPE_CHECKING:
    from memoryless.model.fixed import FixedFeatures
    from memoryless.model.model import Model

T = TypeVar("T")


def named(parts: Sequence[T | Mapping[str, T]]) -> Mapping[str, T]:
    """Return things by name: those of one mapping, or several things, numbered from 1."""
    if len(parts) == 1 and isinstance(parts[0], Mapping):
        return {str(name): part for name, part in parts[0].items()}
    return {str(i): cast("T", part) for i, part in enumerate(parts, 1)}


def check_alike(each: Mapping[str, FixedFeatures]) -> None:
    """Raise unless all have features that compare."""
    (first, own), *others = each.items()
    for path, other in others:
        for why in own.differences(other):
            raise ConfigError(f"{first} and {path} cannot be merged, because {why}")


def check_counted_once(models: Mapping[str, Model]) -> None:
    """Raise if two models learned the same photos: one is a copy of the other, or contains it."""
    marks = {path: _marks(model) for path, model in models.items()}
    for one, two in combinations(marks, 2):
        if both := [name for mark, name in marks[one].items() if mark in marks[two]]:
            raise DataError(
                f"{one} and {two} have learned the same photos of {first_ten(both)}, which would "
                "count twice: leave out one of the two, or forget these classes in it"
            )


def _marks(model: Model) -> dict[tuple[Any, ...], str]:
    """Return the name of each class by a mark of its photos, which stays when names change."""
    dates = [model._classes.learned[first].date for first in model.class_state]
    statistics = model._learned("be merged").sums
    # Constant features of one model and of another cannot be distinguished.
    if statistics.first.alike(statistics.count):
        return {}
    rows = zip(model.classes, dates, model.counts, statistics.mean, strict=True)
    return {(date, count, mean.tobytes()): name for name, date, count, mean in rows}


def check_distinct(models: Mapping[str, Model]) -> None:
    """Raise if several models know a class of the same name."""
    seen: dict[str, list[str]] = {}
    for path, model in models.items():
        for name, count in zip(model.classes, model.counts, strict=True):
            seen.setdefault(name, []).append(f"{counted(count, 'photo', 'photos')} in {path}")
    twice = [f"{name} ({', '.join(where)})" for name, where in seen.items() if len(where) > 1]
    if twice:
        raise DataError(
            f"several models know {first_ten(twice)}: add `same_class=join` if that is the same "
            "class, or else rename it in one by memoryless rename"
        )
