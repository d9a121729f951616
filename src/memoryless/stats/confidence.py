"""How sure a model is: scores as probabilities, and whether any class fits at all.

Both are fitted on held-out photos. What is kept of these are sums again, so that the photos of all
states count, however few a state brings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Self

import numpy as np
from msgspec import Meta, Struct

ACCEPTED = 0.95  # the share of held-out photos of known classes that the threshold lets pass
TEMPERATURES = 2.0 ** (np.arange(-8, 23) / 2)  # 1/16 to 2,048; the best one lies between two
# From -4,095 to 4,095, finer towards 0, where thresholds lie: steps of a fifth of the margin.
MARGINS = np.sign(np.arange(-48, 49)) * (2.0 ** (np.abs(np.arange(-48, 49)) / 4) - 1)
LEAST = 4  # held-out photos of a state that are summed up: sums of fewer would describe one photo
MOST = 2000  # and at most so many: more would not make it surer


class Confidence(Struct, frozen=True, forbid_unknown_fields=True):
    """A temperature for probabilities, and a threshold for `known`.

    A model's description holds it; bounds are checked when it is read from there.
    """

    temperature: Annotated[float, Meta(gt=0, le=1e30)] = 1.0
    threshold: Annotated[float, Meta(ge=-1e30, le=1e30)] = float(MARGINS[0])
    """The smallest margin of a photo whose class is known; at first every photo has it."""
    averaged: bool = False
    """Whether both are averages of merged models', until the next state is learned."""


@dataclass(frozen=True)
class HeldOut:
    """Sums over held-out photos, from which both numbers follow."""

    losses: np.ndarray  # (temperatures,) of -log of the true class's probability
    below: np.ndarray  # (margins,) how many photos have a smaller margin
    count: np.ndarray  # () how many photos there are

    @classmethod
    def none(cls) -> Self:
        """The sums over no photo."""
        return cls(np.zeros(len(TEMPERATURES)), np.zeros(len(MARGINS)), np.array(0.0))

    @classmethod
    def of(cls, scores: np.ndarray, margin: np.ndarray, labels: np.ndarray) -> Self:
        """The sums over photos with these scores (n, N), margins (n,) and classes (n,).

        With one class there is nothing to be sure of, and few photos are not summed up.
        """
        if len(labels) < LEAST or scores.shape[1] < 2:
            return cls.none()
        some = slice(None, None, -(-len(labels) // MOST))
        scores, margin, labels = scores[some], margin[some], labels[some]
        scores = scores - scores.max(1, keepdims=True)
        losses = [_loss(scores / temperature, labels) for temperature in TEMPERATURES]
        below = np.searchsorted(np.sort(margin), MARGINS)
        return cls(np.array(losses), below.astype(np.float64), np.array(float(len(labels))))

    def join(self, other: Self) -> Self:
        """The sums over both."""
        return type(self)(
            self.losses + other.losses, self.below + other.below, self.count + other.count
        )

    def arrays(self) -> dict[str, np.ndarray]:
        """The sums as they are stored."""
        return {f"held_out.{name}": array for name, array in vars(self).items()}

    @classmethod
    def restore(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """The sums that `arrays` gave."""
        names = ("losses", "below", "count")
        return cls(**{name: arrays[f"held_out.{name}"] for name in names})

    @property
    def confidence(self) -> Confidence:
        """The temperature under which the classes of held-out photos are likeliest (Guo et al.
        2017), and the margin that all but a twentieth of them reach.
        """
        if not self.count:
            return Confidence()
        threshold = _quantile(self.below, (1 - ACCEPTED) * float(self.count))
        return Confidence(_temperature(self.losses), threshold)


def average(parts: Sequence[tuple[Confidence, HeldOut]]) -> Confidence:
    """The mean of merged models' temperatures and thresholds; held-out photos weigh alike."""
    weights = np.array([float(held_out.count) for _, held_out in parts])
    if not weights.any():
        return Confidence()
    pairs = [(sure.temperature, sure.threshold) for sure, _ in parts]
    temperature, threshold = weights @ np.array(pairs) / weights.sum()
    return Confidence(float(temperature), float(threshold), averaged=True)


def _loss(scores: np.ndarray, labels: np.ndarray) -> float:
    """The sum of -log of the true class's probability, of scores whose best is 0."""
    own = scores[np.arange(len(labels)), labels]
    return float((np.log(np.exp(scores).sum(1)) - own).sum())


def _temperature(losses: np.ndarray) -> float:
    """Where a parabola through the smallest loss and its neighbours is smallest."""
    best = int(np.clip(losses.argmin(), 1, len(losses) - 2))
    left, middle, right = losses[best - 1 : best + 2]
    bend = left - 2 * middle + right
    shift = np.clip((left - right) / (2 * bend), -1, 1) if bend > 0 else 0.0
    return float(np.exp(np.interp(best + shift, range(len(losses)), np.log(TEMPERATURES))))


def _quantile(below: np.ndarray, wanted: float) -> float:
    """The margin below which as many photos lie as wanted, of counts below each of MARGINS."""
    after = int(np.searchsorted(below, wanted, side="right"))
    if after in (0, len(below)):
        return float(MARGINS[min(after, len(below) - 1)])
    low, high = below[after - 1 : after + 1]
    share = (wanted - low) / (high - low)
    return float(MARGINS[after - 1] + share * (MARGINS[after] - MARGINS[after - 1]))


@dataclass(frozen=True)
class Judgement:
    """A model's scores, probabilities and margins of n photos."""

    scores: np.ndarray  # (n, N)
    probabilities: np.ndarray  # (n, N)
    margin: np.ndarray  # (n,) how far above the threshold of `known`

    @property
    def known(self) -> np.ndarray:
        """Whether any class fits, (n,)."""
        return self.margin >= 0


def judge(scores: np.ndarray, margin: np.ndarray, confidence: Confidence) -> Judgement:
    """Scores (n, N) and margins (n,) with what a temperature and a threshold make of them."""
    probabilities = softmax(scores / confidence.temperature)
    return Judgement(scores, probabilities, margin - confidence.threshold)


def softmax(scores: np.ndarray) -> np.ndarray:
    """Probabilities (n, N) of scores.

    >>> softmax(np.log([[1.0, 3.0]])).round(2).tolist()
    [[0.25, 0.75]]
    """
    shifted = np.exp(scores - scores.max(1, keepdims=True))
    return shifted / shifted.sum(1, keepdims=True)
