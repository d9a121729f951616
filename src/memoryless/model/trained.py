"""A model over trained features: the backbone learns in every state, as in the paper.

Learning needs torch. Predicting does not: after each state the network is kept as a graph too.
"""

from __future__ import annotations

import copy
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import structs

from memoryless.embed import MARGIN, PHOTO_SIDE, PhotoPreparation
from memoryless.errors import DataError
from memoryless.images.dataset import as_pixels, hold_out_groups
from memoryless.images.pixels import central_square
from memoryless.images.read import one_by_one, pixels_of, ready
from memoryless.model import description
from memoryless.model.parts import scorer_facts, to_bytes
from memoryless.settings import conform, plain_values
from memoryless.stats.confidence import Confidence, HeldOut, Judgement, Measured, judge
from memoryless.stats.scorers import Scorer, describe, restore
from memoryless.train.settings import ModelSettings

if TYPE_CHECKING:
    from memoryless.embed.session import Extractor, SquareExtractor
    from memoryless.images import Images
    from memoryless.model.file import State
    from memoryless.train.learner import Learner
    from memoryless.train.settings import ModelSettings

SESSIONS = ("extractor", "squares")
"""What cannot be copied, and is opened again."""


@dataclass
class TrainedFeatures:
    """What a model over trained features knows; learning gives another one."""

    method: str
    settings: ModelSettings
    seed: int
    saved: State | None = None
    """Where network, graph, record and scorer come from when they are first needed."""
    confidence: Confidence = field(default_factory=Confidence)

    @classmethod
    def of(cls, state: State) -> TrainedFeatures:
        """What was saved."""
        about = state.description
        assert about.train is not None
        settings = ModelSettings(**conform(ModelSettings(**about.train.settings))[0])
        sure = about.confidence and Confidence(**structs.asdict(about.confidence))
        saved = state if state.classes.names else None
        made = cls(about.method, settings, about.seed, saved, sure or Confidence())
        if saved:
            made.graph = state.graph()
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in SESSIONS}

    @cached_property
    def learner(self) -> Learner | None:
        """Network and record; made again of what was saved, and nothing before the first state."""
        if self.saved is None:
            return None
        from memoryless.stats.record import Record
        from memoryless.tensors import as_tensors
        from memoryless.train.augment import Preparation
        from memoryless.train.learner import Learner

        preparation = Preparation(**self._stored_preparation)
        settings = replace(self.settings, backbone_weights=None)  # they are in the network
        learner = Learner(settings, self.seed, len(preparation.mean), preparation)
        record = Record.of(self.saved.arrays("record"), learner.fixed)
        learner.restore(as_tensors(self.saved.arrays("network")), record)
        return learner

    @cached_property
    def scorer(self) -> Scorer:
        assert self.saved is not None
        return restore(scorer_facts(self.saved.description), self.saved.arrays("scorer"))

    @property
    def _learned(self) -> bool:
        return self.saved is not None or vars(self).get("learner") is not None

    @cached_property
    def graph(self) -> bytes:
        """From photos to features; written from the network, where a state was just learned."""
        from memoryless.embed.graph import features_graph
        from memoryless.train.backbones.export import module_graph

        assert self.learner is not None
        backbone, seen, middle = self.learner.network.backbone, self.preparation, self.learner.view
        graph = module_graph(backbone, seen.size, seen.channels, middle.start > 0)
        return features_graph(graph, seen)

    @property
    def preparation(self) -> PhotoPreparation:
        """How a graph prepares photos: their edges are cut off where training cuts them off."""
        stored = self._stored_preparation
        size, crop = stored["size"], self.settings.crop
        mean, std = (tuple(255 * x for x in stored[name]) for name in ("mean", "std"))
        cuts = round(size / crop) <= size * MARGIN + 1
        return PhotoPreparation(size, crop if cuts else 1.0, mean, std)

    @property
    def _stored_preparation(self) -> dict[str, Any]:
        if self.saved and self.saved.description.train:
            told = structs.asdict(self.saved.description.train)
            return {name: told[name] for name in ("size", "mean", "std", "augment")}
        assert self.learner is not None
        return asdict(self.learner.preparation)

    @property
    def _device(self) -> str:
        """Where onnxruntime runs the graph; it may lack the device that torch trains on."""
        return "cpu" if self.settings.device == "cpu" else "auto"

    @cached_property
    def extractor(self) -> Extractor:
        from memoryless.embed.session import Extractor

        return Extractor(self.graph, self._device)

    @cached_property
    def squares(self) -> SquareExtractor:
        from memoryless.embed.session import SquareExtractor

        return SquareExtractor(self.graph, self.preparation, self._device)

    def open(self) -> None:
        if self._learned:
            _ = self.extractor

    @property
    def least(self) -> int:
        """The side of the squares that photos become: what the network sees, and a margin."""
        if not self._learned and self.settings.image_size is None:
            self.settings = replace(self.settings, image_size=PHOTO_SIDE)
        size = self.preparation.size if self._learned else self.settings.image_size
        assert size is not None
        return round(size / self.settings.crop)

    def look(self, photo: np.ndarray) -> np.ndarray:
        """The central square of a photo, uint8 (side, side, 3), to be learned."""
        return central_square(photo, self.least)

    def feature(self, photo: np.ndarray) -> np.ndarray:
        """The feature (d,) of a photo."""
        self._check_channels(photo.shape[2])
        return self.extractor.feature(photo)

    def features(self, images: Any) -> np.ndarray:
        """Features (n, d) of photos or of square images; features are given back."""
        if isinstance(images, np.ndarray) and images.ndim == 2 and images.dtype.kind == "f":
            return images
        if one_by_one(images):
            return np.stack([self.feature(pixels_of(image, self.least)) for image in ready(images)])
        if hasattr(images, "read"):
            images = images.read(np.arange(len(images)))
        pixels = as_pixels(images, len(images))
        self._check_channels(pixels.shape[1])
        return self.squares.features(pixels)

    def _check_channels(self, channels: int) -> None:
        if channels != self.preparation.channels:
            raise DataError(
                f"the images have {channels} channels, and the model was taught on "
                f"{self.preparation.channels}: convert them"
            )

    def looks(self, images: Any) -> Images:
        """Images that can be read by index; photos of several sizes become squares."""
        from memoryless.images.dataset import as_images

        if one_by_one(images):
            side = self.least
            images = np.stack([self.look(pixels_of(image, side)) for image in ready(images)])
        found = as_images(images)
        if self._learned:
            self._check_channels(found.shape[0])
        return found

    def learn(
        self,
        images: Images,
        labels: np.ndarray,
        groups: np.ndarray,
        report: Any,
    ) -> tuple[TrainedFeatures, Measured]:
        """What is known after a state of new classes; their labels follow those of the past."""
        from memoryless.images import Split
        from memoryless.stats.build import EndOfState, build_scorer
        from memoryless.stats.methods import parse_method

        split = Split.whole(images, labels)
        learner = copy.deepcopy(self.learner) if self.learner else self._first_learner(split)
        new = len(np.unique(labels))
        learned = learner.learn(split, new, report=report, held_out=self._apart(labels, groups))
        end = EndOfState(
            learner.record, learner.layer, learned.fitted, learned.held_out, learner.view
        )
        after = TrainedFeatures(self.method, learner.settings, self.seed)
        after.learner, after.scorer = learner, build_scorer(parse_method(self.method), end)
        if learned.held_out is None:
            after.confidence = self.confidence
            return after, Measured(np.zeros((0, learner.record.classes)), np.zeros(0, np.int64))
        scores = after.scorer(learned.held_out[0].astype(np.float32))
        own = learned.held_out[1]
        after.confidence = HeldOut.of(scores, lead(scores), own).confidence
        return after, Measured(scores, own)

    def _apart(self, labels: np.ndarray, groups: np.ndarray) -> np.ndarray | None:
        """Which images are held out, where some must be so together; else the learner decides."""
        if not self.settings.held_out or len(np.unique(groups)) == len(groups):
            return None
        own = labels - labels.min()
        return hold_out_groups(own, groups, self.settings.held_out, int(labels.min()))

    def _first_learner(self, split: Any) -> Learner:
        from memoryless.train.learner import Learner, prepare
        from memoryless.train.settings import trained_settings

        channels, whole, _ = split.images.shape
        side = self.settings.image_size or whole
        settings = trained_settings(self.method, self.settings, side)
        # Where images have a margin, crops of several sizes can be taken from them.
        augment = ("resized_crop", "flip") if side < whole else ("flip",)
        preparation = prepare(settings, split, side, augment)
        return Learner(settings, self.seed, channels, preparation)

    def judge(self, features: np.ndarray) -> Judgement:
        scores = self.scorer(features)
        return judge(scores, lead(scores), self.confidence)

    def stored(self) -> tuple[dict[str, Any], dict[str, bytes]]:
        """What a description says of it, and the bytes of each part."""
        settings = plain_values(self._settings_to_keep())
        if not self._learned:
            return {"train": description.Training(settings=settings)}, {}
        scorer, arrays = describe(self.scorer)
        parts = self._stored_parts() | {"scorer": arrays}
        digest = sha256(self.graph).hexdigest()
        facts = {
            "preparation": description.Preparation(**asdict(self.preparation)),
            "backbone": description.Backbone(name=self.settings.backbone, sha256=digest),
            "confidence": description.Confidence(**asdict(self.confidence)),
            "record": {name: array.nbytes for name, array in parts["record"].items()},
            "train": description.Training(
                settings=settings, scorer=scorer, **self._stored_preparation
            ),
        }
        contents = {name: to_bytes(arrays) for name, arrays in parts.items()}
        return facts, contents | {"features": self.graph}

    def _settings_to_keep(self) -> ModelSettings:
        """Settings without what is of this machine alone: the device, and folders."""
        weights = self.settings.backbone_weights
        return replace(
            self.settings, device="auto", backbone_weights=weights and Path(weights.name)
        )

    def _stored_parts(self) -> dict[str, Any]:
        """Record and network, as they were saved or as a state has left them."""
        if self.saved:
            return {name: self.saved.arrays(name) for name in ("record", "network")}
        assert self.learner is not None
        return {"record": self.learner.record.arrays(), "network": self.learner.tensors()}


def lead(scores: np.ndarray) -> np.ndarray:
    """By how much the best class of each image leads the second best, (n,); 0 for one class.

    >>> lead(np.array([[3.0, 1.0, 7.0]])).tolist()
    [4.0]
    """
    if scores.shape[1] < 2:
        return np.zeros(len(scores))
    two = np.partition(scores, -2, axis=1)[:, -2:]
    return two[:, 1] - two[:, 0]
