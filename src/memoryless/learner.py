"""A model that learns state after state and keeps nothing of the images."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from memoryless.backbones import build_backbone, feature_size
from memoryless.config import Config
from memoryless.data import Dataset, Split
from memoryless.data.augment import Preparation
from memoryless.data.batches import channel_statistics
from memoryless.errors import ConfigError, choose
from memoryless.heads import Layer
from memoryless.inference import extract_features
from memoryless.network import Network
from memoryless.randomness import derive, torch_generator
from memoryless.record import Record
from memoryless.strategies import STRATEGIES
from memoryless.training import History, Report, StateTraining, pick_device


class Learner:
    """Network, record and preparation; `learn` takes one state's images and lets go of them."""

    def __init__(
        self,
        config: Config,
        seed: int,
        channels: int,
        preparation: Preparation,
        backbone: nn.Module | None = None,
    ):
        torch.manual_seed(derive(seed, "backbone"))
        backbone = backbone or build_backbone(config, channels)
        features = feature_size(backbone, channels, preparation.size)
        self.network = Network(backbone, features).to(pick_device(config.device))
        self.network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.record = Record.empty(features)
        self.config, self.seed, self.preparation = config, seed, preparation
        self.strategy = choose("strategy", config.strategy, STRATEGIES)(config)

    @property
    def layer(self) -> Layer:
        """The classification layer as trained, on the CPU."""
        layer = self.network.layer
        return layer.weight.detach().cpu(), layer.bias.detach().cpu()

    def learn(
        self,
        images: Split,
        new_classes: int,
        checkpoint: Path | None = None,
        report: Report = lambda progress: None,
    ) -> History:
        """Learn a state: train, then write what is kept of it into the record."""
        state = len(self.record.mu)
        self.strategy.begin_state(
            self.network, new_classes, torch_generator(self.seed, state, "layer")
        )
        training = StateTraining(
            self.network,
            self.strategy,
            self.preparation,
            self.config,
            self.seed,
            state,
            checkpoint,
            report,
        )
        history = training.run(images)
        self.record = self.strategy.remember(self.record, self.network, self._mu(images))
        return history

    def restore(self, tensors: dict[str, torch.Tensor], record: Record) -> None:
        """Put back a network and a record as they were at the end of a state."""
        missing = len(record.b) - self.network.classes
        self.network.layer.grow(missing, keep_rows=False, generator=torch_generator(0))
        self.network.load_state_dict(tensors)
        self.record = record

    def features(self, images: Split) -> torch.Tensor:
        return extract_features(
            self.network.backbone, images, self.preparation, self.config.batch_size
        )

    def _mu(self, images: Split) -> float:
        """mu(M_t): the mean largest (or true-class) logit over the state's training images."""
        W, b = self.layer
        logits = torch.addmm(b, self.features(images), W.T)
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
    return Preparation(dataset.image_size, mean, std, config.augment or dataset.augment)
