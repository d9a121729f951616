"""The contract of a strategy: how a state is trained, and what the next one finds.

The contract is also plain fine-tuning: each strategy overrides only what it does otherwise.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pkgutil import resolve_name

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from memoryless.images import Images, Split
from memoryless.settings import ModelSettings
from memoryless.stats.record import Record
from memoryless.strategies import STRATEGIES
from memoryless.train.network import GrowingLayer, LinearLayer, Network

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
    """The number of new classes."""
    extract: Extract
    """Features of images under the network."""
    generator: torch.Generator
    prepare: Callable[[Tensor], Tensor] | None = None
    """Images as the network sees them, without augmentation."""


class Trainer:
    """A trainer says how a state is trained; as it stands here, by plain fine-tuning."""

    def __init__(self, settings: ModelSettings, totals: Totals | None = None):
        self.settings = settings
        self.totals = totals
        self.past = 0
        """How many classes earlier states have brought."""

    def make_layer(self, features: int) -> GrowingLayer:
        return LinearLayer(features)

    def begin_state(self, arrival: Arrival) -> None:
        """Prepare the network for new classes."""
        keep_rows = self.settings.classifier_init == "grow"
        arrival.network.layer.grow(arrival.new, keep_rows, arrival.generator)

    def training_images(self, images: Split) -> Split:
        """Return the images that the state trains on."""
        return images

    def parameters(self, network: Network) -> dict[str, nn.Parameter]:
        """Return the parameters that learn, by name."""
        return {name: p for name, p in network.named_parameters() if p.requires_grad}

    def train_mode(self, network: nn.Module) -> None:
        network.train()

    def loss(self, network: Network, images: Tensor, labels: Tensor) -> Tensor:
        """Return the loss of one batch."""
        return cross_entropy(network(images), labels)

    def end_state(self, network: Network, images: Split, extract: Extract) -> None:
        """Let go of what only the state needed."""

    def remember(self, record: Record, network: Network, new: int, mu: float) -> Record:
        """Return the record after the state, with the rows of the new classes."""
        W, b = (values.numpy() for values in network.layer.as_linear())
        rows = slice(record.classes, record.classes + new)
        return record.extend(W[rows], b[rows], mu)

    def tensors(self) -> dict[str, Tensor]:
        """Return what the strategy keeps from state to state, beside the network and the record."""
        return {}

    def restore(self, tensors: Mapping[str, Tensor], images: Images | None = None) -> None:
        """Put back what `tensors` gave; only replay reads `images`, those of the stream."""


class Teacher(Trainer):
    """A trainer with the old model at hand during a state; that model goes at the end."""

    teacher: Network | None = None

    def begin_state(self, arrival: Arrival) -> None:
        self.teacher = freeze(arrival.network) if self.past else None
        super().begin_state(arrival)

    @torch.no_grad()
    def old_logits(self, images: Tensor) -> Tensor | None:
        """Return the old model's logits of its classes; None in state 0."""
        return None if self.teacher is None else self.teacher(images)[:, : self.past]

    def end_state(self, network: Network, images: Split, extract: Extract) -> None:
        self.teacher = None


def freeze(network: Network) -> Network:
    """Return a copy that nothing changes: no gradients, and batch statistics as they are."""
    return copy.deepcopy(network).eval().requires_grad_(False)


def trainer_class(strategy: str) -> type[Trainer]:
    """Return the class that trains a strategy."""
    kind: type[Trainer] = resolve_name(STRATEGIES[strategy].trained_by)
    return kind


def make_trainer(settings: ModelSettings, totals: Totals | None = None) -> Trainer:
    """Make a trainer of the strategy that settings name, before its first state."""
    return trainer_class(settings.strategy)(settings, totals)
