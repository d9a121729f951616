"""Sums of a model of 1,000 classes: merging two models on disk, and forgetting one class.

The sums are random numbers in place of photos'; d is that of the usual backbone.
"""

from __future__ import annotations

import shutil
import tempfile
from itertools import count
from pathlib import Path

import numpy as np

from benchmarks.timing import side_by_side
from memoryless.model import Model
from memoryless.model.classes import Classes
from memoryless.model.database import model_file
from memoryless.model.description import now
from memoryless.photos.merge import merge_models
from memoryless.stats.class_statistics import ClassStatistics, Group

D, EACH, ROUNDS = 1280, 20, 5


def model_of(folder: Path, first: int, classes: int, seed: int) -> Path:
    """Save a model of so many classes, from class `first` on, whose sums are drawn."""
    rng = np.random.default_rng(seed)
    model = Model(backbone="none", square_roots=True)
    model.learn(rng.random((2 * EACH, D)), ["a", "b"] * EACH)
    own = model._current
    rows = rng.random((2 * D, D))
    group = Group(rng.random((classes, D)), rows.T @ rows)
    drawn = ClassStatistics(np.full(classes, float(EACH)), (group,), fixed=True)
    model._features = own.after(drawn, own.check)
    names = {f"class {first + i}": EACH for i in range(classes)}
    model._classes = Classes().learn(names, now())
    model.save(folder)
    return model_file(folder)


def copy(files: list[Path], to: Path) -> None:
    """Copy the bytes alone: what is read, and as many written."""
    to.mkdir()
    for i, file in enumerate(files):
        shutil.copy(file, to / str(i))


def forget(folder: Path) -> None:
    model = Model.load(folder)
    model.forget(model.classes[len(model.classes) // 2])
    model.save(folder)


def measure() -> dict[str, float]:
    with tempfile.TemporaryDirectory() as temporary:
        root, number = Path(temporary), count()
        halves = [model_of(root / f"half {i}", 500 * i, 500, i) for i in (0, 1)]
        alike = [model_of(root / f"whole {i}", 0, 1000, 2 + i) for i in (0, 1)]
        left = model_of(root / "left", 0, 1000, 4)
        new = lambda: root / f"new {next(number)}"  # noqa: E731
        seconds = side_by_side(
            {
                "merge 500 and 500 classes": lambda: merge_models(new(), halves),
                "copy of these": lambda: copy(halves, new()),
                "merge 1,000 and 1,000 joined": lambda: merge_models(
                    new(), alike, same_class="join"
                ),
                "copy of those": lambda: copy(alike, new()),
                "forget one of 1,000": lambda: forget(left),
                "copy of it": lambda: copy([left], new()),
            },
            rounds=ROUNDS,
        )
    return {name: round(taken, 3) for name, taken in seconds.items()}
