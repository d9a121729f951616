"""A model with scikit-learn's manners: it learns batch by batch, classes may appear at any time,
and no sample is kept.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any, Literal, Self

import numpy as np

from memoryless.errors import ConfigError, DataError, extras
from memoryless.images.read import pixels_of, ready
from memoryless.labels import check_among, labels_of, listed, names_of
from memoryless.model import Lesson, Model
from memoryless.names import first_ten
from memoryless.stats.confidence import Judgement
from memoryless.threads import ahead

with extras():
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.metrics import accuracy_score
    from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

FLOATS = [np.float64, np.float32]
"""The first is what other numbers become."""
PREPARED = ("crop", "mean", "std")
"""Settings of a model that say how images are prepared."""


class IncrementalClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that learns batch by batch; any split into batches gives the same classes.

    Parameters
    ----------
    backbone
        What gives the features of images: a name, onnx:FILE or timm:NAME. With "none", X holds
        features of any kind, (n, d).
    image_size
        Side in pixels of what the backbone sees, 224 by default.
    square_roots
        Whether square roots of features at length one are learned, as those of images always are:
        for features of your own that are at least zero.
    forgettable
        Whether each class's own scatter is kept too, so that it can be forgotten exactly.
    device
        Where onnxruntime computes features: auto, cpu, cuda or cuda:N.
    settings
        Other settings of the backbone by name, such as crop, mean and std.

    `model_` is the `memoryless.Model`, `lesson_` what held-out samples of the last batch told.
    """

    def __init__(
        self,
        backbone: str = "efficientnet-lite0",
        *,
        image_size: int | None = None,
        square_roots: bool = False,
        forgettable: bool = False,
        device: str = "auto",
        settings: Mapping[str, Any] | None = None,
    ):
        self.backbone = backbone
        self.image_size = image_size
        self.square_roots = square_roots
        self.forgettable = forgettable
        self.device = device
        self.settings = settings

    @property
    def classes_(self) -> np.ndarray:
        """The labels so far, sorted; columns follow them."""
        return np.sort(self._labels)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from scratch. `y` may be left out where X is a data set of pairs."""
        return self._learn(self._new(), X, y)

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None) -> Self:
        """Learn one more batch, of known and of new classes, as if all had come at once.

        Labels outside of `classes` are an error. Only classes that were seen have columns.
        """
        return self._learn(self._model(), X, y, classes)

    def more(self, X: Any, y: Any = None) -> Self:
        """Learn more of known classes; warns of those whose new samples look unlike the past."""
        check_is_fitted(self)
        self._learn(self.model_, X, y, self.classes_, "call partial_fit, which takes any")
        unlike = [f"{name} ({errors:.1f})" for name, errors in self.lesson_.unlike.items()]
        if unlike:
            _warn(
                f"new samples of {first_ten(unlike)} look unlike those before (in brackets by how "
                "many standard errors their means differ, where chance gives about 1): if they are "
                "of another kind, give them a label of their own"
            )
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest label (n,) of each sample."""
        return self.top_k(X, 1)[:, 0]

    def top_k(self, X: Any, k: int = 5) -> np.ndarray:
        """The k likeliest labels (n, k) of each sample, the likeliest first."""
        if not isinstance(k, int | np.integer) or k < 1:
            raise DataError(f"k must be a whole number of at least 1, not {k!r}: give another")
        return self._best(self._judge(X), k)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities (n, N), columns as in `classes_`."""
        return self._judge(X).probabilities[:, self._order]

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores (n, N); of two classes what the second scores above the first, (n,)."""
        scores = self._judge(X).scores[:, self._order]
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def known(self, X: Any) -> np.ndarray:
        """Whether any class fits each sample, (n,)."""
        return self._judge(X).known

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """The share of samples that get their own label."""
        check_is_fitted(self)
        features, y = self._read(self.model_, X, y)
        answers = self._best(self.model_.judge(features), 1)[:, 0]
        return float(accuracy_score(y, answers, sample_weight=sample_weight))

    def forget(self, *labels: Any) -> dict[Any, float]:
        """Forget classes; gives the weight that each had in the covariance that classes share.

        If the estimator is forgettable, it is then as if they had never been.
        """
        check_is_fitted(self)
        names, _ = names_of(listed(labels), self.model_.label_type)
        weights = self.model_.forget(*names)
        return {label: weights[name] for label, name in zip(labels, names, strict=True)}

    @classmethod
    def merge(
        cls, parts: Mapping[str, Self], same_class: Literal["refuse", "join"] = "refuse"
    ) -> Self:
        """One estimator of several, by name: as if it had learned everything.

        Labels that several have are refused, or, with `same_class="join"`, are one class.
        """
        models = _models(parts)
        if len(kinds := {model.label_type for model in models.values()}) > 1:
            raise DataError(f"labels are of the types {', '.join(sorted(kinds))}: choose one")
        if same_class != "join":
            _check_distinct(models)
        merged = Model.merge(models, same_class)
        whole = copy.copy(next(iter(parts.values())))
        whole.model_, whole.forgettable = merged, merged.forgettable
        return whole

    def learn_folder(self, folder: Path | str, more: bool = False, few: bool = False) -> Self:
        """Learn photos, a folder for each class, or a table, list or zip, as `memoryless learn`.

        With `more`, classes may be known. What there is to say of the photos becomes warnings.
        """
        from memoryless.photos.learn import learn_photos
        from memoryless.photos.plan import make_plan

        if self.backbone == "none":
            raise ConfigError("`backbone=none` takes features, not photos: choose a backbone")
        model = self._model()
        plan = make_plan(model, [Path(folder)], few, more=more)
        labels_of(sorted({str(photo.label) for photo in plan.photos}), model.label_type)
        done = learn_photos(plan)
        lost = [f"{name} ({why})" for name, why in done.broken.items()]
        left_out = [f"left out {first_ten(lost)}"] if lost else []
        for sentence in (*plan.warnings, *done.warnings, *left_out):
            _warn(sentence)
        self.model_, self.lesson_ = plan.model, done.lesson
        return self

    def save(self, path: Path | str, history: int | None = None) -> None:
        """Write the model into a file, or one more state of it, as `Model.save` does."""
        check_is_fitted(self)
        self.model_.save(path, history)

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """The estimator in a file; its labels are of the type that they were."""
        model = Model.load(path)
        model.check_sums("be an estimator")
        given, plain = vars(model.settings), vars(Model().settings)
        other = {name: given[name] for name in PREPARED if given[name] != plain[name]}
        found = cls(
            given["backbone"],
            image_size=given["image_size"],
            square_roots=given["square_roots"],
            forgettable=model.forgettable,
            settings=other or None,
        )
        found.model_ = model
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = self.backbone == "none"
        tags.input_tags.three_d_array = self.backbone != "none"
        return tags

    def _new(self) -> Model:
        given = {name: getattr(self, name) for name in ("backbone", "image_size", "square_roots")}
        return Model(
            forgettable=self.forgettable, device=self.device, **given, **(self.settings or {})
        )

    def _model(self) -> Model:
        """The model so far, or a new one."""
        return self.model_ if hasattr(self, "model_") else self._new()

    @property
    def _labels(self) -> np.ndarray:
        """The labels in the order of the model's columns."""
        return labels_of(self.model_.classes, self.model_.label_type)

    @property
    def _order(self) -> np.ndarray:
        """The model's columns in the order of `classes_`."""
        return np.argsort(self._labels)

    def _learn(
        self,
        model: Model,
        X: Any,
        y: Any,
        classes: Any = None,
        otherwise: str = "add them to `classes`",
    ) -> Self:
        """Teach a model one batch; if that fails, everything is as it was before."""
        before = dict(vars(self))
        try:
            features, y = self._read(model, X, y, reset=not model.classes)
            names, kind = self._names(model, features, y, classes, otherwise)
            lesson: Lesson = model.learn(features, names, more=True)
        except Exception:
            self.__dict__ = before  # what was read of the shape of X, too
            raise
        model.label_type = kind
        self.model_, self.lesson_ = model, lesson
        return self

    def _names(
        self, model: Model, features: np.ndarray, y: Any, classes: Any, otherwise: str
    ) -> tuple[list[str], str]:
        """The names of labels, checked, and of which type the labels are."""
        labels = _column(y)
        if len(labels) != len(features):
            raise DataError(
                f"there are {len(features)} samples and {len(labels)} labels: give each one"
            )
        names, kind = names_of(labels, model.label_type if model.classes else None)
        if classes is not None:
            check_among(names, names_of(_column(classes), kind)[0], otherwise)
        return names, kind

    def _read(
        self, model: Model, X: Any, y: Any = None, reset: bool = False
    ) -> tuple[np.ndarray, Any]:
        """Features (n, d) of samples, and their labels, if there are any."""
        if self.backbone == "none":
            return validate_data(
                self, X, reset=reset, dtype=FLOATS, ensure_all_finite=False  # the model checks it
            ), y  # fmt: skip
        model.open()
        labels: list[Any] = []
        images, side = ready(_images(_samples(X), labels)), model.least
        looks = [*ahead(lambda image: model.look(pixels_of(image, side)), images)]
        return np.stack(looks), labels or None if y is None else y

    def _judge(self, X: Any) -> Judgement:
        check_is_fitted(self)
        return self.model_.judge(self._read(self.model_, X)[0])

    def _best(self, judged: Judgement, k: int) -> np.ndarray:
        """The labels of the k largest scores, (n, k)."""
        scores = judged.scores
        if k == 1:
            return self._labels[scores.argmax(1)][:, None]
        return self._labels[np.argsort(-scores, axis=1, kind="stable")[:, :k]]


