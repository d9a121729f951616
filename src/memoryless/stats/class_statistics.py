"""Class statistics: counts, means and scatter of each class's features, for one or more groups.

Over fixed features, in the form tied, they are sums in double precision, so they can be added in
any order: in single precision scores, which span hundreds, would differ by 2e-5 between two orders
of the same images; in double precision they differ by 2e-12. All others are kept in single
precision; those of trained features follow the features when the network changes.

Rows are features: a mean is (d,), a covariance (d, d), and a linear map A (d, d) moves features as
f A, so that means move as m A and covariances as A' S A.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, Self

import numpy as np

from memoryless.errors import ConfigError
from memoryless.names import suggestion
from memoryless.threads import one_thread

AT_ONCE = 2**21  # numbers in work: they stay in the cache, and matrix products are still fast
ROUNDING = 1e-24
"""A scatter this small beside the sum of squares is rounding: all images of a class are alike."""

FORMS = {
    "none": "no statistics",
    "mean": "count and mean",
    "low-rank:K": "and the K widest directions of each class",
    "tied": "and one covariance for all classes",
    "full": "and a covariance of each class",
}


def check_form(form: str) -> str:
    """Return the form, or raise an error if there is no such form."""
    if re.fullmatch(r"none|mean|low-rank:[1-9]\d{0,5}|tied|full", form):
        return form
    raise ConfigError(
        f"unknown statistics '{form}': choose from {', '.join(FORMS)}, K a number"
        f"{suggestion(form, FORMS)}"
    )


@dataclass(frozen=True)
class Group:
    """Means of N classes in one group of features, and their scatter or covariances in one form."""

    mean: np.ndarray  # (N, d)
    scatter: np.ndarray | None = None  # (d, d), sum over all images of (f - m)'(f - m): tied
    own: np.ndarray | None = None  # (N, d, d), the covariance of each class: full
    factors: np.ndarray | None = None  # (N, K, d), their outer products sum to the widest part
    rest: np.ndarray | None = None  # (N,), variance in each direction that the factors leave out
    spread: np.ndarray | None = None  # (R, d)
    """Each class's own scatter, where classes can be forgotten exactly. A class of n images has
    `spread_rows(n, d)` rows R, and R'R is its scatter, which would take more room as long as there
    are fewer images than features."""

    @property
    def d(self) -> int:
        return self.mean.shape[1]

    def parts(self) -> dict[str, np.ndarray]:
        """Return the arrays that are there, by name."""
        return {name: array for name, array in vars(self).items() if array is not None}

    def alike(self, count: np.ndarray) -> bool:
        """Return whether all images of each class are alike, so that their scatter is rounding."""
        assert self.scatter is not None
        return bool(self.scatter.trace() <= ROUNDING * (count @ np.square(self.mean).sum(1)))

    def spreads(self, count: np.ndarray) -> list[np.ndarray]:
        """Return the spread of each class."""
        assert self.spread is not None
        rows = spread_rows(count, self.d)
        return np.split(self.spread, np.cumsum(rows)[:-1]) if len(rows) else []

    def join(self, other: Self, past: np.ndarray, count: np.ndarray, places: np.ndarray) -> Self:
        """Join both; class i of the other is class places[i], of `past` images before."""
        new = len(past) - len(self.mean)
        mean = np.concatenate([self.mean, np.zeros((new, self.d), self.mean.dtype)])
        share = (count / (past[places] + count)).astype(mean.dtype)
        away = other.mean - mean[places]
        mean[places] += share[:, None] * away
        # What the scatter around two means lacks of that around their common mean.
        between = np.sqrt(past[places] * share)[:, None] * away
        joined: dict[str, Any] = {"mean": mean}
        if self.scatter is not None:
            both = between[past[places] > 0]
            joined["scatter"] = self.scatter + other.scatter + both.T @ both
        if self.spread is not None and other.spread is not None:
            parts = [*self.spreads(past[: len(self.mean)]), *[np.zeros((0, self.d))] * new]
            for place, part, row in zip(places, other.spreads(count), between, strict=True):
                known = [parts[place], row[None]] if past[place] else []
                parts[place] = _triangle(np.concatenate([*known, part])) if known else part
            joined["spread"] = np.concatenate(parts)
        for name in ("own", "factors", "rest"):  # of new classes only
            if (mine := getattr(self, name)) is not None:
                joined[name] = np.concatenate([mine, getattr(other, name)])
        return type(self)(**joined)

    def without(self, count: np.ndarray, gone: np.ndarray) -> Self:
        """Return the statistics without the classes of a mask (N,)."""
        stay = ~gone
        assert self.scatter is not None
        if self.spread is None:
            left = count[stay].sum() / count.sum()
            return type(self)(self.mean[stay], self.scatter * left)
        spread = self.spread[np.repeat(stay, spread_rows(count, self.d))]
        return type(self)(self.mean[stay], spread.T @ spread, spread=spread)


@dataclass(frozen=True)
class ClassStatistics:
    """Statistics of N classes: how many images each has, and what is kept of each feature group."""

    count: np.ndarray  # (N,)
    groups: tuple[Group, ...]
    fixed: bool = False
    """Whether features are fixed. In the form tied, everything here is then a sum in double
    precision."""

    @classmethod
    def empty(cls, *sizes: int, forgettable: bool = False) -> Self:
        """Return the sums over no image, in groups of so many features.

        `forgettable` ones keep each class's own scatter.
        """
        groups = []
        for d in sizes:
            none = np.zeros((0, d))
            groups.append(Group(none, np.zeros((d, d)), spread=none if forgettable else None))
        return cls(np.zeros(0), tuple(groups), fixed=True)

    @classmethod
    def of(
        cls,
        features: np.ndarray,
        labels: np.ndarray,
        classes: int,
        *,
        view: Callable[[np.ndarray], np.ndarray] = np.asarray,
        form: str = "tied",
        fixed: bool = False,
        forgettable: bool = False,
    ) -> Self:
        """Return the statistics of features (n, d) of classes 0 to classes - 1, none of them empty.

        They are computed from a view of the features, which turns rows (n, D) into rows (n, d).
        """
        check_form(form)
        small = labels.astype(np.min_scalar_type(classes))  # which NumPy sorts by radix
        order = np.argsort(small, kind="stable")
        labels = labels[order]

        def read(some: slice | np.ndarray) -> np.ndarray:
            """Return some of the rows, which stand by class, in double precision."""
            return view(features[order[some]].astype(np.float64))  # (m, d)

        with one_thread():
            if form == "tied":
                count, group = _tied(read, labels, classes, forgettable)
            else:
                count, group = _by_class(read, labels, form)
        made = cls(count, (group,), fixed)
        return made if fixed and form == "tied" else made._single()

    @classmethod
    def of_groups(
        cls,
        features: np.ndarray,
        labels: np.ndarray,
        classes: int,
        sizes: Sequence[int],
        *,
        view: Callable[[np.ndarray], np.ndarray] = np.asarray,
        form: str = "tied",
        forgettable: bool = False,
    ) -> Self:
        """Return the statistics of fixed features (n, d) in groups of these sizes.

        They are computed from a view of each group. Groups after the first are in the form tied,
        where the first has covariances.
        """
        first, *others = np.split(features, np.cumsum(sizes)[:-1], axis=1)
        of = partial(cls.of, labels=labels, classes=classes, view=view, fixed=True,
                     forgettable=forgettable)  # fmt: skip
        made = of(first, form=form)
        rest = (of(group).first for group in others if made.has_covariances)
        return replace(made, groups=(made.first, *rest))

    def _single(self) -> Self:
        parts = {name: array.astype(np.float32) for name, array in self.first.parts().items()}
        return replace(self, count=self.count.astype(np.float32), groups=(Group(**parts),))

    @property
    def classes(self) -> int:
        return len(self.count)

    @property
    def photos(self) -> float:
        """How many images all classes have."""
        return float(self.count.sum())

    @property
    def first(self) -> Group:
        """The first group, which heads read."""
        return self.groups[0]

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many features each group has."""
        return tuple(group.d for group in self.groups)

    @property
    def mean(self) -> np.ndarray:
        return self.first.mean

    @property
    def centre(self) -> np.ndarray:
        """The mean (d,) of all images."""
        return self.count @ self.mean / self.count.sum()

    @property
    def forgettable(self) -> bool:
        return self.first.spread is not None

    @property
    def has_covariances(self) -> bool:
        return self.first.parts().keys() > {"mean"}

    @property
    def covariances(self) -> np.ndarray:
        """A covariance for each class (N, d, d), as far as the form has it."""
        group = self.first
        if group.own is not None:
            return group.own
        if group.factors is not None and group.rest is not None:
            wide = group.factors.swapaxes(1, 2) @ group.factors
            return wide + group.rest[:, None, None] * np.eye(group.d, dtype=wide.dtype)
        return np.broadcast_to(self.pooled, (self.classes, group.d, group.d))

    @property
    def pooled(self) -> np.ndarray:
        """One covariance for all classes (d, d), weighted by their counts."""
        if self.first.scatter is not None:
            return self.first.scatter / self.count.sum()
        if not self.has_covariances:
            raise ConfigError(
                "the record holds no covariances: learn with `statistics=full`, tied or low-rank:K"
            )
        weights = (self.count / self.count.sum()).astype(self.mean.dtype)
        return np.tensordot(weights, self.covariances, axes=1)

    def join(self, other: Self, places: np.ndarray | None = None) -> Self:
        """Join both; class i of the other is class places[i] of the result.

        A place from `classes` on is a new class, as all are where no places are given. What can be
        forgotten exactly stays so if it is so in both.
        """
        if places is None:
            places = np.arange(self.classes, self.classes + other.classes)
        new = max(0, int(places.max(initial=-1)) + 1 - self.classes)
        past = np.concatenate([self.count, np.zeros(new, self.count.dtype)])
        count = past.copy()
        count[places] += other.count
        with one_thread():
            groups = tuple(
                mine.join(theirs, past, other.count, places)
                for mine, theirs in zip(self.groups, other.groups, strict=True)
            )
        return replace(self, count=count, groups=groups)

    def without(self, gone: np.ndarray) -> Self:
        """Return the statistics without the classes of a mask (N,).

        With their spread it is as if these classes had never been. Without it the covariance stays
        as it was: a class that is gone has weight n / (images of all) in it.
        """
        with one_thread():
            groups = tuple(group.without(self.count, gone) for group in self.groups)
        return replace(self, count=self.count[~gone], groups=groups)

    def with_parts(self, **parts: Any) -> Self:
        """Return the same with other arrays of the first group."""
        return replace(self, groups=(replace(self.first, **parts),))

    def move(self, A: np.ndarray) -> Self:
        """Return the statistics of features f A.

        Exact for full and tied. Low-rank factors are moved too, and the rest grows by A's mean
        square.
        """
        group = self.first
        moved = {"mean": group.mean @ A}
        if group.own is not None:
            moved["own"] = A.T @ group.own @ A
        if group.scatter is not None:
            moved["scatter"] = A.T @ group.scatter @ A
        if group.factors is not None and group.rest is not None:
            moved["factors"] = group.factors @ A
            moved["rest"] = group.rest * np.square(A).sum() / len(A)
        return self.with_parts(**moved)

    def widen(self, covariance: np.ndarray) -> Self:
        """Add the covariance of independent noise; low-rank forms take it in the rest."""
        parts = self.first.parts()
        noise = {"own": covariance, "scatter": self.count.sum() * covariance}
        noise["rest"] = covariance.diagonal().mean()
        return self.with_parts(**{n: parts[n] + noise[n] for n in noise if n in parts})

    def scale(self, factors: np.ndarray) -> Self:
        """Return the statistics of features times a factor (N,) for each class."""
        parts, square = self.first.parts(), np.square(factors)
        by = {"mean": factors[:, None], "factors": factors[:, None, None], "rest": square}
        by["own"] = square[:, None, None]
        by["scatter"] = (square * self.count).sum() / self.count.sum()
        return self.with_parts(**{name: parts[name] * by[name] for name in by if name in parts})

    def levelled(self, is_new: np.ndarray) -> Self:
        """Scale past classes so that their means are as long, on average, as those of new ones.

        A map is fitted on new classes, and means of others come out too short: a regression leans
        to what it has seen. Where lengths differ between classes, they go on to differ.
        """
        length = np.linalg.norm(self.mean, axis=1)
        if is_new.all() or not length[~is_new].any():
            return self
        ratio = length[is_new].mean() / length[~is_new].mean()
        return self.scale(np.where(is_new, np.ones_like(ratio), ratio))

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays to store: of the scatter, which is symmetric, one triangle."""
        found = {"count": self.count}
        for number, group in enumerate(self.groups):
            for name, array in group.parts().items():
                stored = _upper(array) if name == "scatter" else array
                found[stored_name(number, name)] = stored
        return found

    @classmethod
    def restore(cls, arrays: Mapping[str, np.ndarray], fixed: bool = False) -> Self:
        """Return the statistics of what `arrays` gave; other arrays are left alone."""
        names = [field.name for field in fields(Group)]
        groups: list[Group] = []
        while (prefix := stored_name(len(groups), "mean")) in arrays:
            number, d = len(groups), arrays[prefix].shape[1]
            stored = {name: stored_name(number, name) for name in names}
            parts = {name: arrays[key] for name, key in stored.items() if key in arrays}
            if "scatter" in parts:
                parts["scatter"] = _square(parts["scatter"], d)
            groups.append(Group(**parts))
        return cls(arrays["count"], tuple(groups), fixed)


def stored_name(group: int, part: str) -> str:
    """Return the name of a stored array; only groups after the first have their number in it."""
    return f"{group}.{part}" if group else part


def _square(triangle: np.ndarray, d: int) -> np.ndarray:
    """Return the symmetric matrix (d, d) with this upper triangle."""
    square, upper = np.empty((d, d), triangle.dtype), np.tri(d, dtype=bool).T
    square[upper] = square.T[upper] = triangle
    return square


def _upper(square: np.ndarray) -> np.ndarray:
    """Return the upper triangle of a symmetric matrix, row by row."""
    return square[np.tri(len(square), dtype=bool).T]


def spread_rows(count: np.ndarray, d: int) -> np.ndarray:
    """Return how many rows the spread of classes with so many images has.

    >>> spread_rows(np.array([1.0, 5.0, 900.0]), 64).tolist()
    [0, 4, 64]
    """
    return np.minimum(count.astype(np.int64) - 1, d)


Read = Callable[[slice | np.ndarray], np.ndarray]


def _tied(
    read: Read, labels: np.ndarray, classes: int, forgettable: bool
) -> tuple[np.ndarray, Group]:
    """Sum up rows whose labels (n,) ascend, a chunk at a time: counts, means, one scatter.

    Each chunk is centred by its own means of classes. A class that came in several pieces then
    lacks the scatter of the pieces' means around its mean, which is added at the end.
    """
    d = read(slice(1)).shape[1]
    scatter, found = np.zeros((d, d)), []
    step = max(1, AT_ONCE // d)
    for start in range(0, len(labels), step):
        own, away = labels[start : start + step], read(slice(start, start + step))  # (m,), (m, d)
        first = np.flatnonzero(np.diff(own, prepend=-1))  # where a class begins in the chunk
        number, pieces = np.diff(first, append=len(own)), np.split(away, first[1:])
        total = np.array([piece.sum(0) for piece in pieces])
        for piece, mean in zip(pieces, total / number[:, None], strict=True):
            np.subtract(piece, mean, out=piece)
        scatter += away.T @ away
        found.append((own[first], number, total))
    label, number, total = (np.concatenate(column) for column in zip(*found, strict=True))
    first = np.searchsorted(label, np.arange(classes))
    count = np.add.reduceat(number, first).astype(np.float64)
    mean = np.add.reduceat(total, first) / count[:, None]
    between = np.sqrt(number)[:, None] * (total / number[:, None] - mean[label])
    spread = None
    if forgettable:
        each = zip(_each(labels), mean, strict=True)
        spread = np.concatenate([_spread(read(own) - m) for own, m in each])
    return count, Group(mean, scatter + between.T @ between, spread=spread)


def _by_class(read: Read, labels: np.ndarray, form: str) -> tuple[np.ndarray, Group]:
    """Return counts and means, and in the forms full and low-rank the covariance of each class."""
    count, means, covariances = [], [], []
    for own in _each(labels):
        features = read(own)
        count.append(float(len(features)))
        means.append(features.mean(0))
        if form != "mean":
            away = features - means[-1]
            covariances.append(away.T @ away / len(away))
    group = Group(np.array(means))
    if form == "full":
        group = replace(group, own=np.array(covariances))
    elif form != "mean":
        factors, rest = low_rank(np.array(covariances), int(form.removeprefix("low-rank:")))
        group = replace(group, factors=factors, rest=rest)
    return np.array(count), group


def _each(labels: np.ndarray) -> list[np.ndarray]:
    """Return which of the ascending labels are those of each class."""
    return np.split(np.arange(len(labels)), np.flatnonzero(np.diff(labels)) + 1)


def low_rank(covariances: np.ndarray, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the widest directions of covariances (N, rank, d), and the variance left (N,)."""
    d = covariances.shape[-1]
    rank = min(rank, d)
    values, vectors = np.linalg.eigh(covariances)  # ascending
    values = values.clip(min=0)
    rest = values[:, : d - rank].sum(1) / max(d - rank, 1)
    widths = np.sqrt((values[:, d - rank :] - rest[:, None]).clip(min=0))
    return (vectors[:, :, d - rank :] * widths[:, None]).swapaxes(1, 2), rest


def _spread(away: np.ndarray) -> np.ndarray:
    """Return the spread of a class, from its rows (n, d), which add up to zero.

    A reflection takes the direction in which all n count alike to the first row, which becomes zero
    and is left out.
    """
    return _triangle(away[1:] - away[:1] / (1 + math.sqrt(len(away))))


def _triangle(rows: np.ndarray) -> np.ndarray:
    """Return at most d rows with the same scatter, none of which belongs to one image alone."""
    return np.asarray(np.linalg.qr(rows, mode="r"))
