"""A model that learns classes state by state, scores images, and is rebuilt from its file alone.

Features are fixed (`fixed.py`), or trained in every state (`trained.py`). Only training, and making
a model over a backbone of torch, import torch.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import replace
from functools import wraps
from hashlib import sha256
from importlib.metadata import version
from itertools import combinations, islice
from pathlib import Path, PurePath
from threading import RLock
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar, cast

import numpy as np

from memoryless.errors import ConfigError, DataError, StoreError, extras
from memoryless.images.dataset import as_pixels
from memoryless.images.read import central_square, one_by_one, pixels_of, ready
from memoryless.model.classes import SAFE, Classes, model_name
from memoryless.model.database import PLACE
from memoryless.model.description import (
    HISTORY,
    PARTS,
    Backbone,
    Description,
    State,
    check_history,
    given_back,
    now,
)
from memoryless.model.file import Writer, load_state, writing
from memoryless.model.fixed import METHOD, FixedFeatures
from memoryless.model.labels import LabelType
from memoryless.model.lesson import Calibration, Lesson
from memoryless.model.trained import TrainedFeatures
from memoryless.names import choose, class_names, counted, first_ten
from memoryless.settings import ModelSettings
from memoryless.stats.confidence import LEAST_TO_CALIBRATE, Judgement, judge
from memoryless.strategies import filled
from memoryless.tensors import to_bytes
from memoryless.threads import ahead

if TYPE_CHECKING:
    from memoryless.embed.session import Extractor, SquareExtractor
    from memoryless.images import Images
    from memoryless.progress import TrainingProgress

CHUNK = 4096
"""Photos that are added to the sums at once. It is the same everywhere: sums of other chunks differ
in the last bits."""
P = ParamSpec("P")
R = TypeVar("R")


def one_at_a_time(method: Callable[Concatenate[Model, P], R]) -> Callable[Concatenate[Model, P], R]:
    """Let one thread at a time run a method of a model."""

    @wraps(method)
    def held(self: Model, *arguments: P.args, **settings: P.kwargs) -> R:
        with self._lock:
            return method(self, *arguments, **settings)

    return held


class Model:
    """A model that learns new classes, keeps no image of them, and scores images over all.

    By default features are fixed: those of a pretrained backbone. A method with another strategy
    than `fixed` trains a backbone. A `forgettable` model also keeps each class's own scatter, so
    that `forget` is exact. `settings` are fields of `ModelSettings`; what the method needs is
    switched on.
    """

    def __init__(
        self, method: str = METHOD, seed: int = 0, forgettable: bool = False, **settings: Any
    ):
        for name in settings:
            choose("setting", name, vars(ModelSettings()))
        if "strategy" in settings:
            raise ConfigError("the method names the strategy: leave out `strategy`")
        if type(seed) is not int or abs(seed) > SAFE:
            raise ConfigError(f"`seed={seed!r}` is no whole number of fewer than 16 digits")
        self.method, self.seed = method, seed
        self.fixed = method.partition("+")[0] == "fixed"
        if self.fixed and method != METHOD:
            raise ConfigError(f"over fixed features a model's method is {METHOD}, not {method}")
        if forgettable:
            self.check_sums("keep what forgetting a class exactly needs")
        self.forgettable = forgettable
        self.label_type: LabelType = "str"
        """Of which type labels were before they became names of classes."""
        self._given = ModelSettings(**settings)
        self._classes = Classes()
        self._features: FixedFeatures | TrainedFeatures | None = None
        self._extractor: Extractor | None = None
        self._squares: SquareExtractor | None = None
        self._saved: State | None = None
        self._done: tuple[str, ...] = ()
        """What was done since it was saved last."""
        self._traceable = False
        """Whether one photo could be computed from this state and the one that was saved last."""
        self._lock = RLock()

    def __getstate__(self) -> dict[str, Any]:
        """Return all but the lock, and sessions of onnxruntime, which are opened again."""
        return vars(self) | {"_lock": None, "_extractor": None, "_squares": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=RLock())

    @classmethod
    def load(
        cls, path: Path | str, number: int | None = None, parts: Sequence[str] = PARTS
    ) -> Model:
        """Return the model in a file, or an earlier state of it, every byte checked.

        Neither an image nor torch is needed. To predict, the parts features and scorer are enough.
        """
        return cls.of(load_state(path, number, parts))

    @classmethod
    def of(cls, state: State) -> Model:
        """Return the model of a state; what was not read of that is lacking."""
        about = state.description
        model = cls(about.method, about.seed, about.forgettable)
        model.label_type, model._classes = about.labels, state.classes
        model._saved = replace(state, graph=None, arrays={})  # the features have them
        model._features = (FixedFeatures if model.fixed else TrainedFeatures).of(state)
        return model

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes so far; scores have a column for each."""
        return self._classes.names

    @property
    def counts(self) -> tuple[int, ...]:
        """Photos of each class."""
        return self._classes.counts

    @property
    def class_state(self) -> tuple[int, ...]:
        """The state that brought each class."""
        return self._classes.first

    @property
    def settings(self) -> ModelSettings:
        """As they were given, and all of them once the backbone is made."""
        return self._features.settings if self._features else self._given

    @settings.setter
    def settings(self, settings: ModelSettings) -> None:
        if self._features:
            raise ConfigError("the backbone is made already: give settings to another model")
        self._given = settings

    def choose_device(self, device: str) -> None:
        """Compute elsewhere: auto, cpu, cuda or cuda:N."""
        self._current.device = device
        self._extractor = self._squares = None

    @property
    def _current(self) -> FixedFeatures | TrainedFeatures:
        """What the model knows; the backbone is made if it is not there yet."""
        if self._features is None and self.fixed:
            given = filled(replace(self._given, strategy="fixed"))
            self._features = FixedFeatures.first(given, self.forgettable)
        elif self._features is None:
            self._features = TrainedFeatures(self.method, self._given, self.seed)
        return self._features

    def open(self) -> None:
        """Make or load the backbone now; else the first image does."""
        own = self._current
        if self._extractor is None and own.graph is not None:
            from memoryless.embed.session import Extractor

            self._extractor = Extractor(own.graph, own.device)

    @property
    def least(self) -> int:
        """The shorter side that the pixels of a photo should at least have."""
        return self._current.least

    def sizes(self, d: int) -> tuple[int, ...]:
        """Return how many of d features of a photo each group has; one where all are alike."""
        own = self._current
        return own.sizes(d) if isinstance(own, FixedFeatures) else (d,)

    def look(self, photo: np.ndarray) -> np.ndarray:
        """Return what the model learns from a photo, uint8 (H, W, 3): its feature (d,), or, where
        features are trained, its central square.
        """
        return self.feature(photo) if self.fixed else central_square(photo, self.least)

    def feature(self, photo: np.ndarray) -> np.ndarray:
        """Return the feature (d,) of a photo, uint8 (H, W, 3)."""
        assert self.least  # raises where the model takes no photos
        if isinstance(self._current, TrainedFeatures):
            self._current.check_channels(photo.shape[2])
        self.open()
        assert self._extractor is not None
        return self._extractor.feature(photo)

    def features(self, images: np.ndarray | Iterable[Any] | Images) -> np.ndarray:
        """Return features (n, d) of images, of whatever `learn` takes; features are given back."""
        _check_images(images)
        own, given = self._current, cast(Any, images)
        if isinstance(own, TrainedFeatures) and not _are_features(given) and not one_by_one(given):
            return self._features_of_squares(own, given)
        rows = [*self._chunks(given)]
        d = own.d if isinstance(own, FixedFeatures) else None
        features = np.concatenate(rows) if rows else np.zeros((0, d or 0))
        if isinstance(own, FixedFeatures):
            own.check_features(features)
        return features

    def _chunks(self, images: Any) -> Iterator[np.ndarray]:
        """Yield the features of images, `CHUNK` rows at a time."""
        if _are_features(images):
            yield from (images[i : i + CHUNK] for i in range(0, len(images), CHUNK))
            return
        self.open()
        own = self._current
        rows = ahead(lambda one: self.feature(pixels_of(one, own.least)), ready(images))
        while chunk := list(islice(rows, CHUNK)):
            yield np.stack(chunk)

    def _features_of_squares(self, own: TrainedFeatures, images: Any) -> np.ndarray:
        """Return features of square images of one size, as training sees them."""
        from memoryless.embed.session import SquareExtractor

        if hasattr(images, "read"):
            images = images.read(np.arange(len(images)))
        pixels = as_pixels(images, len(images))
        own.check_channels(pixels.shape[1])
        if self._squares is None:
            assert own.graph is not None
            self._squares = SquareExtractor(own.graph, own.preparation, own.device)
        return self._squares.features(pixels)

    @one_at_a_time
    def learn(
        self,
        images: np.ndarray | Iterable[np.ndarray] | Images,
        labels: Iterable[str],
        report: Callable[[TrainingProgress], None] = lambda progress: None,
        more: bool = False,
        check: Literal["always", "due"] = "always",
    ) -> Lesson:
        """Learn the classes that the labels name, one string an image.

        With `more`, some may be known already: the model is then as if all their images had come at
        once. Images are paths, Pillow images or arrays of pixels, uint8, of any sizes; one array
        (n, H, W), (n, C, H, W) or (n, H, W, C); or what `look` gave. If anything fails, the model
        is as it was before.

        Over fixed features leave-one-out checks the images of a call; with `check="due"` only where
        those since the last check are more than a tenth of all.
        """
        names = self._checked(labels, new=not more)
        _check_images(images)
        if isinstance(images, Sized):
            _check_number(len(images), names)
        own = self._current
        chunks: Iterable[tuple[Any, Sequence[str]]]
        if isinstance(own, TrainedFeatures):
            chunks = [(images, names)]
        else:
            chunks = _labelled(self._chunks(images), names)
            if own.due(len(names)):
                check = "always"
        return self.learn_chunks(chunks, names, None, report, more, check == "always")

    @one_at_a_time
    @extras()
    def learn_chunks(
        self,
        chunks: Iterable[tuple[Any, Sequence[str]]],
        names: Collection[str],
        alike: Callable[[], np.ndarray] | None = None,
        report: Callable[[TrainingProgress], None] = lambda progress: None,
        more: bool = False,
        check: bool = True,
    ) -> Lesson:
        """Learn chunks of what `look` gives, each with the names of its classes.

        `names` has every class that comes. Once all have come, `alike` gives a number for each
        image: images of a class with the same number are left out or held out together. Where
        features are fixed, no chunk is needed once the next one is asked for.
        """
        if more:
            self.check_sums("add images to known classes")
        self._checked(names, new=not more)
        index = {name: i for i, name in enumerate(self.classes)}
        for name in sorted({*names} - index.keys()):
            index[name] = len(index)
        own, count = self._current, Counter[str]()
        few = _FewPhotos(len(self.classes), self.forgettable)

        def numbered() -> Iterator[tuple[Any, np.ndarray]]:
            for images, labels in chunks:
                count.update(labels)
                numbers = np.array([index[name] for name in labels], dtype=np.int64)
                if self.fixed:
                    few.add(images, numbers)
                yield images, numbers

        if isinstance(own, TrainedFeatures):
            self._features, lesson = own.learn(numbered(), [*index], alike, report)
            self._extractor = self._squares = None  # of the network as it was
        else:
            brought = np.array(sorted(index[name] for name in {*names}))
            self._features, lesson = own.learn(numbered(), [*index], brought, alike, check)
            self._traceable |= few.traceable
        self._classes = self._classes.learn(dict(sorted(count.items())), now())
        self._done = (*self._done, "learn")
        return lesson

    def judge(self, images: np.ndarray | Iterable[np.ndarray] | Images) -> Judgement:
        """Return scores, probabilities, and whether any class fits, of images, of what `look` gave,
        or of features.
        """
        self.check_taught()
        features, own = self.features(images), self._current
        confidence = own.confidence
        return judge(*own.scored(features), confidence)

    def scores(self, images: np.ndarray | Iterable[np.ndarray] | Images) -> np.ndarray:
        """Return scores (n, classes), the larger the likelier."""
        return self.judge(images).scores

    def predict(self, images: np.ndarray | Iterable[np.ndarray] | Images) -> list[str]:
        """Return the likeliest class of each image."""
        return [self.classes[i] for i in self.scores(images).argmax(1)]

    @one_at_a_time
    def calibrate(
        self,
        images: np.ndarray | Iterable[np.ndarray] | Images,
        labels: Iterable[str],
        unknown: np.ndarray | Iterable[np.ndarray] | Images | None = None,
    ) -> Calibration:
        """Fit temperature and threshold on images that were not learned, one label an image.

        Images of classes that the model does not know are left out. The threshold then lets 95 %
        of the others pass; with images of `unknown` things it is the one that tells the two best
        apart. Scores stay as they are. Later states keep what was fitted, in units of the spread
        of their scores, until images are given again.
        """
        self.check_taught()
        if len(self.classes) == 1:
            raise ConfigError("a model of one class has nothing to calibrate: learn another first")
        names = self._checked(labels, new=False)
        rows = self.features(images)
        _check_number(len(rows), names)
        index = {name: i for i, name in enumerate(self.classes)}
        own = np.array([index.get(name, -1) for name in names])
        strange = rows[:0] if unknown is None else self.features(unknown)
        _check_enough(int((own >= 0).sum()), "classes that the model knows")
        if unknown is not None:
            _check_enough(len(strange), "unknown things")
        before = self._current.confidence
        self._features = self._current.calibrate(rows[own >= 0], own[own >= 0], strange)
        self._done = (*self._done, "calibrate")
        return Calibration(
            photos=int((own >= 0).sum()),
            unknown=len(strange),
            left_out=dict(sorted(Counter(name for name in names if name not in index).items())),
            before=before,
            after=self._features.confidence,
        )

    @property
    def calibrated(self) -> bool:
        """Whether temperature and threshold are those that `calibrate` fitted."""
        return self._current.calibrated is not None

    @one_at_a_time
    def forget(self, *names: str) -> dict[str, float]:
        """Forget classes; gives the weight that each had in the covariance that classes share.

        A forgettable model is then as if they had never been. In others their spread stays in that
        covariance with its weight, or with less, if classes were forgotten before; it may still
        tell which photos were used. A model that forgets its last class is as new. Once the model
        is saved, no state before it is kept there.
        """
        own = self._learned("forget a class")
        if not names:
            raise ConfigError("name the classes to forget, one or more")
        index = {name: i for i, name in enumerate(self.classes)}
        gone = np.zeros(len(index), dtype=bool)
        for name in names:
            gone[choose("class", name, index)] = True
        counts = np.array(self.counts, dtype=np.float64)
        self._features, self._classes = own.forget(gone), self._classes.forget(names)
        self._done = (*self._done, "forget")
        weights = counts / counts.sum()
        return {name: float(weights[index[name]]) for name in names}

    @classmethod
    def merge(
        cls, models: Mapping[str, Model], same_class: Literal["refuse", "join"] = "refuse"
    ) -> Model:
        """Return one model of several, by name or path, over the same features: as if it had
        learned everything.

        Classes of the same name are refused, or joined into one.
        """
        if len(models) < 2:
            raise ConfigError(f"name two models or more to merge, not {len(models)}")
        each = {path: model._learned("be merged", path) for path, model in models.items()}
        _check_alike(each)
        _check_counted_once(models)
        if same_class != "join":
            _check_distinct(models)
        whole = copy.copy(next(iter(models.values())))
        whole._saved, whole._done, whole._traceable = None, ("merge",), False
        whole._classes = Classes()
        parts = []
        for path, model in models.items():
            whole._classes = whole._classes.merge(model._classes, model_name(path))
            index = {name: i for i, name in enumerate(whole.classes)}
            parts.append((each[path], np.array([index[name] for name in model.classes])))
        whole._features = FixedFeatures.merge(parts)
        whole.forgettable = whole._features.forgettable
        types = {model.label_type for model in models.values()}
        whole.label_type = types.pop() if len(types) == 1 else "str"
        return whole

    def follow(self, saved: State, merged: State) -> None:
        """Stand after a saved state, into which another was merged. What was added is the other
        one's sums, which give photos away if that did.
        """
        self._saved = saved
        self._traceable = bool(given_back(merged.description, merged.classes.counts))

    @one_at_a_time
    def rename(self, names: Mapping[str, str]) -> None:
        """Give classes other names; their columns stay."""
        self.check_taught()
        known = dict.fromkeys(self.classes)
        for name in names:
            choose("class", name, known)
        renamed = self._checked((names.get(name, name) for name in self.classes), new=False)
        if twice := [name for name, number in Counter(renamed).items() if number > 1]:
            raise DataError(f"{first_ten(twice)} would name two classes: choose another name")
        self._classes = self._classes.rename(names)
        self._done = (*self._done, "rename")

    @property
    def keeps_history(self) -> bool:
        """Whether the states before this one are kept when it is saved."""
        return not (self._traceable or "forget" in self._done or self._hides_photos())

    def _hides_photos(self) -> bool:
        """Return whether features of photos follow from the state saved last, not from this."""
        if self._saved is None:
            return False
        about, before = self._saved.description, self._saved.classes.counts
        return not {*given_back(about, before)} <= {*given_back(about, self.counts)}

    @one_at_a_time
    def save(self, path: Path | str, history: int | None = None) -> None:
        """Write the model; what was saved there before is replaced at once or not at all.

        Only a file that is new, or that holds what this model was loaded from or saved as, is
        written to. The last states before this one, `history` of them, are kept; as many as before
        where it is not given, and 5 at first. None is kept after `forget`, nor where the feature
        of a photo follows from two states, or from an earlier one and not from this.
        """
        with writing(path, ()) as writer:
            before = writer.before
            if before and (self._saved is None or before.digest != self._saved.digest):
                raise StoreError(
                    f"{writer.path} holds another model, or this one as changed since it was "
                    f"loaded: choose another {PLACE}, or load that one"
                )
            self.save_in(writer, history)

    def save_in(self, writer: Writer, history: int | None = None) -> State:
        """Write the model into a file that is held since before the model was loaded."""
        about, contents = self._stored(history)
        done = ", ".join(dict.fromkeys(self._done)) or "save"
        self._saved = writer.save(done, about, self._classes, contents, not self.keeps_history)
        self._done, self._traceable = (), False
        return self._saved

    def _stored(self, history: int | None) -> tuple[Description, dict[str, bytes]]:
        """Return what stands in a file: the description, and the bytes of each part."""
        own = self._current
        facts, parts = own.stored()
        contents = {name: to_bytes(arrays) for name, arrays in parts.items()}
        if own.graph:
            contents["features"], digest = own.graph, sha256(own.graph).hexdigest()
            backbone = Backbone(name=own.settings.backbone, sha256=digest)
            facts |= {"backbone": backbone, "preparation": own.preparation}
        if parts:
            sizes = {name: array.nbytes for name, array in parts["record"].items()}
            facts |= {"record": sizes, "confidence": own.confidence, "calibrated": own.calibrated}
        before = self._saved.description if self._saved else None
        if history is None:
            history = before.history if before else HISTORY
        forgotten = before.forgotten if before else None
        about = Description(
            memoryless=version("memoryless"),
            method=self.method,
            seed=self.seed,
            labels=self.label_type,
            history=check_history(history),
            learned=self._classes.learned,
            forgotten=now() if "forget" in self._done else forgotten,
            forgettable=self.forgettable,
            **facts,
        )
        return about, contents

    def check_sums(self, what: str, who: str = "it") -> None:
        """Raise unless everything that is kept is a sum over images."""
        if not self.fixed:
            raise ConfigError(
                f"{self.method} trains its backbone, and a network is no sum over images: {who} "
                f"cannot {what}; only models with fixed features can"
            )

    def _learned(self, what: str, who: str = "it") -> FixedFeatures:
        """Return what a model over fixed features knows, if it has learned something."""
        self.check_sums(what, who)
        self.check_taught()
        own = self._current
        assert isinstance(own, FixedFeatures)
        return own

    def check_taught(self) -> None:
        """Raise unless the model knows a class."""
        if not self.classes:
            raise ConfigError("the model knows no class yet: let it learn some first")

    def _checked(self, labels: Iterable[str], new: bool = True) -> list[str]:
        names = list(labels) if isinstance(labels, Iterable) else [labels]
        if odd := [repr(name) for name in names if not isinstance(name, str)]:
            raise DataError(f"labels must be names, one string an image, not {first_ten(odd)}")
        names = [str(name) for name in names]  # NumPy's strings have a type of their own
        class_names(names)  # raises if one cannot name a class
        past = sorted({*names} & {*self.classes}) if new else []
        if past:
            raise DataError(
                f"{first_ten(past)} was learned before: add `more=True` to add images to it, or "
                "give them another name"
            )
        return names


