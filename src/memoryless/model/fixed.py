"""A model over fixed features: a backbone that never learns, sums over photos, and a layer.

It needs torch only to make the graph of `timm:NAME` or of weights in a file, once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from memoryless.embed import (
    backbone_graph,
    check_fixed,
    needs_torch,
    own_pixels,
    preparation_for,
    without_folder,
)
from memoryless.embed.preparation import PhotoPreparation
from memoryless.errors import ConfigError, DataError, extras
from memoryless.model.description import PREDICTS_ALONE, FeatureGroup, State, scorer_facts
from memoryless.model.report import LearningReport, Suspect
from memoryless.settings import ModelSettings
from memoryless.stats.choice import choose, start, too_little
from memoryless.stats.class_statistics import ClassStatistics
from memoryless.stats.confidence import LEAST, Check, Confidence, calibrate
from memoryless.stats.discriminant import Discriminant
from memoryless.stats.leave_one_out import Sample, leave_one_out, unlikely
from memoryless.stats.scorers import Linear, View, Viewed, describe, restore
from memoryless.stats.similarity import chance_shift, mean_shift
from memoryless.strategies import filled

METHOD = "fixed+lda"
LARGEST = 1e75  # of a feature: fourth powers of it can still be computed
DUE = 0.1
"""Share of all photos since the last check that makes another one due."""
Chunk = tuple[np.ndarray, np.ndarray]
"""Features (n, d), and the classes (n,) of their photos."""


class Answers(NamedTuple):
    """A layer, solved of sums."""

    scorer: Viewed
    confidence: Confidence
    """How sure its answers are."""
    chosen: tuple[tuple[float, float], ...]
    """The weight and the shrinkage of each group of features."""


@dataclass
class FixedFeatures:
    """What a model over fixed features knows; learning gives another one."""

    backbone: str = "none"
    """Its name; none where photos are features already."""
    preparation: PhotoPreparation | None = None
    graph: bytes | None = None
    """Computes features from photos."""
    square_roots: bool = False
    """Whether statistics are those of square roots of features, as for photos they always are."""
    forgettable: bool = False
    """Whether each class's own scatter is kept too, so that it can be forgotten exactly."""
    groups: tuple[int, ...] = ()
    """Sizes of the groups of features; none as long as the size of a single one is not known."""
    choose: bool = True
    """Whether weights and shrinkages of the groups are chosen from the sums."""
    device: str = "auto"
    """Where the graph runs."""
    statistics: ClassStatistics | None = None
    """The sums over photos; None before the first state, and where only predicting was read."""
    check: Check = field(default_factory=Check.none)
    """The sums over photos that were scored without being known."""
    solved: Answers | None = None
    """The layer of these sums; where they are new, it is solved when an answer is asked for."""
    unchecked: float = 0.0
    """How many photos were learned since some were checked."""
    calibrated: Confidence | None = None
    """What `calibrate` fitted, in the unit of the discriminant: it stands for what sums say."""

    @classmethod
    def first(cls, settings: ModelSettings, forgettable: bool = False) -> FixedFeatures:
        """Make the graph of the backbone that settings name; no photo was learned yet."""
        own = cls(forgettable=forgettable, device=settings.device)
        if settings.backbone == "none":
            return replace(own, square_roots=settings.square_roots)
        graph, preparation, groups = features_graph_of(settings)
        name = without_folder(settings.backbone)
        return replace(own, backbone=name, preparation=preparation, graph=graph, square_roots=True,
                       groups=groups)  # fmt: skip

    @classmethod
    def of(cls, state: State) -> FixedFeatures:
        """Return what was saved."""
        about, solved = state.description, None
        if "scorer" in state.arrays:
            scorer = restore(scorer_facts(about), state.arrays["scorer"])
            chosen = tuple((group.weight, group.shrinkage) for group in about.groups)
            solved = Answers(scorer, about.confidence or Confidence(), chosen)
        found = cls(
            about.backbone.name if about.backbone else "none",
            about.preparation,
            state.graph,
            about.square_roots,
            about.forgettable,
            tuple(group.size for group in about.groups),
            solved=solved,
            calibrated=about.calibrated,
        )
        if record := state.arrays.get("record"):
            found.statistics = ClassStatistics.restore(record, fixed=True)
            found.check = Check.restore(record)
        return found

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

    @property
    def sums(self) -> ClassStatistics:
        """The sums over photos of a model that has learned some."""
        if self.statistics is None:
            raise ConfigError(PREDICTS_ALONE)
        return self.statistics

    @property
    def answers(self) -> Answers:
        """The layer of a model that has learned something."""
        if self.solved is None:
            self.solved = self._answers_of(self._discriminant())
        return self.solved

    def _discriminant(self) -> Discriminant:
        return choose(self.sums) if self.choose else start(self.sums)

    def _answers_of(self, discriminant: Discriminant) -> Answers:
        W, b = discriminant.layer
        # Square roots are at most 1; features of other kinds may lie far from zero and close
        # together, where single precision is too coarse.
        kind = np.float32 if self.square_roots else np.float64
        layer, view = Linear(W.astype(kind), b.astype(kind)), self.view
        scorer = Viewed(layer, view.start, view.square_roots, view.groups)
        return Answers(scorer, self._confidence(discriminant.unit), discriminant.chosen)

    def _confidence(self, unit: float) -> Confidence:
        """Return a temperature and a threshold for scores of this unit."""
        return self.calibrated.scaled(unit) if self.calibrated else self.check.confidence(unit)

    @property
    def confidence(self) -> Confidence:
        """A temperature and a threshold."""
        return self.answers.confidence

    @property
    def view(self) -> View:
        """What statistics are computed from."""
        return View(square_roots=self.square_roots, groups=self.groups)

    def _by_group(self, features: np.ndarray) -> list[np.ndarray]:
        """Return what the statistics of each group are computed from."""
        return np.split(self.view(features), np.cumsum(self.groups)[:-1], axis=1)

    @property
    def d(self) -> int | None:
        """How many numbers a feature has, if a state was learned."""
        return sum(self.groups) or None

    @property
    def min_side(self) -> int:
        """The shorter side that the pixels of a photo should at least have."""
        if self.preparation is None:
            raise DataError(
                "a model with `backbone=none` takes features (n, d), not photos: use it from Python"
            )
        return self.preparation.resized

    def check_features(self, features: np.ndarray) -> None:
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
        self,
        chunks: Iterable[Chunk],
        names: Sequence[str],
        brought: np.ndarray,
        alike: Callable[[], np.ndarray] | None = None,
        check: bool = True,
    ) -> tuple[FixedFeatures, LearningReport]:
        """Return what is known after a call that brings some classes, and what it taught.

        Chunks are added to the sums one after another. A sample of their rows waits for the check,
        until all are added. Photos with the same number in `alike` are left out together.
        """
        past = whole = self.sums if self.solved else self.statistics
        sample = Sample(len(brought), len(names)) if check else None
        for features, labels in chunks:
            self.check_features(features)
            made, places = self._statistics_of(features, labels)
            if whole is None:
                whole = ClassStatistics.empty(*made.sizes, forgettable=self.forgettable)
            whole = whole.join(made, places)
            if sample:
                sample.add(features, labels)
        assert whole is not None
        after = self.after(whole, self.check)
        found = labels = np.zeros(0, np.int64)
        suspects: list[Suspect] = []
        if sample:
            found, labels, suspects = after._check(sample, alike, names)
        else:
            after.unchecked = self.unchecked + whole.photos - (past.photos if past else 0)
        confidence = after.confidence if sample else Confidence()
        unlike = _unlike(past, whole, names) if past else {}
        return after, LearningReport.of(names, brought, found, labels, confidence, unlike, suspects)

    def _check(
        self, sample: Sample, alike: Callable[[], np.ndarray] | None, names: Sequence[str]
    ) -> tuple[np.ndarray, np.ndarray, list[Suspect]]:
        """Score the rows that wait by leave-one-out; return their answers and classes, and those
        whose own class is unlikely, by their numbers in the call.
        """
        discriminant = self._discriminant()
        sets = alike()[sample.numbers] if alike else sample.numbers
        answers, labels, check = [], [], Check.none()
        unit, features = discriminant.unit, self._by_group(sample.rows)
        gaps = np.full(len(sample.labels), -np.inf)
        for part in leave_one_out(discriminant, features, sample.labels, sets):
            own = sample.labels[part.photos]
            check = check.join(Check.of(part.scores / unit, part.margins / unit, own))
            gaps[part.photos] = part.scores.max(1) - part.scores[np.arange(len(own)), own]
            answers.append(part.scores.argmax(1))
            labels.append(own)
        suspects: list[Suspect] = []
        if check.count >= LEAST and self.sums.classes > 1:
            self.check = self.check.join(check)
            T = check.confidence(unit).temperature
            doubted = unlikely(discriminant, features, sample.labels, sets, gaps, T)
            for row, answer, p in zip(*doubted, strict=True):
                number, label = int(sample.numbers[row]), names[sample.labels[row]]
                suspects.append(Suspect(number, label, names[answer], float(p)))
        self.solved = self._answers_of(discriminant)
        none = np.zeros(0, np.int64)
        return np.concatenate([none, *answers]), np.concatenate([none, *labels]), suspects

    def due(self, photos: int) -> bool:
        """Return whether a call with so many photos should check some of them."""
        known = self.statistics.photos if self.statistics else 0
        return not self.check.count or self.unchecked + photos > DUE * (known + photos)

    def calibrate(
        self, features: np.ndarray, labels: np.ndarray, unknown: np.ndarray
    ) -> FixedFeatures:
        """Return the same with a temperature and a threshold fitted on photos of known classes,
        and on those of unknown things where there are any.
        """
        unit = self._discriminant().unit
        (scores, margins), (_, strange) = self.scored(features), self.scored(unknown)
        found = calibrate(scores / unit, margins / unit, labels, strange / unit, self.check)
        solved = self.answers._replace(confidence=found.scaled(unit))
        return replace(self, calibrated=found, solved=solved)

    def _statistics_of(
        self, features: np.ndarray, labels: np.ndarray
    ) -> tuple[ClassStatistics, np.ndarray]:
        """Return statistics of photos by their classes, and which classes these are."""
        places, own = np.unique(labels, return_inverse=True)
        made = ClassStatistics.of_groups(
            features,
            own,
            len(places),
            self.groups or (features.shape[1],),
            view=View(square_roots=self.square_roots),
            forgettable=self.forgettable,
        )
        return made, places

    def after(self, statistics: ClassStatistics, check: Check) -> FixedFeatures:
        """Return the same with other sums."""
        return replace(
            self,
            forgettable=statistics.forgettable,
            groups=statistics.sizes,
            statistics=statistics,
            check=check,
            solved=None,
            unchecked=0.0,
        )

    def forget(self, gone: np.ndarray) -> FixedFeatures:
        """Return the same without the classes of a mask (N,)."""
        if not gone.all():
            return self.after(self.sums.without(gone), self.check)
        return replace(
            self,
            groups=self.groups if self.graph else (),
            statistics=None,
            check=Check.none(),
            solved=None,
            unchecked=0.0,
            calibrated=None,
        )

    @classmethod
    def merge(cls, parts: Sequence[tuple[FixedFeatures, np.ndarray]]) -> FixedFeatures:
        """Return all of several; class i of one with places is class places[i] of the result.

        What was calibrated on photos of some of the classes does not count for all.
        """
        each = [part for part, _ in parts]
        forgettable = all(part.forgettable for part in each)
        whole = ClassStatistics.empty(*each[0].groups, forgettable=forgettable)
        check = Check.none()
        for part, places in parts:
            whole, check = whole.join(part.sums, places), check.join(part.check)
        return replace(each[0], calibrated=None).after(whole, check)

    def differences(self, other: FixedFeatures) -> Iterator[str]:
        """Yield why features of the two do not compare, and what to do about it."""
        one, two, prepared = self.backbone, other.backbone, []
        if self.preparation and other.preparation:
            for name in ("size", "crop", "mean", "std"):
                both = getattr(self.preparation, name), getattr(other.preparation, name)
                prepared += [(name, *both)] if both[0] != both[1] else []
        if self.graph != other.graph and (one != two or not prepared):
            which = f"both called {one}" if one == two else f"{one} and {two}"
            yield f"their networks differ ({which}): teach one again with the other's `backbone`"
        for name, mine, others in prepared:
            setting = "image_size" if name == "size" else name
            yield (
                f"they prepare photos differently ({name} {mine} and {others}): teach one again "
                f"with the other's `{setting}`"
            )
        if (self.d, self.square_roots) != (other.d, other.square_roots):
            kinds = " and ".join(
                f"{part.d} {'square roots' if part.square_roots else 'numbers as they are'}"
                for part in (self, other)
            )
            yield f"their features differ ({kinds}): teach one again with features like the other's"

    def scored(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return scores (n, N), and the margin (n,) of the best over the mean of all photos."""
        scores = self.answers.scorer(features)
        return scores[:, :-1], scores[:, :-1].max(1) - scores[:, -1]

    def stored(self) -> tuple[dict[str, Any], dict[str, dict[str, np.ndarray]]]:
        """Return what only a description of fixed features says, and the arrays of each part."""
        chosen, parts, why = ((1.0, 1.0),) * len(self.groups), {}, None
        if self.statistics:
            chosen, why = self.answers.chosen, too_little(self.statistics)
            if not self.choose:
                why = "choose=False"
            parts["record"] = self.statistics.arrays() | self.check.arrays()
            parts["scorer"] = describe(self.answers.scorer)[1]
        groups = tuple(
            FeatureGroup(size=size, weight=weight, shrinkage=shrinkage)
            for size, (weight, shrinkage) in zip(self.groups, chosen, strict=True)
        )
        about = {"square_roots": self.square_roots, "groups": groups, "not_chosen": why}
        return about, parts


@extras()
def features_graph_of(settings: ModelSettings) -> tuple[bytes, PhotoPreparation, tuple[int, ...]]:
    """Return the graph from photos to features of the backbone that settings name, tried on one
    photo, how it prepares photos, and the sizes of the groups of its features.
    """
    from memoryless.embed.graph import feature_groups, features_graph
    from memoryless.embed.session import Extractor, trial_photo

    check_fixed(settings)
    preparation = preparation_for(settings)
    make = backbone_graph
    if needs_torch(settings):
        from memoryless.train.backbones import backbone_graph as make
    backbone = make(settings, preparation.size)
    graph = features_graph(backbone, preparation)
    d = len(Extractor(graph).feature(trial_photo()))
    return graph, preparation, feature_groups(backbone) or (d,)


def _unlike(
    past: ClassStatistics, after: ClassStatistics, names: Sequence[str]
) -> dict[str, float]:
    """Return past classes whose new photos differ from the past ones by more than chance."""
    errors, chance = mean_shift(past, after), chance_shift(after)
    return {names[c]: float(errors[c]) for c in np.flatnonzero(errors > chance).tolist()}
