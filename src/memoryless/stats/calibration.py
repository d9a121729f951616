"""Calibrations: scores made comparable between states, by numbers that belong to whole states.

None of them changes the order of classes of one state. Their numbers are fitted when a state ends
and stand in the scorer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from memoryless.stats.record import EndOfState
from memoryless.stats.scorers import Affine, Linear, Scorer

GainAndOffset = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Calibration:
    """A calibration turns scores into scores, by numbers fitted when a state ends."""

    name: str
    about: str
    fit: Callable[[Scorer, EndOfState], GainAndOffset] | None
    """From a scorer and the end of a state to a gain and an offset (N,) of each class; nothing
    where scores stay as they are."""
    reads: tuple[str, ...] = ("class_state",)
    """Parts of the record that the fitted scorer is made of."""
    held_out: bool = False
    """Whether it is fitted on held-out images."""
    logits_only: bool = False
    """Whether it compares logits, which only layers and rows give."""


def fold(scorer: Scorer, gain: np.ndarray, offset: np.ndarray) -> Scorer:
    """Multiply scores by a gain and add an offset; a linear scorer stays one layer."""
    if isinstance(scorer, Linear):
        return Linear(scorer.W * gain[:, None], scorer.b * gain + offset, scorer.unit)
    return Affine(scorer, gain, offset)


def mc(scorer: Scorer, end: EndOfState) -> GainAndOffset:
    """Multiply scores by mu(M_t) / mu(M_j) for classes of state j (Eq. 5)."""
    record = end.record
    factors = mc_factors(record.mu, record.class_state, record.states - 1)
    return factors, np.zeros_like(factors)


def mc_factors(mu: np.ndarray, class_state: np.ndarray, current_state: int) -> np.ndarray:
    """Return mu(M_t) / mu(M_j) for a class of state j at state t (Eq. 5); 1 for new classes.

    The quotient means nothing unless both are above 0: classes of a state whose mu is not, and all
    classes while the current one is not, keep the factor 1.

    >>> mc_factors(np.array([4.0, 2.0]), np.array([0, 0, 1]), current_state=1)
    array([0.5, 0.5, 1. ])
    """
    old, now = mu[class_state], mu[current_state]
    usable = (old > 0) & (now > 0)
    return np.where(usable, now, np.ones_like(now)) / np.where(usable, old, np.ones_like(old))


def bg_z(scorer: Scorer, end: EndOfState) -> GainAndOffset:
    """Standardise scores by their state's mean and deviation over held-out current images.

    The mean leaves out an image's own class: those scores ought to be low. The deviation is
    that of all scores, which was better for most heads on held-out drawings.
    """
    features, labels = end.held_out_images()
    scores, blocks, class_state = scorer(features), end.record.blocks, end.record.class_state
    others = (labels[:, None] != np.arange(scores.shape[1])).astype(scores.dtype)
    number = (others @ blocks).sum(0)  # (states,) scores that ought to be low
    mean = ((scores * others) @ blocks).sum(0) / number.clip(min=1)
    if (number == 0).any():  # a lone new class has no images but its own: as other states do
        mean = np.where(number > 0, mean, mean[number > 0].mean())
    size = len(scores) * blocks.sum(0)
    average = (scores @ blocks).sum(0) / size
    away = np.square(scores - average[class_state])
    std = np.sqrt((away @ blocks).sum(0) / size)
    std = np.where(std > 0, std, np.ones_like(std))
    gain, offset = 1 / std, -mean / std
    return gain[class_state], offset[class_state]


CALIBRATIONS: dict[str, Calibration] = {
    calibration.name: calibration
    for calibration in (
        Calibration("none", "scores as they are", None, reads=()),
        Calibration(
            "mc",
            "times mu of the current state, divided by that of the class's state",
            mc,
            reads=("class_state", "mu"),
            logits_only=True,
        ),
        Calibration("bg_z", "by mean and deviation over held-out images", bg_z, held_out=True),
    )
}
