"""A model over fixed features: a backbone that never learns, sums over photos, and a layer.

It needs torch only to make the graph of `timm:NAME` or of weights in a file, once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import structs

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
from memoryless.images.read import pixels_of, ready
from memoryless.model import description
from memoryless.model.lesson import Lesson
from memoryless.model.parts import scorer_facts, to_bytes
from memoryless.settings import ModelSettings
from memoryless.stats.class_statistics import AT_ONCE, ClassStatistics
from memoryless.stats.confidence import Confidence, HeldOut, Judgement, average, judge
from memoryless.stats.scorers import Linear, View, Viewed, describe, restore
from memoryless.stats.similarity import chance_shift, closest_pairs, mean_shift
from memoryless.strategies import filled
from memoryless.threads import one_thread

if TYPE_CHECKING:
    from memoryless.embed.session import Extractor
    from memoryless.model.file import State
    from memoryless.settings import ModelSettings

METHOD = "fixed+lda"
LARGEST = 1e75  # of a feature: fourth powers of it can still be computed
HELD_OUT = 0.2
"""Share of a state's photos that measure the model before they are added to the sums too."""


@dataclass
class FixedFeatures:
    """What a model over fixed features knows; learning gives another one."""

    settings: ModelSettings
    preparation: PhotoPreparation | None = None
    """None where photos are features already."""
    graph: bytes | None = None
    """Computes features from photos."""
    forgettable: bool = False
    """Whether each class's own scatter is kept too, so that it can be forgotten exactly."""
    confidence: Confidence = field(default_factory=Confidence)
    saved: State | None = None
    """Holds sums and scorer until they are first needed."""
    extractor: Extractor | None = None
    """Runs the graph, once it is opened."""
    _statistics: ClassStatistics | None = None
    _held_out: HeldOut | None = None
    _scorer: Viewed | None = None

    @classmethod
    def first(cls, settings: ModelSettings, forgettable: bool = False) -> FixedFeatures:
        """Before the first photo: the graph is made of the backbone that settings name."""
        if settings.backbone == "none":
            return cls(settings, forgettable=forgettable)
        graph, preparation = features_graph_of(settings)
        settings = replace(settings, backbone=without_folder(settings.backbone))
        return cls(settings, preparation, graph, forgettable)

    @classmethod
    def of(cls, state: State) -> FixedFeatures:
        """What was saved."""
        about, sees = state.description, None
        if about.preparation:
            sees = PhotoPreparation(**structs.asdict(about.preparation))
        sure = about.confidence and Confidence(**structs.asdict(about.confidence))
        return cls(
            _settings(about, sees),
            sees,
            state.graph() if sees else None,
            about.forgettable,
            sure or Confidence(),
            state if state.classes.names else None,
        )

    def __getstate__(self) -> dict[str, Any]:
        """All but onnxruntime's session, which is opened again."""
        return vars(self) | {"extractor": None}

    @property
    def statistics(self) -> ClassStatistics | None:
        """The sums over photos; None before the first state."""
        if self._statistics is None and self.saved:
            self._statistics = ClassStatistics.restore(self.saved.arrays("record"), fixed=True)
        return self._statistics

    @property
    def held_out(self) -> HeldOut:
        """The sums over held-out photos."""
        if self._held_out is None and self.saved:
            self._held_out = HeldOut.restore(self.saved.arrays("record"))
        return self._held_out or HeldOut.none()

    @property
    def scorer(self) -> Viewed | None:
        """The layer over the view; None before the first state."""
        if self._scorer is None and self.saved:
            facts = scorer_facts(self.saved.description)
            self._scorer = restore(facts, self.saved.arrays("scorer"))
        return self._scorer

    @property
    def view(self) -> View:
        """What statistics read: square roots of photos' features; of others as settings say."""
        return View(square_roots=self.settings.square_roots or self.preparation is not None)

    def open(self) -> None:
        """Open the session that runs the graph, if there is one and it is not open yet."""
        if self.extractor is None and self.graph is not None:
            from memoryless.embed.session import Extractor

            self.extractor = Extractor(self.graph, self.settings.device)

    @property
    def least(self) -> int:
        if self.preparation is None:
            raise DataError(
                "a model with `backbone=none` takes features (n, d), not photos: use it from Python"
            )
        return self.preparation.resized

    def look(self, photo: np.ndarray) -> np.ndarray:
        """The feature (d,) of a photo."""
        assert self.least
        self.open()
        assert self.extractor is not None
        return self.extractor.feature(photo)

    feature = look

    def features(self, images: Any) -> np.ndarray:
        """Features (n, d) of whatever `pixels_of` reads; features are given back."""
        if isinstance(images, np.ndarray) and images.ndim == 2 and images.dtype.kind == "f":
            return self._checked(images)
        from memoryless.threads import ahead

        self.open()
        features = list(ahead(lambda image: self.look(pixels_of(image, self.least)), ready(images)))
        return self._checked(np.stack(features) if features else np.zeros((0, self._d or 0)))

    @property
    def _d(self) -> int | None:
        """How many numbers a feature has, if a state was learned."""
        layer: Any = self.scorer.over if self.scorer else None
        return layer.W.shape[1] if layer else None

    def _checked(self, features: np.ndarray) -> np.ndarray:
        d = self._d or features.shape[-1]
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
        return features

    looks = features

    def learn(
        self,
        features: np.ndarray,
        labels: np.ndarray,
        groups: np.ndarray,
        report: Any,
        names: Sequence[str],
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
            parts = [scored(layer, self.view(features[some].astype(np.float64))) for some in chunks]
        scores, margin = zip(*parts, strict=True)
        return np.concatenate(scores), np.concatenate(margin)

    def after(
        self, statistics: ClassStatistics, held_out: HeldOut, sure: Confidence
    ) -> tuple[FixedFeatures, Linear]:
        """The same with other statistics, and the layer that these make."""
        layer = layer_of(statistics)
        after = replace(
            self,
            forgettable=statistics.forgettable,
            confidence=sure,
            saved=None,
            _statistics=statistics,
            _held_out=held_out,
            _scorer=Viewed(self._rounded(layer), 0, self.view.square_roots),
        )
        return after, layer

    def _rounded(self, layer: Linear) -> Linear:
        """The layer in single precision over square roots, which are at most 1; features of other
        kinds may lie far from zero and close together.
        """
        kind = np.float32 if self.view.square_roots else np.float64
        return Linear(layer.W.astype(kind), layer.b.astype(kind))

    def forget(self, gone: np.ndarray) -> FixedFeatures:
        """The same without the classes of a mask (N,)."""
        assert self.statistics is not None
        if gone.all():
            return FixedFeatures(self.settings, self.preparation, self.graph, self.forgettable)
        return self.after(self.statistics.without(gone), self.held_out, self.confidence)[0]

    @classmethod
    def merge(cls, parts: Sequence[tuple[FixedFeatures, np.ndarray]]) -> FixedFeatures:
        """All of several; class i of one with its places is class places[i] of the result."""
        each = [part for part, _ in parts]
        whole = ClassStatistics.empty(each[0]._d or 0, all(part.forgettable for part in each))
        held_out = HeldOut.none()
        for part, places in parts:
            assert part.statistics is not None
            whole, held_out = whole.join(part.statistics, places), held_out.join(part.held_out)
        sure = average([(part.confidence, part.held_out) for part in each])
        return each[0].after(whole, held_out, sure)[0]

    def differences(self, other: FixedFeatures) -> Iterator[str]:
        """Why features of the two do not compare, and what to do about it."""
        one, two = self.settings.backbone, other.settings.backbone
        prepared = list(_differing(self.preparation, other.preparation))
        if self.graph != other.graph and (one != two or not prepared):
            which = f"both called {one}" if one == two else f"{one} and {two}"
            yield f"their networks differ ({which}): teach one anew with the other's `backbone`"
        for name, mine, others in prepared:
            setting = "image_size" if name == "size" else name
            yield (
                f"they prepare photos differently ({name} {mine} and {others}): teach one anew "
                f"with the other's `{setting}`"
            )
        if (self._d, self.view) != (other._d, other.view):
            kinds = " and ".join(f"{part._d} {_kind(part.view)}" for part in (self, other))
            yield f"their features differ ({kinds}): teach one anew with features like the other's"

    def judge(self, features: np.ndarray) -> Judgement:
        return judge(*scored(self.scorer, features), self.confidence)

    def stored(self) -> tuple[dict[str, Any], dict[str, bytes]]:
        """What a description says of it, and the bytes of each part."""
        facts: dict[str, Any] = {"square_roots": self.view.square_roots}
        contents = {}
        if self.preparation and self.graph:
            sees = description.Preparation(**asdict(self.preparation))
            name, digest = self.settings.backbone, sha256(self.graph).hexdigest()
            backbone = description.Backbone(name=name, sha256=digest)
            facts |= {"preparation": sees, "backbone": backbone}
            contents["features"] = self.graph
        if self.statistics is not None:
            record = self.statistics.arrays() | self.held_out.arrays()
            facts["record"] = {name: array.nbytes for name, array in record.items()}
            facts["confidence"] = description.Confidence(**asdict(self.confidence))
            contents["record"] = to_bytes(record)
            contents["scorer"] = to_bytes(describe(self.scorer)[1])
        return facts, contents


def _settings(about: description.Description, sees: PhotoPreparation | None) -> ModelSettings:
    """The settings of a model that was saved."""
    if sees is None or about.backbone is None:
        given = ModelSettings(strategy="fixed", backbone="none", square_roots=about.square_roots)
        return filled(given)
    pixels: dict[str, Any] = {}
    if (sees.mean, sees.std) != own_pixels(about.backbone.name):
        rounded = [tuple(round(x / 255, 12) for x in part) for part in (sees.mean, sees.std)]
        pixels = dict(zip(("mean", "std"), rounded, strict=True))  # as they were typed
    given = ModelSettings(
        strategy="fixed",
        backbone=about.backbone.name,
        image_size=sees.size,
        crop=sees.crop,
        **pixels,
    )
    return filled(given)


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


def _differing(
    one: PhotoPreparation | None, two: PhotoPreparation | None
) -> Iterator[tuple[str, Any, Any]]:
    """In what two ways to prepare photos differ."""
    if one and two:
        for name, value in asdict(one).items():
            if value != getattr(two, name):
                yield name, value, getattr(two, name)


def _kind(view: View) -> str:
    return "square roots" if view.square_roots else "numbers as they are"


def layer_of(statistics: ClassStatistics) -> Linear:
    """The layer of `fixed+lda`, and below it the row of the mean of all photos."""
    from memoryless.stats.heads import HEADS, fixed_lda  # `predict` starts faster without them

    shrinkage = HEADS["lda"].fixed_shrinkage
    assert shrinkage is not None
    return fixed_lda(statistics, shrinkage)


def _unlike(past: ClassStatistics, after: ClassStatistics) -> dict[int, float]:
    """Past classes whose new photos differ from the past ones by more than chance."""
    errors, chance = mean_shift(past, after), chance_shift(after)
    return {int(c): float(errors[c]) for c in np.flatnonzero(errors > chance)}


def scored(scorer: Any, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scores (n, N) of classes, and the margin (n,) of the best over the mean of all photos."""
    scores = scorer(features)
    return scores[:, :-1], scores[:, :-1].max(1) - scores[:, -1]
