"""A model that learns classes state by state and is rebuilt from its file alone.

Features are fixed (`fixed.py`), or trained in every state (`trained.py`). Only training, and making
a model over a backbone of torch, import torch.
"""

from __future__ import annotations

import copy
import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set, Sized
from dataclasses import replace
from functools import wraps
from hashlib import sha256
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Concatenate, Literal, ParamSpec, TypeVar

import numpy as np

from memoryless.embed import check_image_size
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
from memoryless.model.evaluation import Evaluation
from memoryless.model.file import Writer, load_state, writing
from memoryless.model.fixed import METHOD, FixedFeatures
from memoryless.model.inputs import (
    FewPhotos,
    Repeats,
    are_features,
    check_number,
    labelled,
    several,
)
from memoryless.model.labels import LabelType
from memoryless.model.merging import check_alike, check_counted_once, check_distinct, named
from memoryless.model.report import Calibration, LearningReport
from memoryless.model.trained import TrainedFeatures
from memoryless.names import choose, class_names, counted, first_ten
from memoryless.settings import ModelSettings
from memoryless.stats.confidence import LEAST_TO_CALIBRATE, Prediction, classify
from memoryless.strategies import filled
from memoryless.tensors import to_bytes
from memoryless.threads import ahead

if TYPE_CHECKING:
    from memoryless.embed.session import Extractor, SquareExtractor
    from memoryless.progress import TrainingProgress

log = logging.getLogger("memoryless")
CHUNK = 4096
"""Photos that are added to the sums at once. It is the same everywhere: sums of other chunks differ
in the last bits."""
P = ParamSpec("P")
R = TypeVar("R")


def one_at_a_time(method: Callable[Concatenate[Model, P], R]) -> Callable[Concatenate[Model, P], R]:
    """Let one thread at a time run a method of a model."""

    @wraps(method)
    def held(self: Model, /, *arguments: P.args, **settings: P.kwargs) -> R:
        with self._lock:
            return method(self, *arguments, **settings)

    return held


