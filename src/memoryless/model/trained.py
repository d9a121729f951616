"""A model over trained features: the backbone learns in every state, as in the paper.

Learning needs torch. Predicting does not: after each state the network is kept as a graph too.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import structs

from memoryless.embed import MARGIN, PHOTO_SIDE, PhotoPreparation
from memoryless.errors import DataError
from memoryless.images.dataset import as_pixels, hold_out_groups
from memoryless.images.read import central_square, one_by_one, pixels_of, ready
from memoryless.model import description
from memoryless.model.lesson import Lesson
from memoryless.model.parts import scorer_facts, to_bytes
from memoryless.settings import ModelSettings, conform, plain_values
from memoryless.stats.confidence import Confidence, HeldOut, Judgement, judge
from memoryless.stats.scorers import Scorer, describe, restore

if TYPE_CHECKING:
    from memoryless.embed.session import Extractor, SquareExtractor
    from memoryless.images import Images
    from memoryless.model.file import State
    from memoryless.settings import ModelSettings
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
    saved: State | None = None
    """Holds network, record and scorer until they are first needed."""
    _learner: Learner | None = None
    _scorer: Scorer | None = None
    _extractor: Extractor | None = None
    _squares: SquareExtractor | None = None

    @classmethod
    def of(cls, state: State) -> TrainedFeatures:
        """What was saved."""
        about = state.description
        assert about.train is not None
        settings = ModelSettings(**conform(ModelSettings(**about.train.settings))[0])
        sure = about.confidence and Confidence(**structs.asdict(about.confidence))
        found = cls(about.method, settings, about.seed, sure or Confidence())
        if state.classes.names:
            found.graph, found.saved = state.graph(), state
        return found

    def __getstate__(self) -> dict[str, Any]:
        """All but onnxruntime's sessions, which are opened again."""
        return vars(self) | {"_extractor": None, "_squares": None}

    @property
    def learner(self) -> Learner | None:
        """Network and record; None before the first state."""
        if self._learner is None and self.saved:
            self._learner = self._restored(self.saved)
        return self._learner

    def _restored(self, saved: State) -> Learner:
        from memoryless.stats.record import Record
        from memoryless.tensors import as_tensors
        from memoryless.train.augment import Preparation
        from memoryless.train.learner import Learner

        preparation = Preparation(**self._stored_preparation)
        settings = replace(self.settings, backbone_weights=None)  # they are in the network
        learner = Learner(settings, self.seed, len(preparation.mean), preparation)
        record = Record.of(saved.arrays("record"), learner.fixed)
        learner.restore(as_tensors(saved.arrays("network")), record)
        return learner

    @property
    def scorer(self) -> Scorer:
        """Scores features for all classes so far."""
        if self._scorer is None:
            assert self.saved is not None
            facts = scorer_facts(self.saved.description)
            self._scorer = restore(facts, self.saved.arrays("scorer"))
        return self._scorer

    def _written_graph(self, learner: Learner) -> bytes:
        """The graph from photos to features, written from the network."""
        from memoryless.embed.graph import features_graph
        from memoryless.train.backbones.export import module_graph

        seen, middle = self.preparation, learner.view.start > 0
        graph = module_graph(learner.network.backbone, seen.size, seen.channels, middle)
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

    def open(self) -> None:
        """Open the session for photos, if a state was learned and it is not open yet."""
        if self._extractor is None and self.graph is not None:
            from memoryless.embed.session import Extractor

            self._extractor = Extractor(self.graph, self._device)

    def _square_features(self, pixels: np.ndarray) -> np.ndarray:
        if self._squares is None:
            from memoryless.embed.session import SquareExtractor

            assert self.graph is not None
            self._squares = SquareExtractor(self.graph, self.preparation, self._device)
        return self._squares.features(pixels)

    @property
    def least(self) -> int:
        """The side of the squares that photos become: what the network sees, and a margin."""
        if self.graph is None and self.settings.image_size is None:
            self.settings = replace(self.settings, image_size=PHOTO_SIDE)
        size = self.settings.image_size if self.graph is None else self.preparation.size
        assert size is not None
        return round(size / self.settings.crop)

    def look(self, photo: np.ndarray) -> np.ndarray:
        """The central square of a photo, uint8 (side, side, 3), to be learned."""
        return central_square(photo, self.least)

    def feature(self, photo: np.ndarray) -> np.ndarray:
        """The feature (d,) of a photo."""
        self._check_channels(photo.shape[2])
        self.open()
        assert self._extractor is not None
        return self._extractor.feature(photo)

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
        return self._square_features(pixels)

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
        if self.graph is not None:
            self._check_channels(found.shape[0])
        return found

    def learn(
        self,
        images: Images,
        labels: np.ndarray,
        groups: np.ndarray,
        report: Any,
        names: Sequence[str],
    ) -> tuple[TrainedFeatures, Lesson]:
        """What is known after a state of new classes; their labels follow those of the past."""
        from memoryless.images import Split
        from memoryless.stats.methods import EndOfState, build_scorer, parse_method

        split = Split.whole(images, labels)
        learner = copy.deepcopy(self.learner) if self.learner else self._first_learner(split)
        new = len(np.unique(labels))
        learned = learner.learn(split, new, report=report, held_out=self._apart(labels, groups))
        end = EndOfState(
            learner.record, learner.layer, learned.fitted, learned.held_out, learner.view
        )
        scorer = build_scorer(parse_method(self.method), end)
        after = TrainedFeatures(self.method, learner.settings, self.seed, self.confidence)
        after._learner, after._scorer = learner, scorer
        after.graph = after._written_graph(learner)
        scores, own = np.zeros((0, learner.record.classes)), np.zeros(0, np.int64)
        if learned.held_out is not None:
            scores, own = scorer(learned.held_out[0].astype(np.float32)), learned.held_out[1]
            after.confidence = HeldOut.of(scores, lead(scores), own).confidence
        return after, Lesson.of(names, labels, scores, own, after.confidence)

    def _apart(self, labels: np.ndarray, groups: np.ndarray) -> np.ndarray | None:
        """Which images are held out, where some must be so together; else the learner decides."""
        if not self.settings.held_out or len(np.unique(groups)) == len(groups):
            return None
        own = labels - labels.min()
        return hold_out_groups(own, groups, self.settings.held_out, int(labels.min()))

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

    def judge(self, features: np.ndarray) -> Judgement:
        scores = self.scorer(features)
        return judge(scores, lead(scores), self.confidence)

    def stored(self) -> tuple[dict[str, Any], dict[str, bytes]]:
        """What a description says of it, and the bytes of each part."""
        settings = plain_values(self._settings_to_keep())
        if self.graph is None:
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
