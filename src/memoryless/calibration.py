"""Calibrations: scores made comparable between states, by numbers that belong to whole states.

None of them changes the order of classes of one state.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from memoryless.errors import ConfigError
from memoryless.scorers import Linear, Scorer


@dataclass(frozen=True)
class StateNumbers:
    """What calibrations may read."""

    mu: Tensor  # (states,)
    class_state: Tensor  # (N,)
    held_out: tuple[Tensor, Tensor] | None = None
    """Features and labels of current images that were held out from training."""

    @property
    def blocks(self) -> Tensor:
        """1 where a class is of a state (N, states)."""
        return F.one_hot(self.class_state, len(self.mu)).float()

    def held_out_scores(self, scorer: Scorer) -> tuple[Tensor, Tensor]:
        """Scores and labels of the held-out images."""
        features, labels = self.background()
        return scorer(features), labels

    def background(self) -> tuple[Tensor, Tensor]:
        """Features and labels of the held-out images, if there are any."""
        if self.held_out is None:
            raise ConfigError(
                f"state {len(self.mu) - 1} held out no image from training: train with "
                "`held_out=0.1`, on classes of at least two images"
            )
        return self.held_out[0].float(), self.held_out[1]


@dataclass(frozen=True)
class Calibrated(ABC):
    """A scorer whose scores are those of another, calibrated."""

    scorer: Scorer

    def __call__(self, features: Tensor) -> Tensor:
        return self.calibrate(self.scorer(features))

    @abstractmethod
    def calibrate(self, scores: Tensor) -> Tensor:
        """The other's scores, which stay as they are, to these."""

    @property
    def cost(self) -> int:
        return self.scorer.cost


@dataclass(frozen=True)
class Affine(Calibrated):
    """Scores times a gain and plus an offset for each class."""

    gain: Tensor  # (N,)
    offset: Tensor  # (N,)

    def calibrate(self, scores: Tensor) -> Tensor:
        return torch.addcmul(self.offset, scores, self.gain)


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
    """Each state's scores by their mean and deviation over held-out current images.

    An image's own class is left out: the numbers are of scores that ought to be low.
    """
    scores, labels = numbers.held_out_scores(scorer)
    counted = 1 - F.one_hot(labels, scores.shape[1]).float()
    blocks = numbers.blocks
    total = (counted @ blocks).sum(0)  # (states,) scores that count
    mean = ((scores * counted) @ blocks).sum(0) / total.clamp(min=1)
    away = (scores - mean[numbers.class_state]).square() * counted
    std = _positive(((away @ blocks).sum(0) / total.clamp(min=1)).sqrt())
    if (total == 0).any():  # a lone new class has no images but its own: as other states do
        mean, std = (v.where(total > 0, v[total > 0].mean()) for v in (mean, std))
    gain, offset = 1 / std, -mean / std
    return fold(scorer, gain[numbers.class_state], offset[numbers.class_state])


@dataclass(frozen=True)
class BlockZ(Calibrated):
    """Each state's scores by their mean and deviation within the image."""

    blocks: Tensor  # (N, states)

    def calibrate(self, scores: Tensor) -> Tensor:
        size = self.blocks.sum(0)
        centred = scores - (scores @ self.blocks / size) @ self.blocks.T
        std = _positive((centred.square() @ self.blocks / size).sqrt())
        return centred / (std @ self.blocks.T)


def block_z(scorer: Scorer, numbers: StateNumbers) -> Scorer:
    return BlockZ(scorer, numbers.blocks)


@dataclass(frozen=True)
class Energy(Calibrated):
    """Log-probability within the state, plus how unusual the state's logsumexp is."""

    class_state: Tensor  # (N,)
    mean: Tensor  # (states,)
    std: Tensor  # (states,)

    def calibrate(self, scores: Tensor) -> Tensor:
        energy = block_logsumexp(scores, self.class_state, len(self.mean))
        shift = (energy - self.mean) / self.std - energy
        return scores + shift[:, self.class_state]


def energy(scorer: Scorer, numbers: StateNumbers) -> Scorer:
    """Log-softmax within each state, plus its logsumexp by what it is on held-out images."""
    scores, _ = numbers.held_out_scores(scorer)
    sums = block_logsumexp(scores, numbers.class_state, len(numbers.mu))
    spread = _positive(sums.std(0, correction=0))
    return Energy(scorer, numbers.class_state, sums.mean(0), spread)


def block_logsumexp(scores: Tensor, class_state: Tensor, states: int) -> Tensor:
    """log sum exp of each state's scores (n, states)."""
    index = class_state.expand_as(scores)
    low = scores.new_full((len(scores), states), -torch.inf)
    top = low.scatter_reduce(1, index, scores, "amax")
    sums = torch.zeros_like(top).scatter_add_(1, index, (scores - top.gather(1, index)).exp())
    return top + sums.log()


def _positive(std: Tensor) -> Tensor:
    return std.where(std > 0, std.new_ones(()))


CALIBRATIONS: dict[str, Callable[[Scorer, StateNumbers], Scorer]] = {
    "none": none,
    "mc": mc,
    "bg_z": bg_z,
    "block_z": block_z,
    "energy": energy,
}
