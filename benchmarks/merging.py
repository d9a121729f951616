"""How sure a merged model is beside one that learned everything, and what calibrating changes.

PHOTOS holds train/ and test/, as for `memoryless learn`. Ten classes are drawn. Two models learn
five of them each, or half of the photos of all, and are merged. A random half of the test photos
calibrates, with half of those of the other classes as unknown things; the other halves measure.
"""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np

from benchmarks.check import loss, name, read
from benchmarks.photos import Part, place, show
from memoryless.model import Model
from memoryless.stats.confidence import LEAST_TO_CALIBRATE
from memoryless.stats.metrics import calibration_error

DRAWS = range(20)
TEN = 10
COLUMNS = ["model", "temperature", "threshold", "loss", "ECE", "known accepted",
           "unknown rejected"]  # fmt: skip


def measure(photos: Path, cache: Path | None = None) -> None:
    """Print a table of means over draws for each way to part the training photos, and one of models
    that learn on after they were calibrated.
    """
    train, test = read(photos, cache)
    for title, by_class in (("five classes each", True), ("half of the photos each", False)):
        tell(title, [merged(train, test, draw, by_class) for draw in DRAWS])
    tell("ten classes are calibrated, and ten more learned", [later(train, test, d) for d in DRAWS])


def tell(title: str, found: list[dict[str, list[float]]]) -> None:
    means = {way: np.mean([one[way] for one in found], 0) for way in found[0]}
    rows = [[way, *(f"{value:.3g}" for value in row)] for way, row in means.items()]
    show(f"{title}, mean of {len(found)} draws", COLUMNS, rows)


def teach(part: Part) -> Model:
    model = Model()
    model.learn(part.X, [name(c) for c in part.y])
    return model


def halves(y: np.ndarray, draw: int) -> np.ndarray:
    """Return a mask (n,) of a random half of each class."""
    return place(y, draw) < np.bincount(y)[y] // 2


def merged(train: Part, test: Part, draw: int, by_class: bool) -> dict[str, list[float]]:
    """One model of ten classes, two that were merged, and these calibrated."""
    ten = np.random.default_rng(draw).permutation(train.classes)[:TEN]
    part = train.take(np.isin(train.y, ten))
    half = np.isin(part.y, ten[: TEN // 2]) if by_class else halves(part.y, draw)
    parts = {"one": teach(part.take(half)), "two": teach(part.take(~half))}
    both = Model.merge(parts, same_class="join")
    first = halves(test.y, draw)
    known = np.isin(test.y, ten)
    given, strange = test.take(known & first), test.take(~known & first)
    few = np.random.default_rng(draw).permutation(len(given.y))[:LEAST_TO_CALIBRATE]
    measuring = test.take(known & ~first), test.take(~known & ~first)
    models = {
        "one model of all photos": teach(part),
        "merged": both,
        f"merged, calibrated on {LEAST_TO_CALIBRATE} photos": calibrated(both, given.take(few)),
        "merged, calibrated": calibrated(both, given),
        "merged, calibrated with unknown things": calibrated(both, given, strange),
    }
    return {way: numbers(model, *measuring) for way, model in models.items()}


def later(train: Part, test: Part, draw: int) -> dict[str, list[float]]:
    """Measure a model that learns ten more classes: never calibrated, before that, or after it."""
    classes = np.random.default_rng(draw).permutation(train.classes)
    first, ten, twenty = halves(test.y, draw), classes[:TEN], classes[: 2 * TEN]
    more = train.take(np.isin(train.y, classes[TEN : 2 * TEN]))
    known = np.isin(test.y, twenty)
    strange = test.take(~known & first)
    plain = teach(train.take(np.isin(train.y, ten)))
    before = calibrated(plain, test.take(np.isin(test.y, ten) & first), strange)
    for model in (plain, before):
        model.learn(more.X, [name(c) for c in more.y])
    models = {
        "never calibrated": plain,
        "calibrated before, with unknown things": before,
        "calibrated afterwards, with unknown things": calibrated(
            plain, test.take(known & first), strange
        ),
    }
    measuring = test.take(known & ~first), test.take(~known & ~first)
    return {way: numbers(model, *measuring) for way, model in models.items()}


def calibrated(model: Model, given: Part, strange: Part | None = None) -> Model:
    model = copy.copy(model)
    model.calibrate(given.X, [name(c) for c in given.y], strange and strange.X)
    return model


def numbers(model: Model, known: Part, unknown: Part) -> list[float]:
    """Temperature, threshold, loss, ECE, and the shares that are accepted and rejected."""
    found, sure = model.classify(known.X), model._current.confidence
    y = np.array([model.classes.index(name(c)) for c in known.y])
    rejected = 100 * float((~model.classify(unknown.X).known).mean())
    return [sure.temperature, sure.threshold, loss(found.scores, y, sure.temperature),
            calibration_error(found.probabilities, y), 100 * float(found.known.mean()),
            rejected]  # fmt: skip
