"""Summary heads: from stored rows to the linear layer (W, b) that scores features.

`current` takes the layer as trained; all others take each class's initial row and bias, from
the end of the state that brought the class. W is (N, d), b is (N,). Rows without spread become
zero rows, never inf or nan.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from memoryless.stats.heads.base import Head, Layer


def current(W: np.ndarray, b: np.ndarray) -> Layer:
    """The classification layer as trained in the current state (Eq. 1)."""
    return W, b


def initial(W: np.ndarray, b: np.ndarray) -> Layer:
    """Initial rows and biases as they are (Eq. 2)."""
    return W, b


def l2(W: np.ndarray, b: np.ndarray) -> Layer:
    """Rows at length one; the bias vector divided by its length over all classes."""
    return _divide(W, np.linalg.norm(W, axis=1, keepdims=True)), _divide(b, np.linalg.norm(b))


def mean(W: np.ndarray, b: np.ndarray) -> Layer:
    """Rows centred and divided by their range (supplement, section 4)."""
    return _divide(_centred(W), _range(W)), b


def min_max(W: np.ndarray, b: np.ndarray) -> Layer:
    """Rows moved and scaled to 0..1 (supplement, section 4)."""
    return _divide(W - W.min(1, keepdims=True), _range(W)), b


def siw(W: np.ndarray, b: np.ndarray) -> Layer:
    """Standardised rows, s = (w - mean(w)) / std(w) (Eq. 4), the bias as it is.

    A row becomes sqrt(d) times its centred unit vector, so that (bias aside) classes are ranked by
    the Pearson correlation of row and feature.
    """
    centred = _centred(W)
    return _divide(centred, np.sqrt(np.square(centred).mean(1, keepdims=True))), b


def _centred(W: np.ndarray) -> np.ndarray:
    # Rows whose values are all equal must centre to exactly 0, which their rounded mean may miss.
    return (W - W.mean(1, keepdims=True)) * (_range(W) > 0)


def _range(W: np.ndarray) -> np.ndarray:
    return W.max(1, keepdims=True) - W.min(1, keepdims=True)


def _divide(values: np.ndarray, by: Any) -> np.ndarray:
    return values / np.where(by > 0, by, np.ones_like(by))


ROW_HEADS = (
    Head("current", "the layer as trained in the current state (Eq. 1)", "layer", current),
    Head("initial", "initial rows as they are (Eq. 2)", "rows", initial),
    Head("l2", "initial rows at length one", "rows", l2),
    Head("mean", "initial rows centred and divided by their range", "rows", mean),
    Head("min_max", "initial rows scaled to 0..1", "rows", min_max),
    Head("siw", "initial rows standardised (Eq. 4)", "rows", siw),
)
