"""The backbone learns in state 0 only; later states train the layer on its features."""

from __future__ import annotations

from torch import nn

from memoryless.network import Network
from memoryless.strategies.finetune import Finetune


class Frozen(Finetune):
    def parameters(self, network: Network) -> dict[str, nn.Parameter]:
        parameters = super().parameters(network)
        if not self.known:
            return parameters
        return {name: p for name, p in parameters.items() if name.startswith("layer.")}

    def train_mode(self, network: nn.Module) -> None:
        network.train(not self.known)  # batch statistics are frozen too
