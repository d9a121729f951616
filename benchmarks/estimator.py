"""The estimator's partial_fit on many features, beside the matrix products that it needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.timing import side_by_side
from memoryless import IncrementalClassifier
from memoryless.model.fixed import HELD_OUT

NUMBER, D, CLASSES, ROUNDS = 100_000, 512, 100, 5


def draw(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Features of classes that overlap, in a random order."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, CLASSES, NUMBER)
    return (rng.normal(size=(CLASSES, D))[y] + rng.normal(size=(NUMBER, D))).astype(kind), y


def products(X: np.ndarray, y: np.ndarray) -> Callable[[], None]:
    """What cannot be left out, on arrays that are in double precision, and in order, already: the
    scatter, two solutions for the layer, and the scores of held-out samples.
    """
    away = X.astype(np.float64)
    mean = np.stack([away[y == c].mean(0) for c in range(CLASSES)])
    held = away[: int(HELD_OUT * NUMBER)]

    def compute() -> None:
        S = away.T @ away / NUMBER
        for _ in range(2):
            W = np.linalg.solve(S, mean.T)
        _ = held @ W

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
