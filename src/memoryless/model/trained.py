"""A model over trained features: the backbone learns in every state, as in the paper.

Learning needs torch. Predicting does not: after each state the network is kept as a graph too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from memoryless.embed.preparation import MARGIN, PHOTO_SIDE, PhotoPreparation
from memoryless.errors import ConfigError, DataError
from memoryless.images.dataset import as_images, hold_out_groups
from memoryless.images.read import central_square, one_by_one, pixels_of, ready
from memoryless.model.description import PREDICTS_ALONE, State, Training, scorer_facts
from memoryless.model.report import LearningReport
from memoryless.settings import ModelSettings
from memoryless.settings import restore as restore_settings
from memoryless.stats.confidence import LEAST, Check, Confidence, calibrate
from memoryless.stats.scorers import Scorer, describe, restore
from memoryless.strategies import own_values
from memoryless.tensors import as_tensors, to_array

if TYPE_CHECKING:
    from memoryless.images import Images
    from memoryless.train.learner import Learner


@dataclass
class TrainedFeatures:
    """What a model over trained features knows; learning gives another one."""

    method: str
    settings: ModelSettings
    seed: int
    confidence: Confidence = field(default_factory=Confidence)
    graph: bytes | None = None
    """Computes features from photos; None before the first state."""
    training: Training | None = None
    """How training prepares images, among others; None before the first state."""
    scorer: Scorer | None = None
    """Scores features for all classes so far; None before the first state."""
    kept: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)
    """The arrays of record and network, of which the next state begins; none before the first."""
    calibrated: Confidence | None = None
    """What `calibrate` fitted, in units of the spread of scores: it stands for what is measured."""

    @classmethod
    def of(cls, state: State) -> TrainedFeatures:
        """Return what was saved."""
        about, train = state.description, state.description.train
        assert train is not None
        # Before the first state some may be left open.
        settings = restore_settings(ModelSettings, train.settings, train.size is not None)
        found = cls(about.method, settings, about.seed, about.confidence or Confidence())
        found.calibrated = about.calibrated
        if state.classes.names:
            found.graph, found.training = state.graph, train
            found.kept = dict(state.arrays)
            found.scorer = restore(scorer_facts(about), found.kept.pop("scorer"))
        return found

    def learner(self) -> Learner:
        """Return network and record as they were at the end of the last state."""
        if not self.kept:
            raise ConfigError(PREDICTS_ALONE)
        from memoryless.stats.record import Record
        from memoryless.train.augment import Preparation
        from memoryless.train.learner import Learner

        seen: Any = self.training
        preparation = Preparation(seen.size, seen.mean, seen.std, seen.augment)
        settings = replace(self.settings, backbone_weights=None)  # they are in the network
        learner = Learner(settings, self.seed, len(preparation.mean), preparation)
        record = Record.of(self.kept["record"], learner.fixed)
        learner.restore(as_tensors(self.kept["network"]), record)
        return learner

    @property
    def preparation(self) -> PhotoPreparation:
        """How a graph prepares photos: their edges are cut off where training cuts them off."""
        seen, crop = self.training, self.settings.crop
        assert seen is not None
        assert seen.size is not None
        mean, std = (tuple(255 * x for x in values) for values in (seen.mean, seen.std))
        cuts = round(seen.size / crop) <= seen.size * MARGIN + 1
        return PhotoPreparation(seen.size, crop if cuts else 1.0, mean, std)

    @property
    def device(self) -> str:
        """Where onnxruntime runs the graph; it may lack the device that torch trains on."""
        return "cpu" if self.settings.device == "cpu" else "auto"

    @device.setter
    def device(self, device: str) -> None:
        self.settings = replace(self.settings, device=device)

    @property
    def min_side(self) -> int:
        """The side of the squares that photos become: what the network sees, and a margin."""
        if self.graph is None and self.settings.image_size is None:
            self.settings = replace(self.settings, image_size=PHOTO_SIDE)
        size = self.settings.image_size if self.graph is None else self.preparation.size
        assert size is not None
        return round(size / self.settings.crop)

    def check_channels(self, channels: int) -> None:
        """Raise unless images have as many channels as those that were learned."""
        if self.graph is not None and channels != self.preparation.channels:
            raise DataError(
                f"the images have {channels} channels, and the model was taught on "
                f"{self.preparation.channels}: convert them"
            )

    def squares(self, images: Any) -> Images:
        """Return images that can be read by index; photos of several sizes become squares."""
        if one_by_one(images):
            side = self.min_side
            squares = [central_square(pixels_of(image, side), side) for image in ready(images)]
            images = np.stack(squares)
        found = as_images(images)
        self.check_channels(found.shape[0])
        return found

    def learn(
        self,
        chunks: Iterable[tuple[Any, np.ndarray]],
        names: Sequence[str],
        alike: Callable[[], np.ndarray] | None,
        report: Any,
    ) -> tuple[TrainedFeatures, LearningReport]:
        """Return what is known after a state of new classes, and what it taught.

        Chunks are squares with their classes. They are trained on together; those with the same
        number in `alike` are held out together.
        """
        from memoryless.images import Split
        from memoryless.stats.methods import build_scorer, parse_method
        from memoryless.stats.record import EndOfState

        parts = list(chunks)
        labels = np.concatenate([own for _, own in parts])
        whole = len(parts) == 1
        images = self.squares(parts[0][0] if whole else np.concatenate([x for x, _ in parts]))
        groups = alike() if alike else np.arange(len(labels))
        split = Split.whole(images, labels)
        learner = self.learner() if self.training else self._first_learner(split)
        new = len(np.unique(labels))
        learned = learner.learn(split, new, report=report, held_out=self._apart(labels, groups))
        end = EndOfState(
            learner.record, learner.layer, learned.fitted, learned.held_out, learner.view
        )
        scorer = build_scorer(parse_method(self.method), end)
        settings = replace(learner.settings, backbone_weights=self.settings.backbone_weights)
        after = TrainedFeatures(self.method, settings, self.seed, self.confidence)
        network = {name: to_array(tensor) for name, tensor in learner.tensors().items()}
        after.kept = {"record": learner.record.arrays(), "network": network}
        after.scorer, after.calibrated = scorer, self.calibrated
        seen = learner.preparation
        after.training = Training(
            settings=after._kept_settings(),
            size=seen.size,
            mean=seen.mean,
            std=seen.std,
            augment=tuple(seen.augment),
            scorer=describe(scorer)[0],
        )
        after.graph = after._written_graph(learner)
        answers = own = np.zeros(0, np.int64)
        if learned.held_out is not None:
            scores, own = scorer(learned.held_out[0].astype(np.float32)), learned.held_out[1]
            answers, unit = scores.argmax(1), float(scores.std()) or 1.0
            if self.calibrated:
                after.confidence = self.calibrated.scaled(unit)
            elif scores.shape[1] > 1 and len(own) >= LEAST:
                check = Check.of(scores / unit, lead(scores) / unit, own)
                after.confidence = check.confidence(unit)
        return after, LearningReport.of(names, np.unique(labels), answers, own, after.confidence)

    def calibrate(
        self, features: np.ndarray, labels: np.ndarray, unknown: np.ndarray
    ) -> TrainedFeatures:
        """Return the same with a temperature and a threshold fitted on photos of known classes,
        and on those of unknown things where there are any.
        """
        (scores, margins), (_, strange) = self.scored(features), self.scored(unknown)
        unit = float(scores.std()) or 1.0
        found = calibrate(scores / unit, margins / unit, labels, strange / unit, Check.none())
        return replace(self, calibrated=found, confidence=found.scaled(unit))

    def _first_learner(self, split: Any) -> Learner:
        from memoryless.train.learner import Learner, prepare
        from memoryless.train.resolve import trained_settings

        channels, whole, _ = split.images.shape
        side = self.settings.image_size or whole
        settings = trained_settings(self.method, self.settings, side)
        # Where images have a margin, crops of several sizes can be taken from them.
        augment = ("resized_crop", "flip") if side < whole else ("flip",)
        preparation = prepare(settings, split, side, augment)
        return Learner(settings, self.seed, channels, preparation)

    def _apart(self, labels: np.ndarray, groups: np.ndarray) -> np.ndarray | None:
        """Return which images are held out, if some must be together; else the learner decides."""
        if not self.settings.held_out or len(np.unique(groups)) == len(groups):
            return None
        own = labels - labels.min()
        return hold_out_groups(own, groups, self.settings.held_out, int(labels.min()))

    def _written_graph(self, learner: Learner) -> bytes:
        """Return the graph from photos to features, written from the network."""
        from memoryless.embed.graph import features_graph
        from memoryless.train.backbones.export import module_graph

        seen, middle = self.preparation, learner.view.start > 0
        graph = module_graph(learner.network.backbone, seen.size, seen.channels, middle)
        return features_graph(graph, seen)

    def scored(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return scores (n, N) of classes, and by how much the best leads, (n,)."""
        assert self.scorer is not None
        scores = self.scorer(features)
        return scores, lead(scores)

    def _kept_settings(self) -> dict[str, Any]:
        """Return the settings that the strategy reads, without what belongs to this machine alone:
        the device, and folders.
        """
        from memoryless.stats.methods import parse_method

        weights = self.settings.backbone_weights
        kept = replace(
            self.settings,
            strategy=parse_method(self.method).strategy,
            device="auto",
            backbone_weights=weights and Path(weights.name),
        )
        return own_values(kept)

    def stored(self) -> tuple[dict[str, Any], dict[str, dict[str, np.ndarray]]]:
        """Return what only a description of trained features says, and the arrays of each part."""
        if self.training is None:
            return {"train": Training(settings=self._kept_settings())}, {}
        return {"train": self.training}, self.kept | {"scorer": describe(self.scorer)[1]}


def lead(scores: np.ndarray) -> np.ndarray:
    """Return by how much the best class of each image leads the second, (n,); 0 for one class.

    >>> lead(np.array([[3.0, 1.0, 7.0]])).tolist()
    [4.0]
    """
    if scores.shape[1] < 2:
        return np.zeros(len(scores))
    two = np.partition(scores, -2, axis=1)[:, -2:]
    return two[:, 1] - two[:, 0]
