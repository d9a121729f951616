"""Transports: what stored statistics would be through today's backbone.

All are measured on features of the current training images under the old and the new backbone, row
by row the same images. What a transport measures in a state is called the drift: nothing in it
grows with the number of images.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from memoryless.stats.class_statistics import ClassStatistics

SHRINK = 1e-3  # of the mean square of a feature, as in DPCR (ICML 2025)
SDC_WIDTH = 0.5  # of the median distance between a mean and the current images
Drift = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Passage:
    """Features of a state's images that statistics read, under the backbone before the state and
    after it.
    """

    old: np.ndarray  # (n, d)
    new: np.ndarray  # (n, d)

    @cached_property
    def forward(self) -> np.ndarray:
        """The linear map from old to new features, which two transports share."""
        return linear_map(self.old, self.new)


def linear_map(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return the A that takes X to Y, argmin |X A - Y|^2 + e |A - I|^2 with e = SHRINK tr(X'X)/d.

    It is near the identity where a state has few images (LDC, ECCV 2024; DPCR, ICML 2025).
    """
    from scipy.linalg import cho_factor, cho_solve

    X, Y = X.astype(np.float64), Y.astype(np.float64)
    gram = X.T @ X
    e = max(SHRINK * gram.trace() / len(gram), 1e-12)
    identity = e * np.eye(len(gram))
    return cho_solve(cho_factor(gram + identity), X.T @ Y + identity).astype(np.float32)


def semantic_drift(means: np.ndarray, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Move means by the mean drift of current images, near ones counting more (SDC, CVPR 2020)."""
    from scipy.spatial.distance import cdist
    from scipy.special import softmax

    distance = cdist(means, old)  # (N, n)
    sigma = SDC_WIDTH * _lower_median(distance).clip(min=1e-12)
    weights = softmax(-np.square(distance) / (2 * sigma**2), axis=1)
    return means + (weights @ (new - old)).astype(means.dtype)


def _lower_median(distance: np.ndarray) -> np.ndarray:
    """Return the median (N, 1) of each row; of an even number the lower of the middle two."""
    middle = (distance.shape[1] - 1) // 2
    return np.partition(distance, middle, axis=1)[:, middle, None]


def residual(passage: Passage) -> np.ndarray:
    """Return the covariance (d, d) of what the linear map leaves over.

    Features move as f A + r: a map alone, the best guess of each, gives too narrow covariances.
    """
    left = passage.new - passage.old @ passage.forward
    left = left - left.mean(0)
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
            "as it was when its state ended",
            moves=("layer", "rows", "means", "covariances", "projection"),
            measure=lambda passage, past: {},
            move=lambda past, drift: past,
        ),
        Transport(
            "linear",
            "moved by the linear map from old to new features",
            moves=("means", "covariances"),
            measure=lambda passage, past: {"forward": passage.forward},
            move=lambda past, drift: past.move(drift["forward"]),
        ),
        Transport(
            "widened",
            "as linear, covariances widened by what the map leaves over",
            moves=("covariances",),
            measure=lambda passage, past: {
                "forward": passage.forward,
                "residual": residual(passage),
            },
            move=lambda past, drift: past.move(drift["forward"]).widen(drift["residual"]),
        ),
        Transport(
            "sdc",
            "means moved by the drift of nearby current images",
            moves=("means", "covariances"),
            measure=lambda passage, past: {
                "sdc": semantic_drift(past.mean, passage.old, passage.new)
            },
            move=lambda past, drift: past.with_parts(mean=drift["sdc"]),
            follows=True,
        ),
    )
}


def holds(name: str, statistics: ClassStatistics) -> bool:
    """Return whether a record keeps statistics like these under a transport."""
    moves = TRANSPORTS[name].moves
    return "means" in moves or ("covariances" in moves and statistics.has_covariances)


def measure_drift(
    passage: Passage, held: Mapping[str, Any], asked: tuple[str, ...]
) -> dict[str, np.ndarray]:
    """Measure the drift under the transports asked for, and under all that can be had later.

    `held` is what the record holds of the past, by transport.
    """
    drift: dict[str, np.ndarray] = {}
    for name, transport in TRANSPORTS.items():
        if not transport.follows or (name in asked and name in held):
            drift |= transport.measure(passage, held.get(name))
    return drift


def carry(
    held: Mapping[str, ClassStatistics],
    birth: ClassStatistics,
    drift: Drift | None,
    asked: tuple[str, ...],
) -> dict[str, ClassStatistics]:
    """Move statistics of the past, by transport, by a state's drift, and add new ones.

    Without a drift, in the first state, there are new ones only.
    """
    kept = [name for name in asked if holds(name, birth)]
    if drift is None:
        return dict.fromkeys(kept, birth)
    return {name: TRANSPORTS[name].move(held[name], drift).join(birth) for name in kept}
