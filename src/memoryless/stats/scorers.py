"""Scorers: features (n, d) to scores (n, N), the larger the likelier.

A scorer is data: a kind and arrays, so that a model can store it and predict with NumPy alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import msgspec
import numpy as np

from memoryless.errors import StoreError
from memoryless.tensors import part

MOST_VALUES = 2**23  # held at once by a scorer that needs more than its scores
COLUMNS = 64  # of a triangular root multiplied at once


def unit(features: np.ndarray) -> np.ndarray:
    """Bring features to length one; a row of zeros stays so."""
    return features / np.linalg.norm(features, axis=1, keepdims=True).clip(min=1e-12)


def square_roots(features: np.ndarray, groups: tuple[int, ...] = ()) -> np.ndarray:
    """Return square roots of features at length one, which keep their signs.

    Their classes are closer to normal (Tukey's transformation, as in FeCAM, NeurIPS 2023). If sizes
    of `groups` are given, each group has length one.

    >>> (square_roots(np.array([[0.36, -0.48, 0.8], [0, 0, 0]])) ** 2).round(2).tolist()
    [[0.36, 0.48, 0.8], [0.0, 0.0, 0.0]]
    """
    if len(groups) > 1:
        each = np.split(features, np.cumsum(groups)[:-1], axis=1)
        return np.concatenate([square_roots(group) for group in each], axis=1)
    whole = unit(features)
    return np.copysign(np.sqrt(np.abs(whole)), whole)


class Scorer:
    """Features to scores: a dataclass of arrays and single numbers, over another scorer or not."""

    kind: ClassVar[str]
    shapes: ClassVar[dict[str, str]] = {}
    """The letters of each array's shape: N scores, d features, P random features."""

    def __call__(self, features: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    @property
    def cost(self) -> int:
        """Multiplications for one image."""
        raise NotImplementedError


@dataclass(frozen=True)
class Linear(Scorer):
    """f W' + b, of the first d features, at length one if `unit`."""

    kind = "linear"
    shapes: ClassVar[dict[str, str]] = {"W": "Nd", "b": "N"}
    W: np.ndarray  # (N, d)
    b: np.ndarray  # (N,)
    unit: bool = False

    def __call__(self, features: np.ndarray) -> np.ndarray:
        read = features[:, : self.W.shape[1]]
        return (unit(read) if self.unit else read) @ self.W.T + self.b

    @property
    def cost(self) -> int:
        return self.W.shape[0] * self.W.shape[1]


@dataclass(frozen=True)
class Quadratic(Scorer):
    """-|(f - m) R|^2 with a mean and a root for each class, of features at length one if `unit`."""

    kind = "quadratic"
    shapes: ClassVar[dict[str, str]] = {"mean": "Nd", "root": "Ndd"}
    mean: np.ndarray  # (N, d)
    root: np.ndarray  # (N, d, d) upper triangular, root root' is the inverse of a covariance
    unit: bool = True

    def __call__(self, features: np.ndarray) -> np.ndarray:
        whole = unit(features) if self.unit else features
        rows = max(1, MOST_VALUES // (len(self.mean) * COLUMNS))
        parts = [self._score(whole[i : i + rows]) for i in range(0, len(whole), rows)]
        return np.concatenate(parts) if parts else np.zeros((0, len(self.mean)), whole.dtype)

    def _score(self, features: np.ndarray) -> np.ndarray:
        """Score by a block of columns at a time; the zeros of roots below it are left out."""
        scores = np.zeros((len(self.mean), len(features)), features.dtype)
        for start in range(0, self.mean.shape[1], COLUMNS):
            end = start + COLUMNS
            block = self.root[:, :end, start:end]  # (N, end, columns)
            away = features[:, :end] @ block  # (N, n, columns)
            away -= self.mean[:, None, :end] @ block
            scores -= np.einsum("cij,cij->ci", away, away)
        return scores.T

    @property
    def cost(self) -> int:
        classes, d = self.mean.shape
        return classes * d * (d + 1) // 2


@dataclass(frozen=True)
class Projected(Scorer):
    """A linear scorer over random ReLU features."""

    kind = "projected"
    shapes: ClassVar[dict[str, str]] = {"directions": "dP"}
    directions: np.ndarray  # (d, P)
    over: Linear  # (N, P)

    def __call__(self, features: np.ndarray) -> np.ndarray:
        return self.over((features @ self.directions).clip(min=0))

    @property
    def cost(self) -> int:
        d, size = self.directions.shape
        return d * size + self.over.cost


@dataclass(frozen=True)
class View:
    """Which features class statistics are computed from: those that rows read or those after them,
    as they are or as square roots at length one.
    """

    start: int = 0
    """The first column read."""
    square_roots: bool = False
    groups: tuple[int, ...] = ()
    """Sizes of the groups of features that are read; all features, if there are none."""

    def __call__(self, features: np.ndarray) -> np.ndarray:
        end = self.start + sum(self.groups) if self.groups else None
        read = features[:, self.start : end]
        return square_roots(read, self.groups) if self.square_roots else read


@dataclass(frozen=True)
class Viewed(Scorer):
    """A scorer over a view of the features."""

    kind = "viewed"
    over: Scorer
    start: Annotated[int, msgspec.Meta(ge=0)]
    square_roots: bool
    groups: tuple[Annotated[int, msgspec.Meta(ge=1)], ...] = ()

    def __call__(self, features: np.ndarray) -> np.ndarray:
        return self.over(View(self.start, self.square_roots, self.groups)(features))

    @property
    def cost(self) -> int:
        return self.over.cost


@dataclass(frozen=True)
class Affine(Scorer):
    """Scores of another scorer, times a gain and plus an offset for each class."""

    kind = "affine"
    shapes: ClassVar[dict[str, str]] = {"gain": "N", "offset": "N"}
    over: Scorer
    gain: np.ndarray  # (N,)
    offset: np.ndarray  # (N,)

    def __call__(self, features: np.ndarray) -> np.ndarray:
        return self.over(features) * self.gain + self.offset

    @property
    def cost(self) -> int:
        return self.over.cost


SCORERS: dict[str, Any] = {
    kind.kind: kind for kind in (Linear, Quadratic, Projected, Viewed, Affine)
}


def describe(scorer: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return a scorer as plain facts and arrays by name; `restore` makes it of them again."""
    facts: dict[str, Any] = {"kind": scorer.kind}
    arrays: dict[str, np.ndarray] = {}
    for name, value in vars(scorer).items():
        if name == "over":
            facts["over"], inner = describe(value)
            arrays |= {f"over.{own}": array for own, array in inner.items()}
        elif isinstance(value, np.ndarray):
            arrays[name] = value
        else:
            facts[name] = value
    return facts, arrays


def restore(facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Any:
    """Return the scorer that `describe` gave as facts and arrays."""
    kind = facts.get("kind")
    if not isinstance(kind, str) or kind not in SCORERS:
        raise StoreError(f"a scorer of the kind {kind!r} is unknown to this version")
    values = {**arrays, **facts}
    if isinstance(facts.get("over"), Mapping):
        values["over"] = restore(facts["over"], part(arrays, "over."))
    try:
        return msgspec.convert(values, SCORERS[kind])
    except msgspec.ValidationError as error:
        raise StoreError(f"a scorer of the kind {kind}: {error}") from error


def misshapen(scorer: Any, sizes: Mapping[str, int]) -> Iterator[str]:
    """Name arrays of a scorer that fit neither each other nor `sizes`: N scores, d features."""
    known = dict(sizes)
    yield from misfits(
        {name: getattr(scorer, name) for name in scorer.shapes}, scorer.shapes, known
    )
    if hasattr(scorer, "over"):
        inner = {"N": known["N"]}
        width = known.get("P", known.get("d"))
        if width is not None:
            inner["d"] = width - getattr(scorer, "start", 0)
        if groups := getattr(scorer, "groups", ()):
            if sum(groups) > inner.get("d", sum(groups)):
                yield f"groups {groups} are more than {inner['d']} features"
            inner["d"] = sum(groups)
        yield from (f"over.{problem}" for problem in misshapen(scorer.over, inner))


def misfits(
    arrays: Mapping[str, np.ndarray], shapes: Mapping[str, str], sizes: dict[str, int]
) -> Iterator[str]:
    """Name arrays whose shapes are not those of their letters; `sizes` gets those of new ones."""
    for name, letters in shapes.items():
        shape = arrays[name].shape
        fits = [sizes.setdefault(a, n) == n for a, n in zip(letters, shape, strict=False)]
        if len(shape) != len(letters) or not all(fits):
            wanted = ", ".join(str(sizes.get(letter, letter)) for letter in letters)
            yield f"{name} has the shape {shape}, not ({wanted})"
