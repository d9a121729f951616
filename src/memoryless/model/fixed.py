"""A model over fixed features: a backbone that never learns, sums over photos, and a layer.

It needs torch only to make the graph of `timm:NAME` or of weights in a file, once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np

from memoryless.embed import (
    PhotoPreparation,
    backbone_graph,
    check_fixed,
    needs_torch,
    own_pixels,
    preparation_for,
    without_folder,
)
from memoryless.errors import DataError, extras
from memoryless.images.dataset import hold_out_groups
from memoryless.model.description import Backbone, State, scorer_facts, to_bytes
from memoryless.model.lesson import Lesson
from memoryless.settings import ModelSettings
from memoryless.stats.class_statistics import AT_ONCE, ClassStatistics
from memoryless.stats.confidence import Confidence, HeldOut, average
from memoryless.stats.scorers import Linear, View, Viewed, describe, restore
from memoryless.stats.similarity import chance_shift, closest_pairs, mean_shift
from memoryless.strategies import filled
from memoryless.threads import one_thread

METHOD = "fixed+lda"
LARGEST = 1e75  # of a feature: fourth powers of it can still be computed
HELD_OUT = 0.2
"""Share of a state's photos that measure the model before they are added to the sums too."""


@dataclass
class FixedFeatures:
    """What a model over fixed features knows; learning gives another one.

    Sums and scorer of a model that was saved are restored when they are first needed.
    """

    backbone: str = "none"
    """Its name; none where photos are features already."""
    preparation: PhotoPreparation | None = None
    graph: bytes | None = None
    """Computes features from photos."""
    square_roots: bool = False
    """Whether statistics are those of square roots of features, as for photos they always are."""
    forgettable: bool = False
    """Whether each class's own scatter is kept too, so that it can be forgotten exactly."""
    confidence: Confidence = field(default_factory=Confidence)
    device: str = "auto"
    """Where the graph runs."""
    saved: State | None = None

    @classmethod
    def first(cls, settings: ModelSettings, forgettable: bool = False) -> FixedFeatures:
        """Before the first photo: the graph is made of the backbone that settings name."""
        made = cls(settings.backbone, None, None, settings.square_roots, forgettable)
        made.device = settings.device
        if made.backbone != "none":
            made.backbone, made.square_roots = without_folder(settings.backbone), True
            made.graph, made.preparation = features_graph_of(settings)
        return made

    @classmethod
    def of(cls, state: State) -> FixedFeatures:
        """What was saved."""
        about = state.description
        return cls(
            about.backbone.name if about.backbone else "none",
            about.preparation,
            state.content.get("features"),
            about.square_roots,
            about.forgettable,
            about.confidence or Confidence(),
            saved=state if state.classes.names else None,
        )

    @property
    def settings(self) -> ModelSettings:
        """What would make a model over these features; a folder that its file was in is lost."""
        given: dict[str, Any] = {"square_roots": self.square_roots}
        if seen := self.preparation:
            given = {"image_size": seen.size, "crop": seen.crop}
            if (seen.mean, seen.std) != own_pixels(self.backbone):  # those were typed
                for name, values in (("mean", seen.mean), ("std", seen.std)):
                    given[name] = tuple(round(x / 255, 12) for x in values)
        given |= {"backbone": self.backbone, "device": self.device}
        return filled(ModelSettings(strategy="fixed", **given))

    @cached_property
    def statistics(self) -> ClassStatistics | None:
        """The sums over photos; None before the first state."""
        if self.saved is None:
            return None
        return ClassStatistics.restore(self.saved.arrays("record"), fixed=True)

    @cached_property
    def held_out(self) -> HeldOut:
        """The sums over held-out photos."""
        return HeldOut.restore(self.saved.arrays("record")) if self.saved else HeldOut.none()

    @cached_property
    def scorer(self) -> Viewed | None:
        """The layer over the view; None before the first state."""
        if self.saved is None:
            return None
        return restore(scorer_facts(self.saved.description), self.saved.arrays("scorer"))

    @property
    def view(self) -> View:
        """What statistics are computed from."""
        return View(square_roots=self.square_roots)

    @property
    def d(self) -> int | None:
        """How many numbers a feature has, if a state was learned."""
        layer: Any = self.scorer.over if self.scorer else None
        return layer.W.shape[1] if layer else None

    @property
    def least(self) -> int:
        """The shorter side that the pixels of a photo should at least have."""
        if self.preparation is None:
            raise DataError(
                "a model with `backbone=none` takes features (n, d), not photos: use it from Python"
            )
        return self.preparation.resized

    def check(self, features: np.ndarray) -> None:
        """Raise unless features can be computed with."""
        d = self.d or features.shape[-1]
        if features.ndim != 2 or features.shape[1] != d:
            raise DataError(f"features must be (n, {d}), not {features.shape}")
        largest = float(np.maximum(features.max(initial=0), -features.min(initial=0)))
        if not np.isfinite(largest):
            raise DataError("features must be finite numbers: some are nan or infinite")
        for wrong, what, other in ((largest > LARGEST, "large", "smaller"),
                                   (0 < largest < 1 / LARGEST, "small", "larger")):  # fmt: skip
            if wrong:
                raise DataError(
                    f"features are too {what} to compute with: bring them to a {other} scale"
                )

    def learn(
        self, features: np.ndarray, labels: np.ndarray, groups: np.ndarray, names: Sequence[str]
    ) -> tuple[FixedFeatures, Lesson]:
        """What is known after a state; labels of new classes follow those of the past.

        Held-out photos measure the model that the others make; then all are added to the sums.
        """
        d = self.view(features[:0]).shape[1]
        past = self.statistics or ClassStatistics.empty(d, self.forgettable)
        _, own = np.unique(labels, return_inverse=True)
        held = hold_out_groups(own, groups, HELD_OUT, past.classes)
        without = past.join(*self._statistics_of(features, labels, ~held))
        scores, margin = self._scored_rows(layer_of(without), features, np.flatnonzero(held))
        both = without.join(*self._statistics_of(features, labels, held)) if held.any() else without
        held_out = self.held_out.join(HeldOut.of(scores, margin, labels[held]))
        after, layer = self.after(both, held_out, held_out.confidence)
        new, temperature = both.classes - past.classes, after.confidence.temperature
        alike = closest_pairs(both, layer.W[:-1], new, temperature)
        return after, Lesson.of(
            names,
            labels,
            scores,
            labels[held],
            after.confidence,
            alike=[(names[a], names[b], share) for a, b, share in alike],
            unlike={names[c]: errors for c, errors in _unlike(past, both).items()},
        )

    def _statistics_of(
        self, features: np.ndarray, labels: np.ndarray, mask: np.ndarray
    ) -> tuple[ClassStatistics, np.ndarray]:
        """Statistics of the photos of a mask by their classes, and which classes these are."""
        rows = np.flatnonzero(mask)
        places, own = np.unique(labels[rows], return_inverse=True)
        made = ClassStatistics.of(
            features,
            own,
            len(places),
            view=self.view,
            fixed=True,
            forgettable=self.forgettable,
            rows=rows,
        )
        return made, places

    def _scored_rows(
        self, layer: Linear, features: np.ndarray, rows: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Scores and margins of some rows, in double precision, and never of too many at once."""
        chunks = np.array_split(rows, len(rows) * features.shape[1] // AT_ONCE + 1)
        with one_thread():
            views = (self.view(features[some].astype(np.float64)) for some in chunks)
            parts = [with_margin(layer(view)) for view in views]
        scores, margin = zip(*parts, strict=True)
        return np.concatenate(scores), np.concatenate(margin)

    def after(
        self, statistics: ClassStatistics, held_out: HeldOut, confidence: Confidence
    ) -> tuple[FixedFeatures, Linear]:
        """The same with other statistics, and the layer that these make."""
        layer, forgettable = layer_of(statistics), statistics.forgettable
        after = replace(self, forgettable=forgettable, confidence=confidence, saved=None)
        after.statistics, after.held_out = statistics, held_out
        # Square roots are at most 1; features of other kinds may lie far from zero and close
        # together, where single precision is too coarse.
        kind = np.float32 if self.square_roots else np.float64
        rounded = Linear(layer.W.astype(kind), layer.b.astype(kind))
        after.scorer = Viewed(rounded, 0, self.square_roots)
        return after, layer

    def forget(self, gone: np.ndarray) -> FixedFeatures:
        """The same without the classes of a mask (N,)."""
        assert self.statistics is not None
        if gone.all():
            return replace(self, confidence=Confidence(), saved=None)
        return self.after(self.statistics.without(gone), self.held_out, self.confidence)[0]

    @classmethod
    def merge(cls, parts: Sequence[tuple[FixedFeatures, np.ndarray]]) -> FixedFeatures:
        """All of several; class i of one with its places is class places[i] of the result."""
        each = [part for part, _ in parts]
        whole = ClassStatistics.empty(each[0].d or 0, all(part.forgettable for part in each))
        held_out = HeldOut.none()
        for part, places in parts:
            assert part.statistics is not None
            whole, held_out = whole.join(part.statistics, places), held_out.join(part.held_out)
        sure = average([(part.confidence, part.held_out) for part in each])
        return each[0].after(whole, held_out, sure)[0]

    def differences(self, other: FixedFeatures) -> Iterator[str]:
        """Why features of the two do not compare, and what to do about it."""
        one, two, prepared = self.backbone, other.backbone, []
        if self.preparation and other.preparation:
            for name in ("size", "crop", "mean", "std"):
                both = getattr(self.preparation, name), getattr(other.preparation, name)
                prepared += [(name, *both)] if both[0] != both[1] else []
        if self.graph != other.graph and (one != two or not prepared):
            which = f"both called {one}" if one == two else f"{one} and {two}"
            yield f"their networks differ ({which}): teach one anew with the other's `backbone`"
        for name, mine, others in prepared:
            setting = "image_size" if name == "size" else name
            yield (
                f"they prepare photos differently ({name} {mine} and {others}): teach one anew "
                f"with the other's `{setting}`"
            )
        if (self.d, self.square_roots) != (other.d, other.square_roots):
            kinds = " and ".join(
                f"{part.d} {'square roots' if part.square_roots else 'numbers as they are'}"
                for part in (self, other)
            )
            yield f"their features differ ({kinds}): teach one anew with features like the other's"

    def scored(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Scores (n, N) of classes, and the margin (n,) of the best over the mean of all photos."""
        assert self.scorer is not None
        return with_margin(self.scorer(features))

    def stored(self) -> tuple[dict[str, Any], dict[str, bytes]]:
        """What a description says of it, and the bytes of each part."""
        facts: dict[str, Any] = {"square_roots": self.square_roots}
        contents = {}
        if self.graph:
            digest = sha256(self.graph).hexdigest()
            facts["backbone"] = Backbone(name=self.backbone, sha256=digest)
            facts["preparation"] = self.preparation
            contents["features"] = self.graph
        if self.statistics is not None:
            record = self.statistics.arrays() | self.held_out.arrays()
            facts["record"] = {name: array.nbytes for name, array in record.items()}
            facts["confidence"] = self.confidence
            contents["record"] = to_bytes(record)
            contents["scorer"] = to_bytes(describe(self.scorer)[1])
        return facts, contents


@extras()
def features_graph_of(settings: ModelSettings) -> tuple[bytes, PhotoPreparation]:
    """The graph from photos to features of the backbone that settings name, tried on one photo, and
    how it prepares photos.
    """
    from memoryless.embed.graph import features_graph
    from memoryless.embed.session import Extractor, trial_photo

    check_fixed(settings)
    preparation = preparation_for(settings)
    make = backbone_graph
    if needs_torch(settings):
        from memoryless.train.backbones import backbone_graph as make
    graph = features_graph(make(settings, preparation.size), preparation)
    Extractor(graph).feature(trial_photo())
    return graph, preparation


def layer_of(statistics: ClassStatistics) -> Linear:
    """The layer of `fixed+lda`, and below it the row of the mean of all photos."""
    from memoryless.stats.heads import HEADS, fixed_lda  # `predict` starts faster without them

    shrinkage = HEADS["lda"].fixed_shrinkage
    assert shrinkage is not None
    return fixed_lda(statistics, shrinkage)


def with_margin(scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scores of classes, and the margin of the best over the last row, the mean of all photos."""
    return scores[:, :-1], scores[:, :-1].max(1) - scores[:, -1]


def _unlike(past: ClassStatistics, after: ClassStatistics) -> dict[int, float]:
    """Past classes whose new photos differ from the past ones by more than chance."""
    errors, chance = mean_shift(past, after), chance_shift(after)
    return {int(c): float(errors[c]) for c in np.flatnonzero(errors > chance)}
