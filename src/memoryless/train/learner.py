"""A model that learns state after state and keeps nothing of the images."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from memoryless.embed import NO_STAGES, own_pixels
from memoryless.errors import ConfigError, TrainingError
from memoryless.images import Images, Split, hold_out
from memoryless.images.dataset import ArrayImages
from memoryless.randomness import derive, numpy_generator
from memoryless.settings import ModelSettings
from memoryless.stats.class_statistics import ClassStatistics
from memoryless.stats.heads import HEADS, Layer
from memoryless.stats.methods import fitted_name, view_of
from memoryless.stats.projection import ProjectionSums
from memoryless.stats.record import Record
from memoryless.stats.scorers import Scorer, View
from memoryless.stats.transports import TRANSPORTS, Drift, Passage, carry, measure_drift
from memoryless.strategies import STRATEGIES
from memoryless.tensors import part, prefixed
from memoryless.train.augment import Preparation
from memoryless.train.backbones import build_backbone, feature_size
from memoryless.train.backbones.efficientnet import EfficientNetLite0
from memoryless.train.backbones.onnx_backbone import OnnxBackbone
from memoryless.train.backbones.resnet import ResNet18
from memoryless.train.batches import channel_statistics
from memoryless.train.checkpoint import Checkpoint
from memoryless.train.features import compact, extract_features
from memoryless.train.loop import LOWER_RATE, History, Report, StateTraining
from memoryless.train.network import Network, device_of, pick_device
from memoryless.train.randomness import seeded, torch_generator
from memoryless.train.strategies.base import Arrival, Totals, make_trainer

Working = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Learned:
    """What a state leaves beside the model: for the laboratory, which composes methods later."""

    history: History
    birth: ClassStatistics | None
    """Statistics of the new classes at the end of their state."""
    drift: Drift | None
    """How features moved, from the second state on."""
    fitted: dict[str, Scorer]
    held_out: tuple[np.ndarray, np.ndarray] | None = None
    """Features and labels of images that were held out from training and statistics."""


class Learner:
    """Network, record and preparation; `learn` takes one state's images and lets go of them."""

    def __init__(
        self,
        settings: ModelSettings,
        seed: int,
        channels: int,
        preparation: Preparation,
        backbone: nn.Module | None = None,
        totals: Totals | None = None,
    ):
        self.settings, self.seed, self.preparation = settings, seed, preparation
        self.strategy = make_trainer(settings, totals)
        self.facts = STRATEGIES[settings.strategy]
        with seeded(derive(seed, "backbone")):
            backbone = backbone or build_backbone(settings, channels)
        if isinstance(backbone, ResNet18) and not self.facts.last_relu:
            backbone.drop_last_relu()
        if settings.level == "middle" and not isinstance(backbone, ResNet18):
            raise ConfigError(NO_STAGES)
        features = feature_size(backbone, channels, preparation.size)
        network = Network(backbone, self.strategy.make_layer(features))
        self.network = network.to(pick_device(settings.device))
        self.network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.record = Record.empty(features)
        self.groups = self._groups(features)
        """Sizes of the groups of features; the first one's are what rows read."""
        self._graph: OnnxBackbone | None = None
        self.working: Working = lambda what, done, total: None
        """Receives how far slow work beside training is."""

    @property
    def view(self) -> View:
        """Which features class statistics are computed from."""
        return view_of(self.settings, self.record.W.shape[1])

    @property
    def device(self) -> torch.device:
        return device_of(self.network)

    @property
    def layer(self) -> Layer:
        """The classification layer as trained, for the classes seen, on the CPU."""
        seen = self.record.classes
        W, b = (values.numpy() for values in self.network.layer.as_linear())
        return W[:seen], b[:seen]

    def learn(
        self,
        images: Split,
        new_classes: int,
        checkpoint: Checkpoint | None = None,
        report: Report = lambda progress: None,
        held_out: np.ndarray | None = None,
    ) -> Learned:
        """Learn a state: train, then write what is kept of it into the record.

        `held_out` is a mask of images to hold out; by default settings say how many are.
        """
        state, strategy = self.record.states, self.strategy
        strategy.past = self.record.classes
        held_out = self._held_out(images, state) if held_out is None else held_out
        train = images.take(~held_out)
        moves = strategy.past and self._gathers and self.facts.backbone_learns
        old = self.all_features(train) if moves else None
        generator = torch_generator(self.seed, state, "layer")
        strategy.begin_state(
            Arrival(
                self.network, train, new_classes, self.features, generator, self.preparation.test
            )
        )
        once = self.all_features(images) if self.fixed else None
        network, preparation, seen = self._trained_on(images, once)
        training = StateTraining(
            network, strategy, preparation, self.settings, self.seed, state, checkpoint, report
        )
        watched = seen.take(held_out) if held_out.any() else None
        history = training.run(strategy.training_images(seen.take(~held_out)), watched)
        strategy.end_state(self.network, train, self.features)
        features = self.all_features(images) if once is None else once
        labels = images.labels
        mu = self._mu(self._rows(features), labels, strategy.past + new_classes)
        if not math.isfinite(mu):  # the last step can spoil weights after a sound loss
            raise TrainingError(f"the model of state {state} gives {mu}, no scores: {LOWER_RATE}")
        self.record = strategy.remember(self.record, self.network, new_classes, mu)
        learned = self._gather(features[~held_out], labels[~held_out], old, history)
        if not held_out.any():
            return learned
        return replace(learned, held_out=(compact(features[held_out]), labels[held_out]))

    def _trained_on(
        self, images: Split, features: np.ndarray | None
    ) -> tuple[Network, Preparation | None, Split]:
        """Return what the loop trains, how it prepares images, and the images; with fixed features
        the layer alone, and features in place of images.
        """
        if features is None:
            return self.network, self.preparation, images
        rows = ArrayImages(torch.from_numpy(self._rows(features))[:, :, None, None])
        return Network(nn.Flatten(), self.network.layer), None, Split.whole(rows, images.labels)

    def _held_out(self, images: Split, state: int) -> np.ndarray:
        """Draw a mask of the images that take no part in training or statistics."""
        if not self.settings.held_out:
            return np.zeros(len(images), dtype=bool)
        labels = images.labels - images.labels.min()
        # The last word is part of the draw: it stays, or other images would be held out.
        return hold_out(labels, self.settings.held_out, self.seed, state, "holdout")

    @property
    def fixed(self) -> bool:
        """Whether features are fixed: the backbone never learns."""
        return not self.facts.backbone_learns

    @property
    def _gathers(self) -> bool:
        return self.settings.statistics != "none"

    @property
    def _transports(self) -> tuple[str, ...]:
        """Under which transports the record holds statistics: one where nothing ever moves."""
        return ("none",) if self.fixed else self.settings.transports

    def _gather(
        self, features: np.ndarray, labels: np.ndarray, old: np.ndarray | None, history: History
    ) -> Learned:
        """Put statistics of new classes into the record, and move those of past classes along."""
        record, settings, past = self.record, self.settings, self.strategy.past
        new = record.classes - past
        birth = drift = None
        seen = self.view(features)
        if old is not None:
            passage = Passage(self.view(old), seen)
            drift = measure_drift(passage, record.statistics, settings.transports)
        elif past and self.fixed:
            drift = {}
        if self._gathers:
            birth = self._statistics(features, labels - past, new)
            record = replace(
                record, statistics=carry(record.statistics, birth, drift, self._transports)
            )
        if settings.projection:
            so_far = record.projection or ProjectionSums.empty(settings.projection)
            record = replace(record, projection=so_far.add(seen, labels, new))
        self.record = record
        return Learned(history, birth, drift, self._fit(seen, labels))

    def _statistics(
        self, features: np.ndarray, labels: np.ndarray, classes: int
    ) -> ClassStatistics:
        form = self.settings.statistics
        if len(self.groups) > 1:
            view = View(square_roots=True)
            return ClassStatistics.of_groups(
                features, labels, classes, self.groups, view=view, form=form
            )
        return ClassStatistics.of(
            features, labels, classes, view=self.view, form=form, fixed=self.fixed
        )

    def _fit(self, features: np.ndarray, labels: np.ndarray) -> dict[str, Scorer]:
        """Fit the heads that need the state's features, under every transport that is kept."""
        state = self.record.states - 1
        sources = [
            (head, name, source)
            for head in HEADS.values()
            if head.fitted
            for name, transport in TRANSPORTS.items()
            if head.reads in transport.moves
            and (source := self.record.source(head.reads, name)) is not None
        ]
        fitted = {}
        for done, (head, name, source) in enumerate(sources, 1):
            random = numpy_generator(self.seed, state, head.name)
            fitted[fitted_name(head.name, name)] = head.make(source, features, labels, random)
            self.working("fitting heads", done, len(sources))
        return fitted

    def tensors(self) -> dict[str, torch.Tensor]:
        """Return what a later state needs, beside the record."""
        network = prefixed("network.", self.network.state_dict())
        return network | prefixed("strategy.", self.strategy.tensors())

    def restore(
        self, tensors: dict[str, torch.Tensor], record: Record, images: Images | None = None
    ) -> None:
        """Put everything back as it was at the end of a state; only replay needs `images`."""
        self.network.load_state_dict(part(tensors, "network."))
        self.strategy.restore(part(tensors, "strategy."), images)
        self.record, self._graph = record, None

    def features(self, images: Split) -> Tensor:
        """Return the features that rows read."""
        return torch.from_numpy(self._rows(self.all_features(images)))

    def _rows(self, features: np.ndarray) -> np.ndarray:
        return features[:, : self.record.W.shape[1]]

    def all_features(self, images: Split) -> np.ndarray:
        """Return the features that rows read, and those that statistics read beside them."""
        backbone = self._extracting()
        beside = self.view.start > 0 or len(self.groups) > 1
        middle = beside and not isinstance(backbone, OnnxBackbone)
        return extract_features(
            backbone,
            images,
            self.preparation,
            self.settings.batch_size,
            middle,
            partial(self.working, "features"),
        ).numpy()

    def _extracting(self) -> nn.Module:
        """Return the backbone, as a graph if it is fixed and on a CPU: five times as fast."""
        backbone = self.network.backbone
        apart = not self.fixed or self.device.type != "cpu"
        if apart or not isinstance(backbone, EfficientNetLite0):
            return backbone
        if self._graph is None:
            graph = backbone.graph(self.preparation.size, middle=len(self.groups) > 1)
            self._graph = OnnxBackbone(graph)
        return self._graph

    def _groups(self, features: int) -> tuple[int, ...]:
        backbone = self.network.backbone
        if self.fixed and self._gathers and isinstance(backbone, EfficientNetLite0):
            return backbone.groups
        if isinstance(backbone, OnnxBackbone):
            return backbone.groups or (features,)
        return (features,)

    @torch.no_grad()
    def _mu(self, features: np.ndarray, labels: np.ndarray, seen: int) -> float:
        """Return mu(M_t): the mean largest (or true-class) logit over the training images."""
        layer = self.network.layer
        logits = layer(torch.from_numpy(features).to(self.device))[:, :seen].cpu()
        if self.settings.mu == "largest":
            return float(logits.amax(1).mean())
        return float(logits.gather(1, torch.from_numpy(labels)[:, None]).mean())


def prepare(
    settings: ModelSettings,
    first_images: Split,
    size: int,
    augment: Sequence[str],
    backbone: nn.Module | None = None,
) -> Preparation:
    """Return how a model's images are prepared. Mean and deviation that are not given are those
    that the settings' backbone was trained with, or else measured on state 0's images.
    """
    channels = first_images.images.shape[0]
    if settings.mean and settings.std:
        mean, std = settings.mean, settings.std
    elif backbone is None and (own := own_pixels(settings.backbone)):
        mean, std = (tuple(value / 255 for value in values[:channels]) for values in own)
    else:
        mean, std = channel_statistics(first_images)
    if not len(mean) == len(std) == channels:
        raise ConfigError(f"mean and std need {channels} values each, one a channel")
    if not STRATEGIES[settings.strategy].backbone_learns:
        augment = ()  # each image is seen once
    return Preparation(size, mean, std, augment if settings.augment is None else settings.augment)
