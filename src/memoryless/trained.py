"""A model over trained features: the backbone learns in every state, as in the paper."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from memoryless.confidence import Confidence, HeldOut, Judgement, Measured, judge
from memoryless.data.dataset import hold_out_groups
from memoryless.errors import DataError
from memoryless.scorers import Scorer, describe, restore

if TYPE_CHECKING:
    from memoryless.data import Images
    from memoryless.learner import Learner
    from memoryless.model_folder import Saved
    from memoryless.strategies import ModelSettings

PHOTO_SIDE = 224  # of what the network sees of photos, as for ImageNet


@dataclass
class TrainedFeatures:
    """What a model over trained features knows; learning gives another one."""

    method: str
    settings: ModelSettings
    seed: int
    saved: Saved | None = None
    """Where network, record and scorer are read from when they are first needed."""
    confidence: Confidence = field(default_factory=Confidence)

    @classmethod
    def of(cls, saved: Saved, settings: ModelSettings) -> TrainedFeatures:
        """What was saved."""
        about = saved.about
        sure = Confidence(**(about["confidence"] or {}))
        return cls(about["method"], settings, about["seed"], saved, sure)

    @cached_property
    def learner(self) -> Learner | None:
        """Network and record; made again of what was saved, and nothing before the first state."""
        if self.saved is None:
            return None
        import torch

        from memoryless.data.augment import Preparation
        from memoryless.learner import Learner
        from memoryless.record import Record

        record, network = (
            # Copies in torch's own memory: kernels round by address.
            {name: torch.from_numpy(array).clone() for name, array in self.saved.arrays(f).items()}
            for f in ("record", "network")
        )
        preparation = Preparation(**self.saved.about["preparation"])
        settings = replace(self.settings, backbone_weights=None)  # they are in the network
        learner = Learner(settings, self.seed, len(preparation.mean), preparation)
        learner.restore(network, Record.of(record))
        return learner

    @cached_property
    def scorer(self) -> Scorer:
        assert self.saved is not None
        return restore(self.saved.about["scorer"], self.saved.arrays("scorer"))

    def open(self) -> None:
        _ = self.learner

    @property
    def least(self) -> int:
        """The side of the squares that photos become: what the network sees, and a margin."""
        if self.learner is None and self.settings.image_size is None:
            self.settings = replace(self.settings, image_size=PHOTO_SIDE)
        size = self.learner.preparation.size if self.learner else self.settings.image_size
        assert size is not None
        return round(size / self.settings.crop)

    def look(self, photo: np.ndarray) -> np.ndarray:
        """The central square of a photo, uint8 (side, side, 3)."""
        import torch
        from torch.nn.functional import interpolate

        height, width, _ = photo.shape
        side = min(height, width)
        top, left = (height - side) // 2, (width - side) // 2
        square = torch.from_numpy(photo[top : top + side, left : left + side].copy())
        pixels = square.permute(2, 0, 1)[None].float()
        resized = interpolate(pixels, (self.least,) * 2, mode="bicubic", antialias=True)
        return resized[0].permute(1, 2, 0).round().clamp(0, 255).to(torch.uint8).numpy()

    def looks(self, images: Any) -> Images:
        """Images that can be read by index; photos of several sizes become squares."""
        from memoryless.data.dataset import as_images

        if isinstance(images, Sequence):
            images = np.stack([self.look(photo) for photo in images])
        found = as_images(images)
        channels = found.shape[0]
        if self.learner and channels != len(self.learner.preparation.mean):
            raise DataError(
                f"the images have {channels} channels, and the model was taught on "
                f"{len(self.learner.preparation.mean)}: convert them"
            )
        return found

    def learn(
        self,
        images: Images,
        labels: np.ndarray,
        groups: np.ndarray,
        report: Any,
    ) -> tuple[TrainedFeatures, Measured]:
        """What is known after a state of new classes; their labels follow those of the past."""
        from memoryless.build import EndOfState, build_scorers
        from memoryless.data import Split
        from memoryless.methods import parse_method

        split = Split.whole(images, labels)
        learner = copy.deepcopy(self.learner) if self.learner else self._first_learner(split)
        new = len(np.unique(labels))
        learned = learner.learn(split, new, report=report, held_out=self._apart(labels, groups))
        end = EndOfState(
            learner.record, learner.layer, learned.fitted, learned.held_out, learner.view
        )
        scorer = build_scorers({self.method: parse_method(self.method)}, end)[self.method]
        after = TrainedFeatures(self.method, learner.settings, self.seed)
        after.learner, after.scorer = learner, in_numpy(scorer)
        if learned.held_out is None:
            after.confidence = self.confidence
            return after, Measured(np.zeros((0, learner.record.classes)), np.zeros(0, np.int64))
        scores = after.scorer(learned.held_out[0].float().numpy())
        own = learned.held_out[1].numpy()
        after.confidence = HeldOut.of(scores, lead(scores), own).confidence
        return after, Measured(scores, own)

    def _apart(self, labels: np.ndarray, groups: np.ndarray) -> np.ndarray | None:
        """Which images are held out, where some must be so together; else the learner decides."""
        if not self.settings.held_out or len(np.unique(groups)) == len(groups):
            return None
        own = labels - labels.min()
        return hold_out_groups(own, groups, self.settings.held_out, int(labels.min()))

    def _first_learner(self, split: Any) -> Learner:
        from memoryless.learner import Learner, prepare
        from memoryless.methods import trained_settings

        channels, whole, _ = split.images.shape
        side = self.settings.image_size or whole
        settings = trained_settings(self.method, self.settings, side)
        # Where images have a margin, crops of several sizes can be taken from them.
        augment = ("resized_crop", "flip") if side < whole else ("flip",)
        preparation = prepare(settings, split, side, augment)
        return Learner(settings, self.seed, channels, preparation)

    def judge(self, images: Images) -> Judgement:
        from memoryless.data import Split

        assert self.learner is not None
        split = Split.whole(images, np.zeros(len(images), dtype=np.int64))
        scores = self.scorer(self.learner.all_features(split).numpy())
        return judge(scores, lead(scores), self.confidence)

    def stored(self) -> tuple[dict[str, Any], dict[str, Any], bytes | None]:
        """What stands in model.json, the arrays of each file, and no graph."""
        assert self.learner is not None
        facts, arrays = describe(self.scorer)
        about = {
            "preparation": asdict(self.learner.preparation),
            "backbone": None,
            "scorer": facts,
            "confidence": asdict(self.confidence),
            "forgettable": False,
        }
        parts = {
            "record": self.learner.record.tensors(),
            "network": self.learner.tensors(),
            "scorer": arrays,
        }
        return about, parts, None


def lead(scores: np.ndarray) -> np.ndarray:
    """By how much the best class of each image leads the second best, (n,); 0 for one class.

    >>> lead(np.array([[3.0, 1.0, 7.0]])).tolist()
    [4.0]
    """
    if scores.shape[1] < 2:
        return np.zeros(len(scores))
    two = np.partition(scores, -2, axis=1)[:, -2:]
    return two[:, 1] - two[:, 0]


def in_numpy(scorer: Scorer) -> Any:
    """The scorer with arrays in place of tensors."""
    facts, arrays = describe(scorer)
    return restore(facts, {name: np.asarray(array) for name, array in arrays.items()})
