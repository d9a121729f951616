"""What the middle layers of the network add, and other ways to use the same features.

Data sets: the drawings that come with this package, 30 photos a class of CIFAR-100 (if
MEMORYLESS_DATA names a folder that holds it), and PHOTOS with train/ and test/. The row "best on
the grid" chooses by test photos: no method may do that, it shows how much a choice could gain.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.photos import Part, groups, place, read, show, statistics, top1
from memoryless import Model
from memoryless.images import Dataset
from memoryless.images.cifar import load_cifar
from memoryless.images.quickdraw import load_quickdraw100
from memoryless.stats.choice import SHRINKAGES, WEIGHTS, choose, start
from memoryless.stats.class_statistics import ClassStatistics
from memoryless.stats.discriminant import Discriminant, Solution
from memoryless.stats.metrics import auroc
from memoryless.stats.scorers import unit

ALL, EACH, TESTED, FEW, DRAWS = 10**6, 30, 50, 6, range(3)
PROJECTED = 10_000  # random features of RanPAC, as published


def embedded(data: Dataset, each: int, tested: int = TESTED) -> tuple[Part, Part]:
    """Return features of some images of each class, to learn and to test with."""
    model, parts = Model(), []
    for split, most in ((data.train, each), (data.test, tested)):
        few = np.flatnonzero(place(split.labels, 0) < most)
        parts.append(Part(model.embed(split.images.read(few)), split.labels[few]))
    return parts[0], parts[1]


def sets(photos: Path | None) -> Iterator[tuple[str, Part, Part]]:
    yield "quickdraw100", *embedded(load_quickdraw100(), ALL)
    if root := os.environ.get("MEMORYLESS_DATA"):
        yield "cifar100", *embedded(load_cifar("cifar100", Path(root)), EACH)
    if photos:
        yield photos.name, *read(photos)


Predict = Callable[[np.ndarray], np.ndarray]


def layer(model: Model, solved: Discriminant) -> Predict:
    """Return the scores (n, C + 1) of features under a discriminant."""
    W, b = solved.layer
    return lambda X: np.concatenate(groups(model, X), axis=1) @ W.T + b


def ways(model: Model, train: Part, test: Part) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the scores of test photos by each way to use the features of the training photos."""
    sums = statistics(model, train)
    yield "last layer alone", layer(model, start(sums))(test.X)[:, :-1]
    yield "chosen from the sums (default)", layer(model, choose(sums))(test.X)[:, :-1]
    for weight in (0.5, 1.0):
        fixed = Discriminant.of(sums, (1.0, 1.0), (1.0, weight))
        yield f"middle layers with weight {weight:g}", layer(model, fixed)(test.X)[:, :-1]
    yield "best on the grid, by test photos", best_on_grid(model, sums, test)
    for name, some in (("last layer", slice(model.feature_groups[0])), ("all", slice(None))):
        X, T = (part.X[:, some].astype(np.float64) for part in (train, test))
        for peer, scores in PEERS.items():
            yield f"{peer}, {name} features", scores(X, train.y, T)


def best_on_grid(model: Model, sums: ClassStatistics, test: Part) -> np.ndarray:
    """Return the scores of the weight and shrinkages with the best accuracy on test photos."""
    each = [[Solution.of(sums, group, c) for c in SHRINKAGES] for group in sums.groups]
    combined = (Discriminant((one, other), (1.0, weight))
                for one, other, weight in product(*each, WEIGHTS))  # fmt: skip
    grid = (layer(model, solved)(test.X)[:, :-1] for solved in combined)
    return max(grid, key=lambda scores: top1(scores, test.y))


def nearest_mean(X: np.ndarray, y: np.ndarray, T: np.ndarray) -> np.ndarray:
    return unit(T) @ unit(np.stack([X[y == c].mean(0) for c in range(y.max() + 1)])).T


def deep_slda(X: np.ndarray, y: np.ndarray, T: np.ndarray) -> np.ndarray:
    """Score as Deep SLDA (CVPRW 2020) publishes: shrinkage 1e-4 towards the identity."""
    means = np.stack([X[y == c].mean(0) for c in range(y.max() + 1)])
    away = X - means[y]
    S = (1 - 1e-4) * away.T @ away / len(y) + 1e-4 * np.eye(X.shape[1])
    W = np.linalg.solve(S, means.T)
    return T @ W - (means * W.T).sum(1) / 2


