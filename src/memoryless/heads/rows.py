"""Summary heads: from stored rows to the linear layer (W, b) that scores features.

`current` takes the layer as trained; all others take each class's initial row and bias, from
the end of the state that brought the class. W is (N, d), b is (N,). Rows without spread become
zero rows, never inf or nan.
"""

from __future__ import annotations

from torch import Tensor

from memoryless.heads.base import Head
from memoryless.network import Layer


def current(W: Tensor, b: Tensor) -> Layer:
    """The classification layer as trained in the current state (Eq. 1)."""
    return W, b


def initial(W: Tensor, b: Tensor) -> Layer:
    """Initial rows and biases as they are (Eq. 2)."""
    return W, b


def l2(W: Tensor, b: Tensor) -> Layer:
    """Rows at length one; the bias vector divided by its length over all classes."""
    return _divide(W, W.norm(dim=1, keepdim=True)), _divide(b, b.norm())


def mean(W: Tensor, b: Tensor) -> Layer:
    """Rows centred and divided by their range (supplement, section 4)."""
    return _divide(_centred(W), _range(W)), b


def min_max(W: Tensor, b: Tensor) -> Layer:
    """Rows moved and scaled to 0..1 (supplement, section 4)."""
    return _divide(W - W.amin(1, keepdim=True), _range(W)), b


def siw(W: Tensor, b: Tensor) -> Layer:
    """Standardised rows, s = (w - mean(w)) / std(w) (Eq. 4), the bias as it is.

    A row becomes sqrt(d) times its centred unit vector, so that (bias aside) classes are ranked by
    the Pearson correlation of row and feature.
    """
    centred = _centred(W)
    return _divide(centred, centred.square().mean(1, keepdim=True).sqrt()), b


def _centred(W: Tensor) -> Tensor:
    # Rows whose values are all equal must centre to exactly 0, which their rounded mean may miss.
    return (W - W.mean(1, keepdim=True)) * (_range(W) > 0)


def _range(W: Tensor) -> Tensor:
    return W.amax(1, keepdim=True) - W.amin(1, keepdim=True)


def _divide(values: Tensor, by: Tensor) -> Tensor:
    return values / by.where(by > 0, by.new_ones(()))


ROW_HEADS = (
    Head("current", "the layer as trained in the current state (Eq. 1)", "layer", current),
    Head("initial", "initial rows as they are (Eq. 2)", "rows", initial),
    Head("l2", "initial rows at length one", "rows", l2),
    Head("mean", "initial rows centred and divided by their range", "rows", mean),
    Head("min_max", "initial rows scaled to 0..1", "rows", min_max),
    Head("siw", "initial rows standardised (Eq. 4)", "rows", siw),
)
