"""What strategies share that learn from the model of the state before."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

from memoryless.strategies.base import Arrival, Strategy

if TYPE_CHECKING:
    from torch import Tensor

    from memoryless.images import Split
    from memoryless.network import Network
    from memoryless.strategies.base import Extract


class Teacher(Strategy):
    """A strategy with the old model at hand during a state; that model goes at the end."""

    teacher: Network | None = None

    def begin_state(self, arrival: Arrival) -> None:
        self.teacher = freeze(arrival.network) if self.past else None
        super().begin_state(arrival)

    def old_logits(self, images: Tensor) -> Tensor | None:
        """The old model's logits of its classes, or nothing in state 0."""
        if self.teacher is None:
            return None
        import torch

        with torch.no_grad():
            return self.teacher(images)[:, : self.past]

    def end_state(self, network: Network, images: Split, extract: Extract) -> None:
        self.teacher = None


def freeze(network: Network) -> Network:
    """A copy that nothing changes: no gradients, and batch statistics as they are."""
    return copy.deepcopy(network).eval().requires_grad_(False)