def _column(y: Any) -> np.ndarray:
    """Labels as an array (n,) that keeps their types."""
    if y is None:
        raise DataError("learning requires y to be passed, but the target y is None: give labels")
    whole = np.asarray(y, dtype=object) if isinstance(y, list | tuple) else np.asarray(y)
    return column_or_1d(whole, warn=True)


def _models(parts: Any) -> dict[str, Model]:
    """The models of fitted estimators by name, if no two of these are the same."""
    if not isinstance(parts, Mapping):
        raise DataError(f"{BY_NAME}, not {type(parts).__name__}")
    found: dict[str, Model] = {}
    names: dict[int, str] = {}
    for name, part in parts.items():
        if not isinstance(name, str) or not isinstance(part, IncrementalClassifier):
            raise DataError(f"{BY_NAME}, not {{{name!r}: {type(part).__name__}}}")
        check_is_fitted(part)
        found[name] = part.model_
        if (other := names.setdefault(id(part.model_), name)) != name:
            raise DataError(
                f"{other} and {name} are the same estimator, whose samples would count twice: "
                "leave one out"
            )
    return found


BY_NAME = "merge takes fitted estimators by name, such as {'north': one, 'south': other}"


def _check_distinct(models: Mapping[str, Model]) -> None:
    """Raise if several know a class; the model's own check speaks of photos and of a command."""
    seen: dict[str, list[str]] = {}
    for name, model in models.items():
        for label in model.classes:
            seen.setdefault(label, []).append(name)
    twice = [f"{label} ({', '.join(where)})" for label, where in seen.items() if len(where) > 1]
    if twice:
        raise DataError(
            f"several estimators know {first_ten(twice)}: add `same_class=join` if that is the "
            "same class, or else rename it in one by model_.rename"
        )


