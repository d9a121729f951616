"""The backbone learns in state 0 only; later states train the layer on its features."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryless.strategies.base import Arrival, Strategy

if TYPE_CHECKING:
    from torch import nn


class Frozen(Strategy):
    about = "the backbone learns in state 0 only, later states train the layer"

    def begin_state(self, arrival: Arrival) -> None:
        if self.past:
            arrival.network.backbone.requires_grad_(False)
        super().begin_state(arrival)

    def train_mode(self, network: nn.Module) -> None:
        network.train(not self.past)  # batch statistics are frozen too
