"""How well leave-one-out finds photos with a wrong label, on photos of one's own.

PHOTOS holds train/ and test/, as for `memoryless learn`; train/ is read. Labels of some photos are
changed, at random or to the class that is most like their own, and one model learns all photos.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.more import look_at
from benchmarks.photos import Part, groups, show, statistics
from memoryless import Model
from memoryless.model import LearningReport
from memoryless.stats.choice import choose
from memoryless.stats.confidence import softmax
from memoryless.stats.leave_one_out import leave_one_out
from memoryless.stats.metrics import auroc

DRAWS, SHARES = range(3), (0.05, 0.02)
COLUMNS = ["draw", "changed", "listed", "AUROC", "precision", "recall", "true class proposed"]


def measure(photos: Path) -> None:
    """Print a table for each way of changing labels."""
    X, names = look_at(photos)
    report(X, names)


def report(X: np.ndarray, names: np.ndarray) -> None:
    """Print the tables of features (n, d) of photos with these labels (n,)."""
    classes, y = np.unique(names, return_inverse=True)
    listed = len(learn(X, y)[1].suspects)
    print(f"{len(y):,} photos of {len(classes)} classes; {listed} are listed as they are")
    means = np.stack([X[y == c].mean(0) for c in range(len(classes))])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    similar = (means @ means.T - 2 * np.eye(len(classes))).argmax(1)
    for share in SHARES:
        for way, instead in (("at random", None), ("to the most similar class", similar)):
            rows = [row(X, y, share, instead, draw) for draw in DRAWS]
            mean = ["mean", *np.mean([numbers for _, *numbers in rows], axis=0).tolist()]
            show(f"{100 * share:.0f} % of labels changed {way}", COLUMNS, [*rows, mean])


def row(
    X: np.ndarray, y: np.ndarray, share: float, instead: np.ndarray | None, draw: int
) -> list[object]:
    """Change some labels; return what finds them, in percent."""
    rng = np.random.default_rng(draw)
    changed = np.zeros(len(y), dtype=bool)
    changed[rng.choice(len(y), round(share * len(y)), replace=False)] = True
    classes = int(y.max()) + 1
    other = (y + rng.integers(1, classes, len(y))) % classes if instead is None else instead[y]
    wrong = np.where(changed, other, y)
    probabilities, report = learn(X, wrong)
    found = [one for one in report.suspects if changed[one.number]]
    right = sum(one.looks_like == name(y[one.number]) for one in found)
    return [
        draw,
        int(changed.sum()),
        len(report.suspects),
        auroc(probabilities[~changed], probabilities[changed]),
        percent(len(found), report.suspects),
        percent(len(found), np.flatnonzero(changed)),
        percent(right, found),
    ]


def percent(number: int, of: Sequence[object] | np.ndarray) -> float:
    return 100 * number / max(len(of), 1)


def name(c: int) -> str:
    return f"{c:05d}"  # names in the order of their numbers


def learn(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, LearningReport]:
    """Return leave-one-out probabilities (n,) of each photo's own class, and a model's report."""
    model = Model()
    report = model.learn(X, [name(c) for c in y])
    solved, probabilities = choose(statistics(model, Part(X, y))), np.zeros(len(y))
    for part in leave_one_out(solved, groups(model, X), y, np.arange(len(y))):
        own = y[part.photos]
        found = softmax(part.scores / report.temperature)
        probabilities[part.photos] = found[np.arange(len(own)), own]
    return probabilities, report
