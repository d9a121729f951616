"""Calibrations: scores made comparable between states, by numbers that belong to whole states.

None of them changes the order of classes of one state. Their numbers are fitted when a state ends
and stand in the scorer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from memoryless.errors import ConfigError
from memoryless.scorers import Affine, Linear, Scorer, positive


@dataclass(frozen=True)
class StateNumbers:
    """Numbers of a finished state that calibrations are fitted on."""

    mu: Tensor  # (states,)
    class_state: Tensor  # (N,)
    held_out: tuple[Tensor, Tensor] | None = None
    """Features and labels of current images that were held out from training."""

    @property
    def blocks(self) -> Tensor:
        """A matrix (N, states), 1 where a class is of a state."""
        return F.one_hot(self.class_state, len(self.mu)).float()

    def held_out_images(self) -> tuple[Tensor, Tensor]:
        """Features and labels of the held-out images, if there are any."""
        if self.held_out is None:
            raise ConfigError(
                f"state {len(self.mu) - 1} held out no image from training: train with "
                "`held_out=0.1`, on classes of at least two images"
            )
        return self.held_out[0].float(), self.held_out[1]


@dataclass(frozen=True)
class Calibration:
    """A calibration turns scores into scores, by numbers fitted when a state ends."""

    name: str
    about: str
    fit: Callable[[Scorer, StateNumbers], Scorer]
    reads: tuple[str, ...] = ("class_state",)
    """Parts of the record that the fitted scorer is made of."""
    held_out: bool = False
    """Whether it is fitted on held-out images."""
    logits_only: bool = False
    """Whether it compares logits, which only layers and rows give."""


def fold(scorer: Scorer, gain: Tensor, offset: Tensor) -> Scorer:
    """Scores times a gain, plus an offset; a linear scorer stays one layer."""
    if isinstance(scorer, Linear):
        return Linear(scorer.W * gain[:, None], scorer.b * gain + offset, scorer.unit)
    return Affine(scorer, gain, offset)


def none(scorer: Scorer, numbers: StateNumbers) -> Scorer:
    """Scores as they are."""
    return scorer


def mc(scorer: Scorer, numbers: StateNumbers) -> Scorer:
    """Scores times mu(M_t) / mu(M_j) for classes of state j (Eq. 5)."""
    factors = mc_factors(numbers.mu, numbers.class_state, len(numbers.mu) - 1)
    return fold(scorer, factors, torch.zeros_like(factors))


def mc_factors(mu: Tensor, class_state: Tensor, current_state: int) -> Tensor:
    """mu(M_t) / mu(M_j) for a class of state j at state t (Eq. 5); 1 for new classes.

    The quotient means nothing unless both are above 0: classes of a state whose mu is not, and all
    classes while the current one is not, keep the factor 1.

    >>> mc_factors(torch.tensor([4.0, 2.0]), torch.tensor([0, 0, 1]), current_state=1)
    tensor([0.5000, 0.5000, 1.0000])
    """
    old, now = mu[class_state], mu[current_state]
    usable = (old > 0) & (now > 0)
    return torch.where(usable, now / old.where(old > 0, old.new_ones(())), now.new_ones(()))


def bg_z(scorer: Scorer, numbers: StateNumbers) -> Scorer:
    """Scores less their state's mean, by its deviation, both over held-out current images.

    The mean leaves out an image's own class: it is of scores that ought to be low. The deviation is
    of all scores, which on held-out drawings was better for most heads.
    """
    features, labels = numbers.held_out_images()
    scores, blocks = scorer(features), numbers.blocks
    others = 1 - F.one_hot(labels, scores.shape[1]).float()
    number = (others @ blocks).sum(0)  # (states,) scores that ought to be low
    mean = ((scores * others) @ blocks).sum(0) / number.clamp(min=1)
    if (number == 0).any():  # a lone new class has no images but its own: as other states do
        mean = mean.where(number > 0, mean[number > 0].mean())
    size = len(scores) * blocks.sum(0)
    average = (scores @ blocks).sum(0) / size
    away = (scores - average[numbers.class_state]).square()
    std = positive(((away @ blocks).sum(0) / size).sqrt())
    gain, offset = 1 / std, -mean / std
    return fold(scorer, gain[numbers.class_state], offset[numbers.class_state])


CALIBRATIONS: dict[str, Calibration] = {
    calibration.name: calibration
    for calibration in (
        Calibration("none", "scores as they are", none, reads=()),
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
