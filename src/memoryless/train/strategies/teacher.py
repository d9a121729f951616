"""What strategies share that learn from the model of the state before."""

from __future__ import annotations

import copy

import torch
from torch import Tensor

from memoryless.images import Split
from memoryless.train.network import Network
from memoryless.train.strategies.base import Arrival, Extract, Trainer


class Teacher(Trainer):
    """A trainer with the old model at hand during a state; that model goes at the end."""

    teacher: Network | None = None

    def begin_state(self, arrival: Arrival) -> None:
        self.teacher = freeze(arrival.network) if self.past else None
        super().begin_state(arrival)

    @torch.no_grad()
    def old_logits(self, images: Tensor) -> Tensor | None:
        """The old model's logits of its classes, or nothing in state 0."""
        return None if self.teacher is None else self.teacher(images)[:, : self.past]

    def end_state(self, network: Network, images: Split, extract: Extract) -> None:
        self.teacher = None


def freeze(network: Network) -> Network:
    """A copy that nothing changes: no gradients, and batch statistics as they are."""
    return copy.deepcopy(network).eval().requires_grad_(False)
