"""How well one can tell which photos a model was taught with, by the number of photos a class.

PHOTOS holds train/ and test/, as for `memoryless learn`. Models are taught with some photos of each
class of train/, drawn by a seed; others are those of test/. Features are computed once.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from memoryless.images.files import Photo
from memoryless.images.find import find_photos, find_test
from memoryless.model import Model
from memoryless.photos.embedding import features
from memoryless.randomness import numpy_generator
from memoryless.stats.class_statistics import ClassStatistics
from memoryless.stats.heads import HEADS
from memoryless.stats.membership import by_distance, by_scatter, by_score
from memoryless.stats.metrics import auroc
from memoryless.stats.scorers import square_roots

NUMBERS, SEEDS = (5, 10, 20, 30), (0, 1, 2)


def roots_of(model: Model, photos: list[Photo]) -> tuple[np.ndarray, np.ndarray]:
    """What is summed up of photos, and their classes by number."""
    names = sorted({str(photo.label) for photo in photos})
    looks = np.stack([np.asarray(one, dtype=np.float64) for one in features(model, photos)])
    return square_roots(looks), np.array([names.index(str(photo.label)) for photo in photos])


def areas(
    members: tuple[np.ndarray, np.ndarray], others: tuple[np.ndarray, np.ndarray]
) -> Iterator[float]:
    """The AUROC of each attack on a model taught with the members, a mean over classes."""
    classes = int(members[1].max()) + 1
    statistics = ClassStatistics.of(*members, classes, fixed=True)
    layer = HEADS["lda"].over(statistics)

    def numbers(roots: np.ndarray, labels: np.ndarray) -> list[np.ndarray]:
        found = by_score(layer(roots), labels)
        return [
            found,
            by_distance(roots, labels, statistics),
            by_scatter(roots, labels, statistics),
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


def measure(place: Path) -> None:
    """Print a row for each number of photos: the mean over seeds, and how far they lie apart."""
    model = Model()
    (roots, labels), others = (
        roots_of(model, found.photos) for found in (find_photos(place), find_test(place))
    )
    print(f"{len(others[1]):,} others; AUROC, mean over classes and {len(SEEDS)} seeds (range)")
    print("photos a class | photos in all | by score | by distance | by scatter")
    for number in NUMBERS:
        drawn = [some(labels, number, seed) for seed in SEEDS]
        found = np.array([list(areas((roots[at], labels[at]), others)) for at in drawn])
        cells = [f"{of.mean():.1f} ({of.min():.1f}-{of.max():.1f})" for of in found.T]
        print(f"{number} | {len(drawn[0]):,} | {' | '.join(cells)}", flush=True)
