"""A model that learns state after state and keeps nothing of the images."""

from __future__ import annotations

import math
from pathlib import Path

import torch
from torch import nn

from memoryless.backbones import ResNet18, build_backbone, feature_size
from memoryless.config import Config
from memoryless.data import Dataset, Images, Split
from memoryless.data.augment import Preparation
from memoryless.data.batches import channel_statistics
from memoryless.errors import ConfigError, TrainingError, choose
from memoryless.features import extract_features
from memoryless.heads import Layer
from memoryless.network import Network
from memoryless.randomness import derive, torch_generator
from memoryless.record import Record
from memoryless.strategies import STRATEGIES, Arrival, Totals
from memoryless.training import LOWER_RATE, History, Report, StateTraining, part, pick_device


class Learner:
    """Network, record and preparation; `learn` takes one state's images and lets go of them."""

    def __init__(
        self,
        config: Config,
        seed: int,
        channels: int,
        preparation: Preparation,
        backbone: nn.Module | None = None,
        totals: Totals | None = None,
    ):
        self.config, self.seed, self.preparation = config, seed, preparation
        self.strategy = choose("strategy", config.strategy, STRATEGIES)(config, totals)
        torch.manual_seed(derive(seed, "backbone"))
        backbone = backbone or build_backbone(config, channels)
        if isinstance(backbone, ResNet18) and not self.strategy.last_relu:
            backbone.drop_last_relu()
        features = feature_size(backbone, channels, preparation.size)
        network = Network(backbone, self.strategy.make_layer(features))
        self.network = network.to(pick_device(config.device))
        self.network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.record = Record.empty(features)

    @property
    def layer(self) -> Layer:
        """The classification layer as trained, for the classes seen, on the CPU."""
        seen = len(self.record.b)
        W, b = self.network.layer.as_linear()
        return W[:seen], b[:seen]

    def learn(
        self,
        images: Split,
        new_classes: int,
        checkpoint: Path | None = None,
        report: Report = lambda progress: None,
    ) -> History:
        """Learn a state: train, then write what is kept of it into the record."""
        state, strategy = len(self.record.mu), self.strategy
        strategy.known = len(self.record.b)
        generator = torch_generator(self.seed, state, "layer")
        arrival = Arrival(self.network, images, new_classes, self.features, generator)
        strategy.begin_state(arrival)
        training = StateTraining(
            self.network,
            strategy,
            self.preparation,
            self.config,
            self.seed,
            state,
            checkpoint,
            report,
        )
        history = training.run(strategy.training_images(images))
        strategy.end_state(self.network, images, self.features)
        mu = self._mu(images, strategy.known + new_classes)
        if not math.isfinite(mu):  # the last step can spoil weights after a sound loss
            raise TrainingError(f"the model of state {state} gives {mu}, no scores: {LOWER_RATE}")
        self.record = strategy.remember(self.record, self.network, new_classes, mu)
        return history

    def tensors(self) -> dict[str, torch.Tensor]:
        """What a later state needs, beside the record."""
        network = {f"network.{k}": v for k, v in self.network.state_dict().items()}
        return network | {f"strategy.{k}": v for k, v in self.strategy.tensors().items()}

    def restore(self, tensors: dict[str, torch.Tensor], record: Record, images: Images) -> None:
        """Put everything back as it was at the end of a state."""
        self.network.load_state_dict(part(tensors, "network."))
        self.strategy.restore(part(tensors, "strategy."), images)
        self.record = record

    def features(self, images: Split) -> torch.Tensor:
        return extract_features(
            self.network.backbone, images, self.preparation, self.config.batch_size
        )

    @torch.no_grad()
    def _mu(self, images: Split, seen: int) -> float:
        """mu(M_t): the mean largest (or true-class) logit over the state's training images."""
        layer = self.network.layer
        device = next(layer.parameters()).device
        logits = layer(self.features(images).to(device))[:, :seen].cpu()
        if self.config.mu == "largest":
            return logits.amax(1).mean().item()
        return logits.gather(1, torch.from_numpy(images.labels)[:, None]).mean().item()


def prepare(config: Config, dataset: Dataset, first_images: Split) -> Preparation:
    """The preparation of a whole stream; what is not given is measured on state 0's images."""
    if config.mean and config.std:
        mean, std = config.mean, config.std
    else:
        mean, std = channel_statistics(first_images)
    if not len(mean) == len(std) == dataset.channels:
        raise ConfigError(f"mean and std need {dataset.channels} values each, one a channel")
    return Preparation(
        dataset.image_size, mean, std, dataset.augment if config.augment is None else config.augment
    )
