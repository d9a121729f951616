"""What a strategy is: how a state is trained, and what it keeps for the next one.

The contract is also plain fine-tuning: each strategy overrides only what it does otherwise. Torch
is imported inside functions, so that settings can be shown without it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn

    from memoryless.images import Images, Split
    from memoryless.network import GrowingLayer, Network
    from memoryless.stats.record import Record
    from memoryless.strategies import ModelSettings

    Extract = Callable[[Split], Tensor]

# Training settings of every strategy whose own recipe does not name them.
BASE_RECIPE: dict[str, Any] = {
    "epochs": 30,
    "lr": 0.1,
    "lr_later": "t+1",
    "schedule": "cosine",
    "milestones": (0.5, 0.75),
    "decay": 0.1,
    "weight_decay": 5e-4,
    "classifier_init": "reset",
}


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
    prepare: Callable[[Tensor], Tensor] | None = None
    """Images as the network sees them, without augmentation."""


class Strategy:
    """A strategy says how a state is trained; as it stands here, it is plain fine-tuning."""

    about = ""
    """What it does, in a few words."""
    recipe: ClassVar[dict[str, Any]] = {}
    """Training settings that it was published with, where they differ from BASE_RECIPE."""
    memoryless = True
    """Whether it works without past images; if not, every report says so."""
    one_state = False
    """Whether it takes all classes at once."""
    draws_weights = False
    """Whether the backbone must not bring weights of any training."""
    last_relu = True
    """Whether features are non-negative."""

    def __init__(self, settings: ModelSettings, totals: Totals | None = None):
        self.settings = settings
        self.totals = totals
        self.past = 0
        """How many classes earlier states have brought."""

    def make_layer(self, features: int) -> GrowingLayer:
        from memoryless.network import LinearLayer

        return LinearLayer(features)

    def begin_state(self, arrival: Arrival) -> None:
        """Prepare the network for new classes."""
        keep_rows = self.settings.classifier_init == "grow"
        arrival.network.layer.grow(arrival.new, keep_rows, arrival.generator)

    def training_images(self, images: Split) -> Split:
        """The images that the state trains on."""
        return images

    def parameters(self, network: Network) -> dict[str, nn.Parameter]:
        """The parameters that learn, by name."""
        return {name: p for name, p in network.named_parameters() if p.requires_grad}

    def train_mode(self, network: nn.Module) -> None:
        network.train()

    def loss(self, network: Network, images: Tensor, labels: Tensor) -> Tensor:
        """The loss of one batch."""
        from torch.nn.functional import cross_entropy

        return cross_entropy(network(images), labels)

    def end_state(self, network: Network, images: Split, extract: Extract) -> None:
        """Let go of what only the state needed."""

    def remember(self, record: Record, network: Network, new: int, mu: float) -> Record:
        """The record after the state: the new classes' rows join it."""
        W, b = (values.numpy() for values in network.layer.as_linear())
        rows = slice(record.classes, record.classes + new)
        return record.extend(W[rows], b[rows], mu)

    def tensors(self) -> dict[str, Tensor]:
        """What the strategy keeps from state to state, beside the network and the record."""
        return {}

    def restore(self, tensors: Mapping[str, Tensor], images: Images | None = None) -> None:
        """Put back what `tensors` gave; only replay reads `images`, those of the stream."""
