"""What `choosing` compares: discriminants under any shrinkage, and measures of their answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from memoryless.stats.scorers import square_roots, unit

SEEDS = range(3)
FOLDS = 5
SMALL = 2000  # photos; in fewer a fifth is too few to tell heads apart
SETS = ("birds40", "cifar100", "drawings")
CLASSES, EACH = 40, 30  # of every set, so that the sets compare
VIEWS: dict[str, Callable[[np.ndarray], np.ndarray]] = {"unit": unit, "roots": square_roots}


class Part(NamedTuple):
    """Features (n, d) and labels (n,)."""

    X: np.ndarray
    y: np.ndarray

    def take(self, keep: np.ndarray) -> Part:
        return Part(self.X[keep], self.y[keep])

    def relabelled(self, new: np.ndarray) -> Part:
        """The classes that `new` gives a number, under that number; the others, -1, leave."""
        return Part(self.X, new[self.y]).take(new[self.y] >= 0)

    @property
    def classes(self) -> int:
        return int(self.y.max()) + 1


def load(cache: Path, name: str, view: str = "roots") -> tuple[Part, Part]:
    """Training and test photos of a file of the cache."""
    with np.load(cache / f"{name}.npz") as file:
        return tuple(  # type: ignore[return-value]
            Part(VIEWS[view](file[part].astype(np.float64)), file[f"{part}_labels"])
            for part in ("train", "test")
        )


def joined(*parts: Part) -> Part:
    return Part(np.concatenate([p.X for p in parts]), np.concatenate([p.y for p in parts]))


def held_out(part: Part, seed: int, fold: int = 0) -> tuple[Part, Part]:
    """The photos that learn, and a fifth of each class that measures."""
    mask = place(part.y, seed) * FOLDS // np.bincount(part.y)[part.y] == fold
    return part.take(~mask), part.take(mask)


def splits(part: Part, seeds: Sequence[int] = SEEDS) -> Iterable[tuple[int, Part, Part]]:
    """A seed, the photos that learn and those that measure: three seeds, and in small sets each
    photo measures once for each.
    """
    for seed in seeds:
        for fold in range(FOLDS if len(part.y) < SMALL else 1):
            yield seed, *held_out(part, seed, fold)


def at_most(part: Part, each: int, seed: int) -> Part:
    """No more than some photos of each class."""
    return part.take(place(part.y, seed) < each)


def place(labels: np.ndarray, seed: int) -> np.ndarray:
    """Each photo's random place in its class."""
    shuffled = np.random.default_rng(seed).permutation(len(labels))
    order = shuffled[np.argsort(labels[shuffled], kind="stable")]
    counts = np.bincount(labels)
    places = np.empty(len(labels), dtype=np.int64)
    places[order] = np.arange(len(labels)) - np.repeat(np.cumsum(counts) - counts, counts)
    return places


def few(cache: Path, name: str, view: str = "roots") -> tuple[Part, Part]:
    """Forty classes of thirty photos each."""
    first = np.where(np.arange(100) < CLASSES, np.arange(100), -1)
    train, test = (part.relabelled(first) for part in load(cache, f"{name}-224", view))
    return at_most(train, EACH, 0), at_most(test, EACH, 0)


class Discriminant:
    """Linear discriminant analysis, whose covariance is decomposed once for every shrinkage."""

    def __init__(self, part: Part, classes: int | None = None):
        X, y = part
        (self.n, self.d), self.classes = X.shape, classes or part.classes
        self.count = np.bincount(y, minlength=self.classes)
        self.mean = np.stack([X[y == c].mean(0) for c in range(self.classes)])
        away = X - self.mean[y]
        if self.n < self.d:  # the same decomposition from the smaller product
            values, U = np.linalg.eigh(away @ away.T)
            kept = values > values[-1] * 1e-10
            values, self.V = values[kept], away.T @ (U[:, kept] / np.sqrt(values[kept]))
        else:
            values, self.V = np.linalg.eigh(away.T @ away)
        self.values = values.clip(min=0) / self.n
        self.centre = self.count @ self.mean / self.n

    def shrunk(self, rule: str) -> float:
        """g of S + g tr(S) / d I."""
        return RULES[rule](self) if rule in RULES else float(rule)

    def scores(self, X: np.ndarray, g: float, sphere: bool = False) -> np.ndarray:
        """Scores (n, N + 1); the last column is of the mean of all photos."""
        means = np.concatenate([self.mean, self.centre[None]])
        means = unit(means) if sphere else means
        W = self.solve(means, g)
        return X @ W.T - (W * means).sum(1) / 2

    def solve(self, rows: np.ndarray, g: float) -> np.ndarray:
        """Rows times the inverse of the shrunk covariance."""
        ridge = g * self.values.sum() / self.d
        return rows / ridge + (rows @ self.V * (1 / (self.values + ridge) - 1 / ridge)) @ self.V.T

    def lengths(self, g: float) -> np.ndarray:
        """Squared Mahalanobis distances of class means to the mean of all photos."""
        away = self.mean - self.centre
        return (self.solve(away, g) * away).sum(1)


def oas(fit: Discriminant) -> float:
    """Oracle approximating shrinkage (Chen, Wiesel, Eldar and Hero 2010, Eq. 23) as g."""
    d, trace, squares = fit.d, fit.values.sum(), (fit.values**2).sum()
    above = (1 - 2 / d) * squares + trace**2
    rho = min(1 - 1e-9, above / ((fit.n + 1 - 2 / d) * (squares - trace**2 / d)))
    return rho / (1 - rho)


RULES: Mapping[str, Callable[[Discriminant], float]] = {
    "OAS": oas,
    "d / 2n": lambda fit: fit.d / fit.n / 2,
    "d / n": lambda fit: fit.d / fit.n,
    "2d / n": lambda fit: 2 * fit.d / fit.n,
    "sqrt(d / n)": lambda fit: (fit.d / fit.n) ** 0.5,
}


def top1(scores: np.ndarray, labels: np.ndarray) -> float:
    return 100 * float((scores.argmax(1) == labels).mean())


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table in Markdown."""
    cells = [[f"{v:.1f}" if isinstance(v, float) else str(v) for v in row] for row in rows]
    lines = [columns, ["---"] * len(columns), *cells]
    print(f"\n{title}\n", *(f"| {' | '.join(line)} |" for line in lines), sep="\n", flush=True)
