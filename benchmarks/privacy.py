"""How well one can tell which photos a model was taught with, by the number of photos a class.

PHOTOS holds train/ and test/, as for `memoryless learn`. Models are taught with some photos of each
class of train/, drawn by a seed; others are those of test/. Features are computed once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.groups import embedded
from benchmarks.photos import Part, groups, read, statistics
from memoryless.images.cifar import load_cifar
from memoryless.model import Model
from memoryless.randomness import numpy_generator
from memoryless.stats.heads import HEADS
from memoryless.stats.membership import by_distance, by_scatter, by_score
from memoryless.stats.metrics import auroc

NUMBERS, SEEDS = (5, 10, 20, 30), (0, 1, 2)
MANY = (20, 40, 80, 110, 160, 200)  # photos of each of 100 classes


def areas(model: Model, members: Part, others: Part) -> Iterator[float]:
    """Yield the AUROC of each attack on a model taught with the members, a mean over classes."""
    classes, sums = members.classes, statistics(model, members)
    layer = HEADS["lda"].over(sums)

    def numbers(features: np.ndarray, labels: np.ndarray) -> list[np.ndarray]:
        roots = np.concatenate(groups(model, features), axis=1)
        found = by_score(layer(roots), labels)
        return [
            found,
            by_distance(roots, labels, sums),
            by_scatter(roots, labels, sums),
        ]

    for used, unused in zip(numbers(*members), numbers(*others), strict=True):
        yield float(
            np.mean([auroc(used[members[1] == c], unused[others[1] == c]) for c in range(classes)])
        )


def some(labels: np.ndarray, number: int, seed: int) -> np.ndarray:
    """Positions of as many photos of each class, or all that it has."""
    random = numpy_generator(seed, "privacy", number)
    mixed = random.permutation(len(labels))
    return np.concatenate([mixed[labels[mixed] == c][:number] for c in np.unique(labels)])


def many() -> None:
    """Print a row for each number of photos of CIFAR-100, if MEMORYLESS_DATA holds it."""
    if not (root := os.environ.get("MEMORYLESS_DATA")):
        return
    model = Model()
    train, test = embedded(load_cifar("cifar100", Path(root)), max(MANY), 20)
    print("CIFAR-100: photos in all | by score | by distance | by scatter")
    for each in MANY:
        part = train.take(some(train.y, each, 0))
        found = " | ".join(f"{area:.1f}" for area in areas(model, part, test))
        print(f"{len(part.y):,} | {found}", flush=True)


def measure(place: Path, cache: Path | None = None) -> None:
    """Print a row for each number of photos: the mean over seeds, and how far they lie apart."""
    model, (train, test) = Model(), read(place, cache)
    print(f"{len(test.y):,} others; AUROC, mean over classes and {len(SEEDS)} seeds (range)")
    print("photos a class | photos in all | by score | by distance | by scatter")
    for number in NUMBERS:
        drawn = [train.take(some(train.y, number, seed)) for seed in SEEDS]
        found = np.array([list(areas(model, part, test)) for part in drawn])
        cells = [f"{of.mean():.1f} ({of.min():.1f}-{of.max():.1f})" for of in found.T]
        print(f"{number} | {len(drawn[0].y):,} | {' | '.join(cells)}", flush=True)
    many()
