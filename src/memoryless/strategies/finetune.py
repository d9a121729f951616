"""Fine-tuning: cross-entropy over all classes seen, with images of the new ones only.

It is also what every other strategy inherits: each overrides only what it does otherwise.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from memoryless.config import TrainingConfig
from memoryless.network import Network
from memoryless.record import Record


class Finetune:
    memoryless = True
    """Whether it works without past images; if not, every report says so."""

    def __init__(self, config: TrainingConfig):
        self.config = config

    def begin_state(self, network: Network, new: int, generator: torch.Generator) -> None:
        """Prepare the network for a state with `new` classes."""
        network.layer.grow(new, self.config.classifier_init == "grow", generator)

    def parameters(self, network: Network) -> dict[str, nn.Parameter]:
        """What learns, by name."""
        return {name: p for name, p in network.named_parameters() if p.requires_grad}

    def loss(self, network: nn.Module, images: Tensor, labels: Tensor) -> Tensor:
        """The loss of one batch."""
        return F.cross_entropy(network(images), labels)

    def remember(self, record: Record, network: Network, mu: float) -> Record:
        """The record after the state: the new classes' rows join it."""
        known = len(record.b)
        return record.extend(network.layer.weight[known:], network.layer.bias[known:], mu)