class Model:
    """A model that learns new classes and keeps no image of them.

    Parameters
    ----------
    method
        What learns; by default a linear discriminant over the fixed features of a pretrained
        backbone. Methods with another strategy than `fixed` train the backbone.
    seed
        Seed of all random draws.
    forgettable
        Whether to keep each class's own scatter too, so that `forget` is exact.
    settings
        Fields of `ModelSettings`, such as `backbone`, `image_size` and `device`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(60, 4)) + 5 * np.eye(4).repeat(15, 0)
    >>> model = Model(backbone="none")
    >>> report = model.learn(X[:30], ["cat"] * 15 + ["dog"] * 15)
    >>> report = model.learn(X[30:], ["owl"] * 15 + ["wren"] * 15)
    >>> model
    <Model: 4 classes, 60 photos, fixed+lda over none>
    >>> model.predict(X[[0, 20, 40, 59]])
    ['cat', 'dog', 'owl', 'wren']
    >>> model.evaluate(X, ["cat"] * 15 + ["dog"] * 15 + ["owl"] * 15 + ["wren"] * 15).top1
    1.0
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
        self.choose_groups = True
        """Whether weights and shrinkages of feature groups are chosen whenever the sums change."""
        self.label_type: LabelType = "str"
        """Of which type labels were before they became names of classes."""
        self._given = ModelSettings(**settings)
        check_image_size(self._given)
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

    def __repr__(self) -> str:
        own = self._features.settings if self._features else self._given
        over = f"{self.method} over {own.backbone}" if own.backbone else self.method
        classes, photos = counted(len(self.classes), "class", "classes"), sum(self.counts)
        return f"<Model: {classes}, {counted(photos, 'photo', 'photos')}, {over}>"

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
        """Class statistics and backbone; the backbone is made if it is not there yet."""
        if self._features is None and self.fixed:
            given = filled(replace(self._given, strategy="fixed"))
            first = FixedFeatures.first(given, self.forgettable)
            self._features = replace(first, choose=self.choose_groups)
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
    def min_side(self) -> int:
        """The shorter side that the pixels of a photo should at least have."""
        return self._current.min_side

    @property
    def feature_groups(self) -> tuple[int, ...]:
        """Sizes of the groups of features, as far as they are known."""
        own = self._current
        return own.groups if isinstance(own, FixedFeatures) else ()

    def learning_input(self, photo: np.ndarray) -> np.ndarray:
        """Return what the model learns from a photo, uint8 (H, W, 3): its feature (d,), or, where
        features are trained, its central square.
        """
        return self.embed_photo(photo) if self.fixed else central_square(photo, self.min_side)

    def embed_photo(self, photo: np.ndarray) -> np.ndarray:
        """Return the feature (d,) of a photo, uint8 (H, W, 3)."""
        assert self.min_side  # raises where the model takes no photos
        if isinstance(self._current, TrainedFeatures):
            self._current.check_channels(photo.shape[2])
        self.open()
        assert self._extractor is not None
        return self._extractor.feature(photo)

    def embed(self, images: Any) -> np.ndarray:
        """Return features (n, d) of images, as `learn` takes them; features are returned as is."""
        given = several(images)
        own = self._current
        if isinstance(own, TrainedFeatures) and not are_features(given) and not one_by_one(given):
            return self._features_of_squares(own, given)
        rows = [*self._chunks(given)]
        d = own.d if isinstance(own, FixedFeatures) else None
        features = np.concatenate(rows) if rows else np.zeros((0, d or 0))
        if isinstance(own, FixedFeatures):
            own.check_features(features)
        return features

    def _chunks(self, images: Any) -> Iterator[np.ndarray]:
        """Yield the features of images, `CHUNK` rows at a time."""
        if are_features(images):
            yield from (images[i : i + CHUNK] for i in range(0, len(images), CHUNK))
            return
        self.open()
        own = self._current
        rows = ahead(lambda one: self.embed_photo(pixels_of(one, own.min_side)), ready(images))
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
        images: Any,
        labels: Iterable[str],
        progress: Callable[[TrainingProgress], None] = lambda done: None,
        more: bool = False,
        check: Literal["always", "due"] = "always",
    ) -> LearningReport:
        """Learn classes from labelled images; if anything fails, the model stays as it was.

        Parameters
        ----------
        images
            Paths, Pillow images or arrays of pixels, uint8, of any sizes, in a list or a pandas
            column; one array (n, H, W), (n, C, H, W) or (n, H, W, C); or features (n, d).
        labels
            The name of each image's class.
        progress
            Receives the progress of training, where the backbone is trained.
        more
            Whether classes may be known; the model then equals one that got all their images at
            once.
        check
            With "due", images are scored by leave-one-out only if those since the last check are
            more than a tenth of all.

        Returns
        -------
        LearningReport
            Accuracy by leave-one-out, confused classes and suspicious labels.
        """
        names = self._checked(labels, new=not more)
        images = several(images)
        if isinstance(images, Sized):
            check_number(len(images), names)
        own = self._current
        if isinstance(own, TrainedFeatures):
            return self.learn_chunks([(images, names)], names, None, progress, more)
        checked, repeats = check == "always" or own.due(len(names)), Repeats()
        chunks = labelled(map(repeats.noted, self._chunks(images)), names)
        return self.learn_chunks(chunks, names, repeats.groups, progress, more, checked)

    @one_at_a_time
    @extras()
    def learn_chunks(
        self,
        chunks: Iterable[tuple[Any, Sequence[str]]],
        names: Collection[str],
        alike: Callable[[], np.ndarray] | None = None,
        progress: Callable[[TrainingProgress], None] = lambda done: None,
        more: bool = False,
        check: bool = True,
    ) -> LearningReport:
        """Learn chunks of what `learning_input` gives, each with the names of its classes.

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
        few = FewPhotos(len(self.classes), self.forgettable)

        def numbered() -> Iterator[tuple[Any, np.ndarray]]:
            for images, labels in chunks:
                count.update(labels)
                numbers = np.array([index[name] for name in labels], dtype=np.int64)
                if self.fixed:
                    few.add(images, numbers)
                yield images, numbers

        if isinstance(own, TrainedFeatures):
            self._features, report = own.learn(numbered(), [*index], alike, progress)
            self._extractor = self._squares = None  # of the network as it was
        else:
            brought = np.array(sorted(index[name] for name in {*names}))
            self._features, report = own.learn(numbered(), [*index], brought, alike, check)
            self._traceable |= few.traceable
        self._classes = self._classes.learn(dict(sorted(count.items())), now())
        self._done = (*self._done, "learn")
        log.info("learned %d photos of %d classes", sum(count.values()), len(count))
        return report

    def classify(self, images: Any) -> Prediction:
        """Return scores, probabilities and margins of images, all from one reading of them."""
        self.check_taught()
        features, own = self.embed(images), self._current
        confidence = own.confidence
        return classify(*own.scored(features), confidence)

    def decision_function(self, images: Any) -> np.ndarray:
        """Return scores (n, classes), the larger the likelier."""
        return self.classify(images).scores

    def predict_proba(self, images: Any) -> np.ndarray:
        """Return probabilities (n, classes)."""
        return self.classify(images).probabilities

    def predict(self, images: Any) -> list[str]:
        """Return the likeliest class of each image."""
        return [self.classes[i] for i in self.decision_function(images).argmax(1)]

    def evaluate(
        self, images: Any, labels: Iterable[str], unknown: Any = None, calibrate: bool = False
    ) -> Evaluation:
        """Classify images and compare the answers with their labels.

        Parameters
        ----------
        images
            Images of any form that `learn` takes.
        labels
            The name of each image's class.
        unknown
            Images of things that the model does not know.
        calibrate
            Whether to calibrate the model on all of these images first.

        Returns
        -------
        Evaluation
            Accuracies and errors as shares from 0 to 1, by class and state, and the mistakes.
        """
        self.check_taught()
        names = self._checked(labels, new=False)
        self.check_known({*names})
        rows = self.embed(images)
        check_number(len(rows), names)
        strange = rows[:0] if unknown is None else self.embed(unknown)
        fitted = None
        if calibrate:
            fitted = self.calibrate(rows, names, None if unknown is None else strange)
        found = self.classify(np.concatenate([rows, strange]))
        each = [*names, *[None] * len(strange)]
        return Evaluation.of(self.classes, self.class_state, each, found, fitted)

    @one_at_a_time
    def calibrate(
        self,
        images: Any,
        labels: Iterable[str],
        unknown: Any = None,
    ) -> Calibration:
        """Fit temperature and threshold on images that were not learned, one label an image.

        Images of classes that the model does not know are left out. The threshold then accepts
        95 % of the others; with images of `unknown` things it separates the two best. Scores stay
        as they are. Later states keep temperature and threshold, in units of the spread of their
        scores, until images are given again.
        """
        self.check_taught()
        if len(self.classes) == 1:
            raise ConfigError("a model of one class has nothing to calibrate: learn another first")
        names = self._checked(labels, new=False)
        rows = self.embed(images)
        check_number(len(rows), names)
        index = {name: i for i, name in enumerate(self.classes)}
        own = np.array([index.get(name, -1) for name in names])
        strange = rows[:0] if unknown is None else self.embed(unknown)
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
        """Whether `calibrate` fitted temperature and threshold."""
        return self._current.calibrated is not None

    @one_at_a_time
    def forget(self, *names: str) -> dict[str, float]:
        """Forget classes; return the weight that each had in the covariance that classes share.

        A forgettable model then equals one that never learned them. In other models their scatter
        stays in the shared covariance, with this weight or less, and may reveal which photos were
        used. Saving the model then deletes all states before.
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
        log.info("forgot %s", first_ten(names))
        weights = counts / counts.sum()
        return {name: float(weights[index[name]]) for name in names}

    @classmethod
    def merge(
        cls, *parts: Model | Mapping[str, Model], same_class: Literal["refuse", "join"] = "refuse"
    ) -> Model:
        """Return one model that has learned everything that several have, over the same features.

        They come one after another, or as a dict from names, which errors then mention. Classes of
        the same name are refused, or joined into one.
        """
        models = named(parts)
        if len(models) < 2:
            raise ConfigError(f"name two models or more to merge, not {len(models)}")
        each = {path: model._learned("be merged", path) for path, model in models.items()}
        check_alike(each)
        check_counted_once(models)
        if same_class != "join":
            check_distinct(models)
        whole = copy.copy(next(iter(models.values())))
        whole._saved, whole._done, whole._traceable = None, ("merge",), False
        whole._classes = Classes()
        found = []
        for path, model in models.items():
            whole._classes = whole._classes.merge(model._classes, model_name(path))
            index = {name: i for i, name in enumerate(whole.classes)}
            found.append((each[path], np.array([index[name] for name in model.classes])))
        whole._features = FixedFeatures.merge(found)
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
        where it is not given, and 2 at first. None is kept after `forget`, nor where the feature
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
        log.info("saved state %d in %s", self._saved.number, self._saved.path)
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

    def check_known(self, names: Set[str]) -> None:
        """Raise unless the model knows one of these classes."""
        if not names & {*self.classes}:
            raise DataError(
                f"the model knows none of these classes ({first_ten(sorted(names))}): it knows "
                f"{first_ten(self.classes)}",
                classes=sorted(names),
            )

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


def _check_enough(photos: int, what: str) -> None:
    if photos < LEAST_TO_CALIBRATE:
        raise DataError(
            f"calibrating takes {LEAST_TO_CALIBRATE} photos or more of {what}, not {photos}: add "
            "some"
        )
