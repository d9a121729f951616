"""Features of photos that several benchmarks share: read once, and kept if a file is named."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from memoryless import Model
from memoryless.images.find import find_photos, find_test
from memoryless.photos.embedding import features
from memoryless.stats.class_statistics import ClassStatistics
from memoryless.stats.scorers import View


class Part(NamedTuple):
    """Features (n, d) and labels (n,)."""

    X: np.ndarray
    y: np.ndarray

    def take(self, keep: np.ndarray) -> Part:
        return Part(self.X[keep], self.y[keep])

    def relabelled(self, new: np.ndarray) -> Part:
        """Return the classes that `new` gives a number, under that number; others, -1, leave."""
        return Part(self.X, new[self.y]).take(new[self.y] >= 0)

    @property
    def classes(self) -> int:
        return int(self.y.max()) + 1


def read(photos: Path, cache: Path | None = None) -> tuple[Part, Part]:
    """Return features of the photos in train/ and test/, and their classes by number."""
    if not (cache and cache.exists()):
        model, parts, taught = Model(), {}, find_photos(photos)
        names = sorted({str(photo.label) for photo in taught.photos})
        for part, found in (("train", taught), ("test", find_test(photos))):
            parts[part] = np.stack(list(features(model, found.photos)))
            parts[f"{part}_labels"] = np.array([names.index(str(p.label)) for p in found.photos])
        if not cache:
            return of_arrays(parts)
        np.savez(cache, **parts)
    with np.load(cache) as file:
        return of_arrays(file)


def of_arrays(arrays: dict[str, np.ndarray]) -> tuple[Part, Part]:
    train, test = (Part(arrays[part], arrays[f"{part}_labels"]) for part in ("train", "test"))
    return train, test


def groups(model: Model, X: np.ndarray) -> list[np.ndarray]:
    """Return what the statistics of each group of features are computed from."""
    sizes = model.feature_groups
    return np.split(View(square_roots=True, groups=sizes)(X), np.cumsum(sizes)[:-1], axis=1)


def statistics(model: Model, part: Part) -> ClassStatistics:
    """Return the class statistics of photos."""
    roots = View(square_roots=True)
    return ClassStatistics.of_groups(part.X, part.y, part.classes, model.feature_groups, view=roots)


def place(labels: np.ndarray, seed: int) -> np.ndarray:
    """Each photo's random place in its class."""
    shuffled = np.random.default_rng(seed).permutation(len(labels))
    order = shuffled[np.argsort(labels[shuffled], kind="stable")]
    counts = np.bincount(labels)
    places = np.empty(len(labels), dtype=np.int64)
    places[order] = np.arange(len(labels)) - np.repeat(np.cumsum(counts) - counts, counts)
    return places


def top1(scores: np.ndarray, labels: np.ndarray) -> float:
    return 100 * float((scores.argmax(1) == labels).mean())


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table in Markdown."""
    cells = [[f"{v:.1f}" if isinstance(v, float) else str(v) for v in row] for row in rows]
    lines = [columns, ["---"] * len(columns), *cells]
    print(f"\n{title}\n", *(f"| {' | '.join(line)} |" for line in lines), sep="\n", flush=True)
