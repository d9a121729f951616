"""A model over fixed features: a backbone that never learns, sums over photos, and a layer.

It needs torch only to make the graph of a backbone that is a torch module, once.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from memoryless.confidence import Confidence, HeldOut, Judgement, Measured, judge
from memoryless.data.dataset import hold_out_groups
from memoryless.errors import DataError
from memoryless.preparation import PhotoPreparation
from memoryless.scorers import Linear, Viewed, describe, restore, square_roots
from memoryless.sums import Sums, closest

if TYPE_CHECKING:
    from memoryless.extractor import Extractor, TorchExtractor
    from memoryless.model_folder import Saved
    from memoryless.strategies import ModelSettings

METHOD = "fixed+lda"
HELD_OUT = 0.2
"""Share of a state's photos that measure the model before they are added to the sums too."""


@dataclass
class FixedFeatures:
    """What a model over fixed features knows; learning gives another one."""

    settings: ModelSettings
    preparation: PhotoPreparation | None = None
    """None where photos are features already."""
    saved: Saved | None = None
    """Where graph, sums and scorer are read from when they are first needed."""
    confidence: Confidence = field(default_factory=Confidence)

    @classmethod
    def first(cls, settings: ModelSettings) -> FixedFeatures:
        """Before the first photo: the graph is made of the backbone that settings name."""
        if settings.backbone == "none":
            return cls(settings)
        from memoryless.fixed_backbone import features_graph_of

        graph, preparation = features_graph_of(settings)
        made = cls(replace(settings, backbone=without_folder(settings.backbone)), preparation)
        made.graph = graph
        return made

    @classmethod
    def of(cls, saved: Saved, settings: ModelSettings) -> FixedFeatures:
        """What was saved."""
        about = saved.about
        prepared = about["preparation"] and PhotoPreparation(**about["preparation"])
        return cls(settings, prepared, saved, Confidence(**about["confidence"]))

    @cached_property
    def graph(self) -> bytes | None:
        return self.saved.graph() if self.saved and self.preparation else None

    @cached_property
    def sums(self) -> Sums | None:
        return Sums.restore(self.saved.arrays("record")) if self.saved else None

    @cached_property
    def held_out(self) -> HeldOut | None:
        return HeldOut.restore(self.saved.arrays("record")) if self.saved else None

    @cached_property
    def scorer(self) -> Viewed:
        assert self.saved is not None
        return restore(self.saved.about["scorer"], self.saved.arrays("scorer"))

    @cached_property
    def extractor(self) -> Extractor | TorchExtractor:
        from memoryless.fixed_backbone import open_extractor

        assert self.graph is not None and self.preparation is not None
        return open_extractor(self.graph, self.settings, self.preparation)

    def open(self) -> None:
        if self.preparation:
            _ = self.extractor

    @property
    def least(self) -> int:
        if self.preparation is None:
            raise DataError("a model with `backbone=none` takes features (n, d), not photos")
        return self.preparation.resized

    def look(self, photo: np.ndarray) -> np.ndarray:
        """The feature (d,) of a photo."""
        assert self.least
        return self.extractor.feature(photo)

    def looks(self, images: Any) -> np.ndarray:
        """Features (n, d) of photos; features are given back."""
        if isinstance(images, np.ndarray) and images.ndim == 2 and images.dtype.kind == "f":
            return self._checked(images)
        from memoryless.extractor import ahead

        features = list(ahead(self.look, map(as_photo, images)))
        return self._checked(np.stack(features) if features else np.zeros((0, self._d or 0)))

    @property
    def _d(self) -> int | None:
        """How many numbers a feature has, if a state was learned; asks no file that may vanish."""
        learned = self.saved is not None or "scorer" in vars(self)
        layer: Any = self.scorer.over if learned else None
        return layer.W.shape[1] if learned else None

    def _checked(self, features: np.ndarray) -> np.ndarray:
        d = self._d or features.shape[-1]
        if features.ndim != 2 or features.shape[1] != d:
            raise DataError(f"features must be (n, {d}), not {features.shape}")
        if not np.isfinite(features).all():
            raise DataError("features must be finite numbers: some are nan or infinite")
        return features

    def learn(
        self, features: np.ndarray, labels: np.ndarray, new: int, groups: np.ndarray, report: Any
    ) -> tuple[FixedFeatures, Measured]:
        """What is known after a state; labels of its `new` classes follow those of the past.

        Held-out photos measure the model that the others make; then all are added to the sums.
        """
        past = self.sums.classes if self.sums is not None else 0
        roots, own = square_roots(features.astype(np.float64)), labels - past
        held = hold_out_groups(own, groups, HELD_OUT, past)
        without = self._joined(roots[~held], own[~held], new).discriminant()
        scores, margin = scored(without, roots[held])
        sums = self._joined(roots, own, new)
        layer = sums.discriminant()
        told = HeldOut.of(scores, margin, labels[held])
        held_out = self.held_out.join(told) if self.held_out else told
        sure = held_out.confidence
        after = FixedFeatures(self.settings, self.preparation, confidence=sure)
        after.graph, after.sums, after.held_out = self.graph, sums, held_out
        after.scorer = Viewed(
            Linear(layer.W.astype(np.float32), layer.b.astype(np.float32)), 0, True
        )
        if "extractor" in vars(self):
            after.extractor = self.extractor
        return after, Measured(scores, labels[held], closest(sums, layer, new, sure.temperature))

    def _joined(self, roots: np.ndarray, labels: np.ndarray, new: int) -> Sums:
        sums = Sums.of(roots, labels, new)
        return sums if self.sums is None else self.sums.join(sums)

    def judge(self, features: np.ndarray) -> Judgement:
        return judge(*scored(self.scorer, features), self.confidence)

    def stored(self) -> tuple[dict[str, Any], dict[str, Any], bytes | None]:
        """What stands in model.json, the arrays of each file, and the graph."""
        assert self.sums is not None and self.held_out is not None
        facts, arrays = describe(self.scorer)
        record = self.sums.arrays() | self.held_out.arrays()
        digest = self.graph and sha256(self.graph).hexdigest()
        about = {
            "preparation": self.preparation and asdict(self.preparation),
            "backbone": digest and {"name": self.settings.backbone, "sha256": digest},
            "scorer": facts,
            "confidence": asdict(self.confidence),
        }
        return about, {"record": record, "scorer": arrays}, self.graph


