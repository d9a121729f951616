"""The estimator's partial_fit on many features, beside the matrix products that it needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.timing import side_by_side
from memoryless import IncrementalClassifier
from memoryless.stats.leave_one_out import MOST
from memoryless.threads import one_thread

NUMBER, D, CLASSES, ROUNDS = 100_000, 512, 100, 5


def draw(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Features of classes that overlap, in a random order."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, NUMBER)
    return (rng.normal(size=(CLASSES, D))[y] + rng.normal(size=(NUMBER, D))).astype(kind), y


def products(X: np.ndarray, y: np.ndarray) -> Callable[[], None]:
    """Return what cannot be left out, on arrays that are in double precision, and in order,
    already: the scatter, its inverse, and the leave-one-out scores of a sample. All under one
    thread, so that the result does not depend on their number.
    """
    away = X.astype(np.float64)
    mean = np.stack([away[y == c].mean(0) for c in range(CLASSES)])
    sample = away[:MOST]

    def compute() -> None:
        with one_thread():
            L = np.linalg.inv(away.T @ away / NUMBER)
            _ = sample @ L @ mean.T

    return compute


def measure() -> dict[str, Any]:
    told: dict[str, Any] = {"samples": NUMBER, "features": D, "classes": CLASSES}
    for kind in ("float32", "float64"):
        X, y = draw(kind)
        seconds = side_by_side(
            {
                "partial_fit": lambda X=X, y=y: IncrementalClassifier("none").partial_fit(X, y),
                "products": products(X, y),
            },
            rounds=ROUNDS,
        )
        told[f"{kind} s"] = round(seconds["partial_fit"], 2)
        told[f"{kind} / products"] = round(seconds["partial_fit"] / seconds["products"], 2)
    return told
