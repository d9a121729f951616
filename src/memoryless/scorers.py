"""Scorers: features (n, d) to scores (n, N), the larger the likelier.

A scorer is data: a kind and arrays. Its arithmetic is the same for NumPy arrays and torch tensors,
so that predicting needs NumPy alone.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from types import ModuleType
from typing import Any, ClassVar, Protocol

import numpy as np

from memoryless.errors import StoreError

Array = Any  # np.ndarray or torch.Tensor: only what both can do is used

MOST_VALUES = 2**23  # held at once by a scorer that needs more than its scores
COLUMNS = 64  # of a triangular root multiplied at once


def library(values: Array) -> ModuleType:
    """The library of an array, NumPy or torch, whose functions of one name do the same."""
    return sys.modules[type(values).__module__.partition(".")[0]]


def unit(features: Array) -> Array:
    """Features at length one; a row of zeros stays so."""
    if isinstance(features, np.ndarray):
        length = np.linalg.norm(features, axis=1, keepdims=True)
    else:
        length = features.norm(dim=1, keepdim=True)
    return features / length.clip(min=1e-12)


def square_roots(features: Array) -> Array:
    """Square roots of features at length one, which keep their signs.

    Their classes are closer to normal (Tukey's transformation, as in FeCAM, NeurIPS 2023).

    >>> (square_roots(np.array([[0.36, -0.48, 0.8], [0, 0, 0]])) ** 2).round(2).tolist()
    [[0.36, 0.48, 0.8], [0.0, 0.0, 0.0]]
    """
    whole, xp = unit(features), library(features)
    return xp.sign(whole) * xp.sqrt(abs(whole))


class Scorer(Protocol):
    kind: ClassVar[str]

    def __call__(self, features: Array) -> Array: ...

    @property
    def cost(self) -> int:
        """Multiplications for one image."""


@dataclass(frozen=True)
class Linear:
    """f W' + b, of the first d features, at length one if `unit`."""

    kind: ClassVar[str] = "linear"
    shapes: ClassVar[dict[str, str]] = {"W": "Nd", "b": "N"}
    W: Array  # (N, d)
    b: Array  # (N,)
    unit: bool = False

    def __call__(self, features: Array) -> Array:
        read = features[:, : self.W.shape[1]]
        return (unit(read) if self.unit else read) @ self.W.T + self.b

    @property
    def cost(self) -> int:
        return self.W.shape[0] * self.W.shape[1]


@dataclass(frozen=True)
class Quadratic:
    """-|(f - m) R|^2 with a mean and a root for each class, of features at length one if `unit`."""

    kind: ClassVar[str] = "quadratic"
    shapes: ClassVar[dict[str, str]] = {"mean": "Nd", "root": "Ndd"}
    mean: Array  # (N, d)
    root: Array  # (N, d, d) upper triangular, root root' is the inverse of a covariance
    unit: bool = True

    def __call__(self, features: Array) -> Array:
        whole = unit(features) if self.unit else features
        rows = max(1, MOST_VALUES // (len(self.mean) * COLUMNS))
        parts = [self._score(whole[i : i + rows]) for i in range(0, len(whole), rows)]
        return library(features).concatenate(parts)

    def _score(self, features: Array) -> Array:
        """Scores from a block of columns at a time; the zeros of roots below it are left out."""
        classes, d = self.mean.shape
        scores: Array = 0.0
        for start in range(0, d, COLUMNS):
            end = min(start + COLUMNS, d)
            block = self.root[:, :end, start:end]  # (N, end, columns)
            centre = (self.mean[:, None, :end] @ block)[:, 0]  # (N, columns)
            wide = block.swapaxes(0, 1).reshape(end, -1)
            away = (features[:, :end] @ wide).reshape(-1, classes, end - start)
            away -= centre
            away *= away
            scores = scores - away.sum(2)
        return scores

    @property
    def cost(self) -> int:
        classes, d = self.mean.shape
        return classes * d * (d + 1) // 2


@dataclass(frozen=True)
class Projected:
    """A linear scorer over random ReLU features."""

    kind: ClassVar[str] = "projected"
    shapes: ClassVar[dict[str, str]] = {"directions": "dP"}
    directions: Array  # (d, P)
    over: Linear  # (N, P)

    def __call__(self, features: Array) -> Array:
        return self.over((features @ self.directions).clip(min=0))

    @property
    def cost(self) -> int:
        d, size = self.directions.shape
        return d * size + self.over.cost


@dataclass(frozen=True)
class View:
    """Which features class statistics are computed from: those that rows read, or the ones after
    them, and as they are, at length one, or the square roots of those at length one.
    """

    start: int = 0
    """The first column read; 0 for all, which rows read too."""
    square_roots: bool = False
    unit: bool = False

    @classmethod
    def of(cls, settings: Mapping[str, Any], row: int, unit: bool = False) -> View:
        """The view that settings ask for, where rows have this length."""
        if settings["statistics"] == "none" and not settings["projection"]:
            return cls()
        start, roots = row if settings["level"] == "middle" else 0, settings["square_roots"]
        return cls(start, roots, unit and not roots)

    def __call__(self, features: Array) -> Array:
        read = features[:, self.start :]
        if self.square_roots:
            return square_roots(read)
        return unit(read) if self.unit else read

    def rows(self, features: Array) -> Array:
        """The features that rows read."""
        return features[:, : self.start] if self.start else features


@dataclass(frozen=True)
class Viewed:
    """A scorer over a view of the features."""

    kind: ClassVar[str] = "viewed"
    shapes: ClassVar[dict[str, str]] = {}
    over: Scorer
    start: int
    square_roots: bool
    unit: bool = False

    def __call__(self, features: Array) -> Array:
        return self.over(View(self.start, self.square_roots, self.unit)(features))

    @property
    def cost(self) -> int:
        return self.over.cost


@dataclass(frozen=True)
class Calibrated:
    """A scorer whose scores are those of another, calibrated."""

    over: Scorer

    def __call__(self, features: Array) -> Array:
        return self.calibrate(self.over(features))

    def calibrate(self, scores: Array) -> Array:
        """Calibrated scores; those given stay as they are."""
        raise TypeError(f"{type(self).__name__} does not calibrate")

    @property
    def cost(self) -> int:
        return self.over.cost


@dataclass(frozen=True)
class Affine(Calibrated):
    """Scores times a gain and plus an offset for each class."""

    kind: ClassVar[str] = "affine"
    shapes: ClassVar[dict[str, str]] = {"gain": "N", "offset": "N"}
    gain: Array  # (N,)
    offset: Array  # (N,)

    def calibrate(self, scores: Array) -> Array:
        return scores * self.gain + self.offset


def positive(std: Array) -> Array:
    """Deviations to divide by: 1 in place of 0."""
    return std + (std <= 0) * 1.0


SCORERS: dict[str, Any] = {
    kind.kind: kind for kind in (Linear, Quadratic, Projected, Viewed, Affine)
}

INNER = ("Scorer", "Linear")
PLAIN: dict[Any, type[int]] = {"bool": bool, "int": int}
"""Types of fields, as they are annotated, that are scorers themselves, and that are plain facts."""


def describe(scorer: Any) -> tuple[dict[str, Any], dict[str, Array]]:
    """A scorer as plain facts and arrays by name; `restore` makes it of them again."""
    facts: dict[str, Any] = {"kind": scorer.kind}
    arrays: dict[str, Array] = {}
    for field in fields(scorer):
        value = getattr(scorer, field.name)
        if hasattr(value, "kind"):
            facts[field.name], inner = describe(value)
            arrays |= {f"{field.name}.{name}": array for name, array in inner.items()}
        elif isinstance(value, bool | int):
            facts[field.name] = value
        else:
            arrays[field.name] = value
    return facts, arrays


def restore(facts: Mapping[str, Any], arrays: Mapping[str, Array]) -> Any:
    """The scorer that `describe` gave as facts and arrays."""
    kind = facts.get("kind")
    made = SCORERS.get(kind) if isinstance(kind, str) else None
    if made is None:
        raise StoreError(f"a scorer of the kind {kind!r} is unknown to this version")
    values: dict[str, Any] = {}
    for field in fields(made):
        told, name = facts.get(field.name), field.name
        if field.type in INNER and isinstance(told, Mapping):
            prefix = f"{name}."
            own = {n.removeprefix(prefix): a for n, a in arrays.items() if n.startswith(prefix)}
            values[name] = restore(told, own)
        elif field.type in PLAIN and type(told) is PLAIN[field.type] and told >= 0:
            values[name] = told
        elif field.type == "Array" and name in arrays:
            values[name] = arrays[name]
        elif told is not None:
            raise StoreError(f"a scorer of the kind {kind} cannot have {told!r:.40} as its {name}")
        elif field.default is MISSING:  # others are newer than the files of earlier versions
            raise StoreError(f"a scorer of the kind {kind} lacks its {name}")
    return made(**values)


def misshapen(scorer: Any, sizes: Mapping[str, int]) -> Iterator[str]:
    """Arrays of a scorer that fit neither each other nor `sizes`: N of scores, d of features."""
    known = dict(sizes)
    for name, letters in scorer.shapes.items():
        shape = tuple(getattr(scorer, name).shape)
        fits = [known.setdefault(a, n) == n for a, n in zip(letters, shape, strict=False)]
        if len(shape) != len(letters) or not all(fits):
            wanted = ", ".join(str(known.get(letter, letter)) for letter in letters)
            yield f"{name} is of the shape {shape}, not ({wanted})"
    if hasattr(scorer, "over"):
        inner = {"N": known["N"]}
        width = known.get("P", known.get("d"))
        if width is not None:
            inner["d"] = width - getattr(scorer, "start", 0)
        yield from (f"over.{problem}" for problem in misshapen(scorer.over, inner))
