"""Fine-tuning: cross-entropy over all classes seen, with images of the new ones only.

It is also what every other strategy inherits: each overrides only what it does otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from memoryless.config import TrainingConfig
from memoryless.data import Images, Split
from memoryless.network import GrowingLayer, LinearLayer, Network
from memoryless.record import Record

Extract = Callable[[Split], Tensor]


@dataclass(frozen=True)
class Totals:
    """What a laboratory knows of a stream in advance; a product knows neither."""

    classes: int
    train_images: int


@dataclass(frozen=True)
class Arrival:
    """What a state begins with."""

    network: Network
    images: Split
    new: int
    """How many new classes the images are of."""
    extract: Extract
    """Features of images under the network."""
    generator: torch.Generator


class Finetune:
    memoryless = True
    """Whether it works without past images; if not, every report says so."""
    one_state = False
    """Whether it takes all classes at once."""
    unit_features = False
    """Whether its layer reads features at length one."""
    last_relu = True
    """Whether features are non-negative."""
    heads: tuple[str, ...] | None = None
    """The row heads that mean something for it; by default all."""

    def __init__(self, config: TrainingConfig, totals: Totals | None = None):
        self.config = config
        self.totals = totals
        self.known = 0

    def make_layer(self, features: int) -> GrowingLayer:
        return LinearLayer(features)

    def begin_state(self, arrival: Arrival) -> None:
        """Prepare the network for new classes."""
        keep_rows = self.config.classifier_init == "grow"
        arrival.network.layer.grow(arrival.new, keep_rows, arrival.generator)

    def training_images(self, images: Split) -> Split:
        """What the state trains on."""
        return images

    def parameters(self, network: Network) -> dict[str, nn.Parameter]:
        """What learns, by name."""
        return {name: p for name, p in network.named_parameters() if p.requires_grad}

    def train_mode(self, network: nn.Module) -> None:
        network.train()

    def loss(self, network: Network, images: Tensor, labels: Tensor) -> Tensor:
        """The loss of one batch."""
        return F.cross_entropy(network(images), labels)

    def end_state(self, network: Network, images: Split, extract: Extract) -> None:
        """Let go of what only the state needed."""

    def remember(self, record: Record, network: Network, new: int, mu: float) -> Record:
        """The record after the state: the new classes' rows join it."""
        W, b = network.layer.as_linear()
        rows = slice(len(record.b), len(record.b) + new)
        return record.extend(W[rows], b[rows], mu)

    def tensors(self) -> dict[str, Tensor]:
        """What it keeps from state to state, beside the network and the record."""
        return {}

    def restore(self, tensors: Mapping[str, Tensor], images: Images) -> None:
        """Put back what `tensors` gave; `images` are the stream's training images."""