class _FewPhotos:
    """A note whether features of photos follow from the sums before and after a call.

    Of known classes the sums tell the mean of the photos that came. Of one photo that is its
    feature; of two, their scatter tells both, where it is kept for each class or nothing else is in
    that of all.
    """

    def __init__(self, known: int, forgettable: bool):
        self.known, self.most = known, 2 if forgettable else 1
        self.different: dict[int, set[int]] = {}
        """Hashes of features of each class of the call that differ, three at most."""

    def add(self, features: np.ndarray, labels: np.ndarray) -> None:
        enough = [label for label, rows in self.different.items() if len(rows) > 2]
        for i in np.flatnonzero(~np.isin(labels, enough)):
            rows = self.different.setdefault(int(labels[i]), set())
            if len(rows) < 3:
                rows.add(hash((features[i] + 0.0).tobytes()))  # -0.0 becomes 0.0

    @property
    def traceable(self) -> bool:
        number = {c: len(rows) for c, rows in self.different.items()}
        added = any(count <= self.most for c, count in number.items() if c < self.known)
        return added or sum(count - 1 for count in number.values()) == 1


def _are_features(images: Any) -> bool:
    return isinstance(images, np.ndarray) and images.ndim == 2 and images.dtype.kind == "f"


def _labelled(
    chunks: Iterable[np.ndarray], names: Sequence[str]
) -> Iterator[tuple[np.ndarray, Sequence[str]]]:
    """Yield chunks with their part of the names; raise at the end if there were more or fewer."""
    start = 0
    for rows in chunks:
        if start + len(rows) <= len(names):
            yield rows, names[start : start + len(rows)]
        start += len(rows)
    _check_number(start, names)