def without_folder(backbone: str) -> str:
    """The name of a backbone; of a file without its folder, which may name a person.

    >>> without_folder("onnx:/home/ada/net.onnx"), without_folder("efficientnet-lite0")
    ('onnx:net.onnx', 'efficientnet-lite0')
    """
    kind, colon, file = backbone.partition(":")
    return f"onnx:{Path(file).name}" if kind == "onnx" and colon else backbone


def scored(scorer: Any, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scores (n, N) of classes, and the margin (n,) of the best over the mean of all photos."""
    scores = scorer(features)
    return scores[:, :-1], scores[:, :-1].max(1) - scores[:, -1]


def as_photo(image: Any) -> np.ndarray:
    """An image as uint8 (H, W, 3); grey ones stand in all three channels."""
    photo = np.asarray(image)
    if photo.ndim == 2:
        photo = photo[..., None]
    if photo.ndim == 3 and photo.shape[2] not in (1, 3) and photo.shape[0] in (1, 3):
        photo = photo.transpose(1, 2, 0)
    if photo.dtype != np.uint8 or photo.ndim != 3 or photo.shape[2] not in (1, 3) or not photo.size:
        raise DataError(
            f"a photo must be uint8 (H, W), (H, W, 3) or (3, H, W), not {photo.dtype} {photo.shape}"
        )
    return np.ascontiguousarray(np.broadcast_to(photo, (*photo.shape[:2], 3)))