def _samples(X: Any) -> Any:
    """X, if it holds images that can be read one by one."""
    X = X.to_numpy() if hasattr(X, "to_numpy") else X
    several = hasattr(X, "__len__") and hasattr(X, "__getitem__")
    if not several or isinstance(X, str | bytes | PurePath):
        raise DataError(f"X must be several images, not {type(X).__name__}: {FITTING}")
    if isinstance(X, np.ndarray) and not (X.ndim > 2 or (X.ndim == 1 and X.dtype.kind in "OU")):
        raise DataError(f"X must be images, not {X.dtype} of the shape {X.shape}: {FITTING}")
    if not len(X):
        raise DataError("X has no image: give one or more")
    if hasattr(X, "dtype") and len(X.shape) == 3 and X.shape[2] in (1, 3):
        raise DataError(f"X of the shape {tuple(X.shape)} is one image, not several: give [image]")
    return X


FITTING = (
    "give uint8 (n, H, W) or (n, H, W, 3), a list of paths or of PIL images, or a torch data set; "
    "features need `backbone=none`"
)


def _images(X: Any, labels: list[Any]) -> Iterator[Any]:
    """The images of X, one after the other; labels that come with them are added to a list.

    A data set is read here, in one thread: it need not bear several.
    """
    for i in range(len(X)):
        sample = X[i]
        if isinstance(sample, tuple) and len(sample) == 2:
            sample, label = sample
            labels.append(label.item() if hasattr(label, "item") else label)
        yield sample


def _warn(sentence: str) -> None:
    warnings.warn(sentence, UserWarning, stacklevel=3)
