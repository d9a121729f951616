"""The backbone learns in state 0 only; later states train the layer on its features."""

from __future__ import annotations

from torch import nn

from memoryless.strategies.finetune import Arrival, Finetune


class Frozen(Finetune):
    def begin_state(self, arrival: Arrival) -> None:
        if self.known:
            arrival.network.backbone.requires_grad_(False)
        super().begin_state(arrival)

    def train_mode(self, network: nn.Module) -> None:
        network.train(not self.known)  # batch statistics are frozen too
