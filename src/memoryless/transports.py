"""Transports: what stored statistics would be through today's backbone.

All are measured on features of the current training images under the old and the new backbone, row
by row the same images. What a transport measures in a state is called the drift: nothing in it
grows with the number of images.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from memoryless.scorers import View
from memoryless.settings import MEANINGS
from memoryless.statistics import Statistics

SHRINK = 1e-3  # of the mean square of a feature, as in DPCR (ICML 2025)
SDC_WIDTH = 0.5  # of the median distance between a mean and the current images
ABOUT = MEANINGS["transports"]
Drift = Mapping[str, Tensor]


@dataclass(frozen=True)
class Passage:
    """Features of a state's images, under the backbone before the state and after it."""

    before: Tensor  # (n, d)
    after: Tensor  # (n, d)
    view: View = View()  # noqa: RUF009 - frozen

    @cached_property
    def old(self) -> Tensor:
        return self.view(self.before)

    @cached_property
    def new(self) -> Tensor:
        return self.view(self.after)

    @cached_property
    def forward(self) -> Tensor:
        """The linear map from old to new features, which two transports share."""
        return linear_map(self.old, self.new)


def linear_map(X: Tensor, Y: Tensor, shrink: float = SHRINK) -> Tensor:
    """The A that takes X to Y, argmin |X A - Y|^2 + e |A - I|^2 with e = shrink tr(X'X)/d.

    It is near the identity where a state has few images (LDC, ECCV 2024; DPCR, ICML 2025).
    """
    X, Y = X.double(), Y.double()
    gram, identity = X.T @ X, torch.eye(X.shape[1], dtype=torch.float64)
    e = (shrink * gram.trace() / len(gram)).clamp(min=1e-12)
    root = torch.linalg.cholesky(gram + e * identity)
    return torch.cholesky_solve(X.T @ Y + e * identity, root).float()


def semantic_drift(means: Tensor, old: Tensor, new: Tensor, width: float = SDC_WIDTH) -> Tensor:
    """Means moved by the mean drift of current images, near ones counting more (SDC, CVPR 2020)."""
    distance = torch.cdist(means, old)  # (N, n)
    sigma = width * distance.median(1, keepdim=True).values.clamp(min=1e-12)
    weights = (-distance.square() / (2 * sigma**2)).softmax(1)
    return means + weights @ (new - old)


def residual(passage: Passage) -> Tensor:
    """Covariance (d, d) of what the linear map leaves over.

    Features move as f A + r: a map alone, the best guess of each, gives too narrow covariances.
    """
    left = passage.new - passage.old @ passage.forward
    left -= left.mean(0)
    return left.T @ left / len(left)


@dataclass(frozen=True)
class Transport:
    """A transport says how what was kept moves when the backbone changed."""

    name: str
    about: str
    moves: tuple[str, ...]
    """What heads may read under it, of layer, rows, means, covariances and projection."""
    measure: Callable[[Passage, Any], Drift]
    """The drift of a state, from its features and what this transport holds of the past."""
    move: Callable[[Any, Drift], Any]
    """What this transport holds of the past, after the state."""
    follows: bool = False
    """Whether its drift depends on what it held, so that it is measured state by state."""


TRANSPORTS: dict[str, Transport] = {
    transport.name: transport
    for transport in (
        Transport(
            "none",
            ABOUT["none"],
            moves=("layer", "rows", "means", "covariances", "projection"),
            measure=lambda passage, past: {},
            move=lambda past, drift: past,
        ),
        Transport(
            "linear",
            ABOUT["linear"],
            moves=("means", "covariances"),
            measure=lambda passage, past: {"forward": passage.forward},
            move=lambda past, drift: past.move(drift["forward"]),
        ),
        Transport(
            "widened",
            ABOUT["widened"],
            moves=("covariances",),
            measure=lambda passage, past: {
                "forward": passage.forward,
                "residual": residual(passage),
            },
            move=lambda past, drift: past.move(drift["forward"]).widen(drift["residual"]),
        ),
        Transport(
            "sdc",
            ABOUT["sdc"],
            moves=("means", "covariances"),
            measure=lambda passage, past: {
                "sdc": semantic_drift(past.mean, passage.old, passage.new)
            },
            move=lambda past, drift: replace(past, mean=drift["sdc"]),
            follows=True,
        ),
    )
}


def holds(name: str, statistics: Statistics) -> bool:
    """Whether a record keeps statistics like these under a transport."""
    moves = TRANSPORTS[name].moves
    return "means" in moves or ("covariances" in moves and statistics.has_covariances)


def measure_drift(
    passage: Passage, held: Mapping[str, Any], asked: tuple[str, ...]
) -> dict[str, Tensor]:
    """The drift of a state under the transports asked for, and under all that can be had later.

    `held` is what the record holds of the past, by transport.
    """
    drift: dict[str, Tensor] = {}
    for name, transport in TRANSPORTS.items():
        if not transport.follows or (name in asked and name in held):
            drift |= transport.measure(passage, held.get(name))
    return drift