def _check_number(images: int, names: Sequence[str]) -> None:
    if images != len(names) or not names:
        raise DataError(f"there are {images} images and {len(names)} labels: give each one")


def _check_enough(photos: int, what: str) -> None:
    if photos < LEAST_TO_CALIBRATE:
        raise DataError(
            f"calibrating takes {LEAST_TO_CALIBRATE} photos or more of {what}, not {photos}: add "
            "some"
        )


def _check_images(images: Any) -> None:
    """Raise if images are none, or only one."""
    if isinstance(images, str | PurePath) or not isinstance(images, Iterable | Sized):
        raise DataError(
            f"images must be several, in a list of paths or of arrays of pixels, not {images!r}"
        )
    shape = tuple(getattr(images, "shape", ()))
    if hasattr(images, "dtype") and len(shape) == 3 and shape[2] in (1, 3):
        raise DataError(f"an array of the shape {shape} is one image, not several: give [image]")


def _check_alike(each: Mapping[str, FixedFeatures]) -> None:
    """Raise unless all have features that compare."""
    (first, own), *others = each.items()
    for path, other in others:
        for why in own.differences(other):
            raise ConfigError(f"{first} and {path} cannot be merged, because {why}")


def _check_counted_once(models: Mapping[str, Model]) -> None:
    """Raise if two models learned the same photos: one is a copy of the other, or contains it."""
    marks = {path: _marks(model) for path, model in models.items()}
    for one, two in combinations(marks, 2):
        if both := [name for mark, name in marks[one].items() if mark in marks[two]]:
            raise DataError(
                f"{one} and {two} have learned the same photos of {first_ten(both)}, which would "
                "count twice: leave out one of the two, or forget these classes in it"
            )


def _marks(model: Model) -> dict[tuple[Any, ...], str]:
    """Return the name of each class by what tells its photos from others; names may change."""
    dates = [model._classes.learned[first].date for first in model.class_state]
    statistics = model._learned("be merged").sums
    # Nothing tells constant features of one model from those of another.
    if statistics.first.alike(statistics.count):
        return {}
    rows = zip(model.classes, dates, model.counts, statistics.mean, strict=True)
    return {(date, count, mean.tobytes()): name for name, date, count, mean in rows}


def _check_distinct(models: Mapping[str, Model]) -> None:
    seen: dict[str, list[str]] = {}
    for path, model in models.items():
        for name, count in zip(model.classes, model.counts, strict=True):
            seen.setdefault(name, []).append(f"{counted(count, 'photo', 'photos')} in {path}")
    twice = [f"{name} ({', '.join(where)})" for name, where in seen.items() if len(where) > 1]
    if twice:
        raise DataError(
            f"several models know {first_ten(twice)}: add `same_class=join` if that is the same "
            "class, or else rename it in one by memoryless rename"
        )
