"""A model that learns state after state and keeps nothing of the images."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn

from memoryless.backbones import ResNet18, build_backbone, feature_size
from memoryless.config import Config
from memoryless.data import Dataset, Images, Split, hold_out
from memoryless.data.augment import Preparation
from memoryless.data.batches import channel_statistics
from memoryless.errors import ConfigError, TrainingError
from memoryless.features import compact, extract_features
from memoryless.heads import FITTED_HEADS, ProjectionSums, fit_head
from memoryless.inference import fitted_name
from memoryless.methods import Method, offered
from memoryless.names import choose
from memoryless.network import Layer, Network
from memoryless.randomness import derive, torch_generator
from memoryless.record import Record
from memoryless.scorers import Scorer
from memoryless.statistics import Moments, Reading, Statistics
from memoryless.strategies import STRATEGIES, Arrival, Totals
from memoryless.training import (
    LOWER_RATE,
    Checkpoint,
    History,
    Report,
    StateTraining,
    part,
    pick_device,
)
from memoryless.transports import Drift

NO_STAGES = (
    "level middle reads the stages of a ResNet: choose --backbone resnet18 or resnet18_3x3, or "
    "--level last"
)
CHUNK = 1024  # features taken into the moments at once


@dataclass(frozen=True)
class Learned:
    """What a state leaves beside the model: for the laboratory, which composes methods later."""

    history: History
    birth: Statistics | None
    """Of the new classes, as they were at the end of their state."""
    drift: Drift | None
    """How features moved, from the second state on."""
    fitted: dict[str, Scorer]
    held_out: tuple[Tensor, Tensor] | None = None
    """Features and labels of images that were held out from training and statistics."""


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
        if config.level == "middle" and not isinstance(backbone, ResNet18):
            raise ConfigError(NO_STAGES)
        features = feature_size(backbone, channels, preparation.size)
        network = Network(backbone, self.strategy.make_layer(features))
        self.network = network.to(pick_device(config.device))
        self.network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.record = Record.empty(features)

    @property
    def reading(self) -> Reading:
        """What statistics are of."""
        return Reading.of(self.config.to_dict(), self.record.W.shape[1])

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
        checkpoint: Checkpoint | None = None,
        report: Report = lambda progress: None,
    ) -> Learned:
        """Learn a state: train, then write what is kept of it into the record."""
        state, strategy = len(self.record.mu), self.strategy
        strategy.known = len(self.record.b)
        held_out = self._held_out(images, state)
        train = images.take(~held_out)
        old = self.all_features(train) if strategy.known and self._gathers else None
        generator = torch_generator(self.seed, state, "layer")
        strategy.begin_state(Arrival(self.network, train, new_classes, self.features, generator))
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
        watched = images.take(held_out) if held_out.any() else None
        history = training.run(strategy.training_images(train), watched)
        strategy.end_state(self.network, train, self.features)
        features, labels = self.all_features(images), torch.from_numpy(images.labels)
        mu = self._mu(self.reading.rows(features), labels, strategy.known + new_classes)
        if not math.isfinite(mu):  # the last step can spoil weights after a sound loss
            raise TrainingError(f"the model of state {state} gives {mu}, no scores: {LOWER_RATE}")
        self.record = strategy.remember(self.record, self.network, new_classes, mu)
        apart = torch.from_numpy(held_out)
        learned = self._gather(features[~apart], labels[~apart], old, history)
        if not held_out.any():
            return learned
        return replace(learned, held_out=(compact(features[apart]), labels[apart]))

    def _held_out(self, images: Split, state: int) -> np.ndarray:
        """Mask of the images that take no part in training or statistics."""
        if not self.config.holdout:
            return np.zeros(len(images), dtype=bool)
        labels = images.labels - images.labels.min()
        return hold_out(labels, self.config.holdout, self.seed, state, "holdout")

    @property
    def _gathers(self) -> bool:
        return self.config.statistics != "none"

    def _gather(
        self, features: Tensor, labels: Tensor, old: Tensor | None, history: History
    ) -> Learned:
        """Statistics of the new classes into the record, the past ones moved to where they are."""
        record, config, known = self.record, self.config, self.strategy.known
        new = len(record.b) - known
        fitted: dict[str, Scorer] = {}
        drift = None
        if old is not None:
            by_sdc = record.statistics.get("sdc")
            drift = Drift.measure(old, features, by_sdc.mean if by_sdc else None, self.reading)
        features = self.reading(features)
        d = features.shape[1]
        if config.projection:
            past = record.projection or ProjectionSums.empty(config.projection)
            sums = past.add(features, labels, new)
            record = replace(record, projection=sums)
            fitted[fitted_name("projection", "none")] = sums.scorer(d)
        birth = None
        if self._gathers:
            moments = Moments(new, d, config.statistics)
            for f, y in zip(features.split(CHUNK), labels.split(CHUNK), strict=True):
                moments.add(f, y - known)
            birth = moments.statistics()
            record = record.carry(birth, drift, config.transports)
            fitted |= self._fit(record, features, labels)
        self.record = record
        return Learned(history, birth, drift, fitted)

    def _fit(self, record: Record, features: Tensor, labels: Tensor) -> dict[str, Scorer]:
        """The heads that need the state's features, under every transport that is kept."""
        state, settings = len(record.mu) - 1, self.config.to_dict()
        return {
            fitted_name(head, transport): fit_head(
                head, statistics, features, labels, torch_generator(self.seed, state, head)
            )
            for head in FITTED_HEADS
            for transport, statistics in record.statistics.items()
            if offered(Method(self.config.strategy, head, transport=transport), settings)
        }

    def tensors(self) -> dict[str, torch.Tensor]:
        """What a later state needs, beside the record."""
        network = {f"network.{k}": v for k, v in self.network.state_dict().items()}
        return network | {f"strategy.{k}": v for k, v in self.strategy.tensors().items()}

    def restore(self, tensors: dict[str, torch.Tensor], record: Record, images: Images) -> None:
        """Put everything back as it was at the end of a state."""
        self.network.load_state_dict(part(tensors, "network."))
        self.strategy.restore(part(tensors, "strategy."), images)
        self.record = record

    def features(self, images: Split) -> Tensor:
        """What rows read."""
        return self.reading.rows(self.all_features(images))

    def all_features(self, images: Split) -> Tensor:
        """What rows read, and what statistics read beside it."""
        middle = self.reading.start > 0
        return extract_features(
            self.network.backbone, images, self.preparation, self.config.batch_size, middle
        )

    @torch.no_grad()
    def _mu(self, features: Tensor, labels: Tensor, seen: int) -> float:
        """mu(M_t): the mean largest (or true-class) logit over the state's training images."""
        layer = self.network.layer
        device = next(layer.parameters()).device
        logits = layer(features.to(device))[:, :seen].cpu()
        if self.config.mu == "largest":
            return logits.amax(1).mean().item()
        return logits.gather(1, labels[:, None]).mean().item()


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
