"""How sure a model is: scores as probabilities, and whether any class fits at all.

Both numbers are fitted on held-out photos when a state ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

ACCEPTED = 0.95  # the share of held-out photos of known classes that the threshold lets pass
STEPS = 60  # of the search: each narrows it to 0.62, so 60 find a temperature to all its digits


@dataclass(frozen=True)
class Confidence:
    """A temperature for probabilities, and a threshold for `known`."""

    temperature: float = 1.0
    threshold: float = 0.0
    """The least margin of a photo that is of a known class."""

    def blend(self, other: Self | None, mine: float, theirs: float) -> Self:
        """Both, weighted by the photos that they are of."""
        if other is None or not mine:
            return other or self
        share = theirs / (mine + theirs)
        return type(self)(
            self.temperature ** (1 - share) * other.temperature**share,
            self.threshold * (1 - share) + other.threshold * share,
        )


@dataclass(frozen=True)
class Judgement:
    """What a model makes of n photos."""

    scores: np.ndarray  # (n, N)
    probabilities: np.ndarray  # (n, N)
    margin: np.ndarray  # (n,) how far above the threshold of `known`

    @property
    def known(self) -> np.ndarray:
        """Whether any class fits, (n,)."""
        return self.margin >= 0


@dataclass(frozen=True)
class Measured:
    """What held-out photos of a state, and its classes, say of the model after it."""

    scores: np.ndarray  # (h, N) of held-out photos
    labels: np.ndarray  # (h,)
    alike: Sequence[tuple[int, int, float]] = ()
    """Pairs of classes most alike, with the share of photos that they may lose to each other."""


def softmax(scores: np.ndarray) -> np.ndarray:
    """Probabilities (n, N) of scores.

    >>> softmax(np.log([[1.0, 3.0]])).round(2).tolist()
    [[0.25, 0.75]]
    """
    shifted = np.exp(scores - scores.max(1, keepdims=True))
    return shifted / shifted.sum(1, keepdims=True)


def fit_temperature(scores: np.ndarray, labels: np.ndarray) -> float:
    """The temperature under which the labels are likeliest (Guo et al. 2017)."""
    own = scores[np.arange(len(labels)), labels]
    low, high = (np.log(x * max(np.abs(scores).max(), 1e-6)) for x in (1e-4, 1e2))
    golden = (5**0.5 - 1) / 2
    for _ in range(STEPS):
        inner = high - golden * (high - low), low + golden * (high - low)
        losses = [_loss(scores, own, np.exp(x)) for x in inner]
        low, high = (low, inner[1]) if losses[0] <= losses[1] else (inner[0], high)
    return float(np.exp((low + high) / 2))


def _loss(scores: np.ndarray, own: np.ndarray, temperature: float) -> float:
    scaled = scores / temperature
    top = scaled.max(1)
    return float((top + np.log(np.exp(scaled - top[:, None]).sum(1)) - own / temperature).mean())


def fit_threshold(margins: np.ndarray) -> float:
    """The margin that all but a twentieth of held-out photos of known classes reach."""
    return float(np.quantile(margins, 1 - ACCEPTED))


def fit_confidence(scores: np.ndarray, floor: np.ndarray, labels: np.ndarray) -> Confidence | None:
    """Both numbers from the scores (n, N) of held-out photos, and from what no class would score
    (n,); nothing without a photo.
    """
    if not len(labels):
        return None
    return Confidence(fit_temperature(scores, labels), fit_threshold(scores.max(1) - floor))