def ran_pac(X: np.ndarray, y: np.ndarray, T: np.ndarray) -> np.ndarray:
    """Score as RanPAC (NeurIPS 2023): ridge regression over random ReLU features, the penalty by a
    fifth of the training photos.
    """
    directions = np.random.default_rng(0).normal(size=(X.shape[1], PROJECTED)).astype(np.float32)
    H, G = ((unit(Z).astype(np.float32) @ directions).clip(min=0) for Z in (X, T))
    hot = np.eye(y.max() + 1, dtype=np.float32)[y]
    held = place(y, 0) * 5 // np.bincount(y)[y] == 0

    def fit(rows: np.ndarray, targets: np.ndarray, penalties: np.ndarray) -> Iterator[np.ndarray]:
        values, V = np.linalg.eigh(rows @ rows.T)  # fewer photos than random features
        for penalty in penalties:
            yield rows.T @ (V @ ((V.T @ targets) / (values.clip(min=0)[:, None] + penalty)))

    penalties = 10.0 ** np.arange(-8, 9)
    found = fit(H[~held], hot[~held], penalties)
    losses = [np.square(H[held] @ W - hot[held]).mean() for W in found]
    (W,) = fit(H, hot, penalties[[int(np.argmin(losses))]])
    return G @ W


def logistic(X: np.ndarray, y: np.ndarray, T: np.ndarray) -> np.ndarray:
    """Score by logistic regression on all photos at once, C by a fifth of them."""
    from sklearn.linear_model import LogisticRegression

    X, T = ((Z - X.mean(0)) / X.std(0).clip(min=1e-9) for Z in (X, T))
    held = place(y, 0) * 5 // np.bincount(y)[y] == 0

    def fit(C: float, part: np.ndarray):  # type: ignore[no-untyped-def]
        return LogisticRegression(C=C, max_iter=200).fit(X[part].astype(np.float32), y[part])

    found = {C: fit(C, ~held).score(X[held], y[held]) for C in (1e-4, 1e-3, 1e-2)}
    C = max(found, key=lambda C: found[C])
    return fit(C, np.full(len(y), True)).decision_function(T)


PEERS = {
    "nearest mean": nearest_mean,
    "Deep SLDA": deep_slda,
    "RanPAC": ran_pac,
    "logistic regression on all photos at once": logistic,
}


def interval(gain: np.ndarray) -> str:
    return f"{100 * gain.mean():+.1f} ± {196 * gain.std() / np.sqrt(len(gain)):.1f}"


def report(name: str, train: Part, test: Part) -> None:
    """Print the tables of one data set."""
    model, rows = Model(), []
    before = None
    for way, scores in ways(model, train, test):
        right = (scores.argmax(1) == test.y).astype(float)
        before = right if before is None else before
        rows.append([way, 100 * right.mean(), interval(right - before)])
        show_row(name, rows[-1])
    few_photos(name, model, train, test)
    unknown(name, model, train, test)


def show_row(name: str, row: list[object]) -> None:
    print(f"{name} | " + " | ".join(f"{v:.1f}" if isinstance(v, float) else str(v) for v in row),
          flush=True)  # fmt: skip


def few_photos(name: str, model: Model, train: Part, test: Part) -> None:
    """Six photos of each class: how much the choice gains."""
    rows = []
    for draw in DRAWS:
        sums = statistics(model, train.take(place(train.y, draw) < FEW))
        rows.append([draw, *(top1(layer(model, of(sums))(test.X)[:, :-1], test.y)
                             for of in (start, choose))])  # fmt: skip
    mean = ["mean", *np.mean([row[1:] for row in rows], axis=0).tolist()]
    show(f"{name}, {FEW} photos a class", ["draw", "last layer", "chosen"], [*rows, mean])


def unknown(name: str, model: Model, train: Part, test: Part) -> None:
    """Half of the classes are learned: how well the margin tells them from the others."""
    rows = []
    for draw in DRAWS:
        new = np.full(train.classes, -1)
        learned = np.random.default_rng(draw).permutation(train.classes)[: train.classes // 2]
        new[learned] = np.arange(len(learned))
        keep = new[train.y] >= 0
        sums = statistics(model, Part(train.X[keep], new[train.y[keep]]))
        known = new[test.y] >= 0
        found = []
        for of in (start, choose):
            scores = layer(model, of(sums))(test.X)
            margin = scores[:, :-1].max(1) - scores[:, -1]
            found.append(float(auroc(margin[known], margin[~known])))
        rows.append([draw, *found])
    mean = ["mean", *np.mean([row[1:] for row in rows], axis=0).tolist()]
    show(f"{name}, AUROC of unknown classes", ["draw", "last layer", "chosen"], [*rows, mean])


def measure(photos: Path | None = None) -> None:
    for name, train, test in sets(photos):
        report(name, train, test)
