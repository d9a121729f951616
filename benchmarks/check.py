"""Compare leave-one-out with test photos, and the unbiased layer with the plain one.

PHOTOS holds train/ and test/, as for `memoryless learn`. Features are computed once, and kept in a
file if one is named after PHOTOS.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from benchmarks.photos import Part, groups, place, read, show, statistics, top1
from memoryless.model import LearningReport, Model
from memoryless.stats.choice import choose
from memoryless.stats.metrics import calibration_error

DRAWS = range(3)
FEWEST, MOST = 3, 30  # photos a class, where classes are unequal
FEW = 6  # photos a class, where they are equal and few
TEMPERATURES = (2.0**-4, 2.0**11)


def name(c: int) -> str:
    return f"{c:04d}"  # names in the order of their numbers


def teach(part: Part, states: int = 1) -> tuple[Model, LearningReport]:
    """Return a model that learned the classes of a part in some states, and its last report."""
    model = Model()
    for classes in np.array_split(np.arange(part.classes), states):
        own = part.take(np.isin(part.y, classes))
        report = model.learn(own.X, [name(c) for c in own.y])
    return model, report


def measure(photos: Path, cache: Path | None = None) -> None:
    """Print a table for each question."""
    train, test = read(photos, cache)
    confidence(train, test)
    unequal(train, test)
    temperatures(train, test)


def confidence(train: Part, test: Part) -> None:
    """Show what leave-one-out says of a model, and what test photos say, after some states."""
    rows = []
    for states in sorted({1, min(8, train.classes), train.classes}):
        model, report = teach(train, states)
        judged = model.classify(test.X)
        right = int((judged.scores.argmax(1) == test.y).sum())
        rows.append([states, f"{report.correct} of {report.checked}", f"{right} of {len(test.y)}",
                     100 * report.correct / max(report.checked, 1), 100 * right / len(test.y),
                     calibration_error(judged.probabilities, test.y),
                     100 * float(judged.known.mean())])  # fmt: skip
    columns = ["states", "right of the last call, leave-one-out", "right, test",
               "accuracy, leave-one-out", "accuracy, test", "ECE, test",
               "known accepted, test"]  # fmt: skip
    show("leave-one-out against test photos", columns, rows)


def unequal(train: Part, test: Part) -> None:
    """Classes of few and of many photos: the unbiased layer beside the plain one."""
    steps = np.arange(train.classes) / (train.classes - 1)
    rows, model = [], Model()
    for draw in DRAWS:
        rng = np.random.default_rng(draw)
        sizes = rng.permutation(np.round(FEWEST * (MOST / FEWEST) ** steps).astype(int))
        part = train.take(place(train.y, draw) < sizes[train.y])
        solved = choose(statistics(model, part))
        W, b = solved.layer
        scores = (np.concatenate(groups(model, test.X), axis=1) @ W.T + b)[:, :-1]
        each = zip(solved.weights, solved.groups, strict=True)
        tau = sum(weight * group.tau for weight, group in each)
        count = np.bincount(part.y)
        fewest = np.isin(test.y, np.argsort(sizes, kind="stable")[: part.classes // 3])
        for layer, found in (("plain", scores - tau / (2 * count)),
                             ("unbiased", scores)):  # fmt: skip
            rows.append([draw, layer, top1(found, test.y), balanced(found, test.y),
                         balanced(found[fewest], test.y[fewest])])  # fmt: skip
    columns = ["draw", "layer", "test", "test, balanced", "the third with the fewest photos"]
    show(f"{FEWEST} to {MOST} photos a class", columns, rows)


def balanced(scores: np.ndarray, y: np.ndarray) -> float:
    """Return the mean over classes of their accuracy."""
    return float(np.mean([top1(scores[y == c], y[y == c]) for c in np.unique(y)]))


def temperatures(train: Part, test: Part) -> None:
    """Show the loss of test photos under temperatures of leave-one-out, of a held-out fifth, and
    the best one.
    """
    rows = []
    for draw in DRAWS:
        part = train.take(place(train.y, draw) < FEW)
        model, report = teach(part)
        scores = model.decision_function(test.X)
        held = place(part.y, draw) == 0  # of six photos one is the nearest to a fifth
        without, _ = teach(part.take(~held))
        ways = {
            "leave-one-out": report.temperature,
            "a held-out fifth": likeliest(without.decision_function(part.X[held]), part.y[held]),
            "the test photos (not allowed)": likeliest(scores, test.y),
        }
        rows += [[draw, way, T, f"{loss(scores, test.y, T):.3f}"] for way, T in ways.items()]
    columns = ["draw", "fitted on", "temperature", "loss of test photos"]
    show(f"{FEW} photos a class", columns, rows)


def likeliest(scores: np.ndarray, y: np.ndarray) -> float:
    """Return the temperature with the smallest loss."""
    bounds = np.log(TEMPERATURES)
    found = minimize_scalar(lambda t: loss(scores, y, np.exp(t)), bounds=bounds, method="bounded")
    return float(np.exp(found.x))


def loss(scores: np.ndarray, y: np.ndarray, T: float) -> float:
    """Return the mean of -log of the true class's probability."""
    return -float(log_softmax(scores / T, axis=1)[np.arange(len(y)), y].mean())
