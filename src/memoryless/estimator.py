"""scikit-learn's interface over `Model`, with labels of any one type."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from memoryless.embed import WITH_LITE2
from memoryless.errors import ConfigError, DataError, extras
from memoryless.model.labels import labels_of, names_of
from memoryless.model.model import Model
from memoryless.names import first_ten
from memoryless.stats.confidence import Judgement

with extras():
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.metrics import accuracy_score
    from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data


class IncrementalClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that learns batch by batch; any split into batches gives the same classes.

    Parameters
    ----------
    backbone
        Computes the features of images: a name, onnx:FILE or timm:NAME. With "none", X holds
        features of any kind, (n, d), which another backbone takes too if they are its own.
    image_size
        Side in pixels of the backbone's input, 224 by default.
    square_roots
        Whether square roots of features at length one are learned, as those of images always are:
        for features of your own that are at least zero.
    forgettable
        Whether each class's own scatter is kept too, so that it can be forgotten exactly.
    device
        Where onnxruntime computes features: auto, cpu, cuda or cuda:N.
    settings
        Other settings of the backbone by name, such as crop, mean and std.

    `model_` is the `memoryless.Model`, `lesson_` its `Lesson` about the last batch.
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
        return self._learn(self._new(), X, y, check="always")

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None) -> Self:
        """Learn one more batch, of known and of new classes, as if all had come at once.

        Labels outside of `classes` are an error. Only classes that were seen have columns. The
        first batch is checked by leave-one-out, and a later one if the samples since the last check
        are more than a tenth of all; other batches only add to the sums.
        """
        return self._learn(self._model(), X, y, classes)

    def more(self, X: Any, y: Any = None) -> Self:
        """Learn more of known classes; warns of those whose new samples look unlike the past."""
        check_is_fitted(self)
        self._learn(self.model_, X, y, self.classes_, "always")
        unlike = [f"{name} ({errors:.1f})" for name, errors in self.lesson_.unlike.items()]
        if unlike:
            warnings.warn(
                f"new samples of {first_ten(unlike)} look unlike those before (in brackets by how "
                "many standard errors their means differ, where chance gives about 1): if they are "
                "of another kind, give them a label of their own",
                stacklevel=2,
            )
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the likeliest label (n,) of each sample."""
        return self.top_k(X, 1)[:, 0]

    def top_k(self, X: Any, k: int = 5) -> np.ndarray:
        """Return the k likeliest labels (n, k) of each sample, the likeliest first."""
        if not isinstance(k, int | np.integer) or k < 1:
            raise DataError(f"k must be a whole number of at least 1, not {k!r}: give another")
        return self._best(self._judge(X), k)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return probabilities (n, N), columns as in `classes_`."""
        return self._judge(X).probabilities[:, np.argsort(self._labels)]

    def decision_function(self, X: Any) -> np.ndarray:
        """Return scores (n, N); of two classes the second's above the first's, (n,)."""
        scores = self._judge(X).scores[:, np.argsort(self._labels)]
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def known(self, X: Any) -> np.ndarray:
        """Return whether any class fits each sample, (n,)."""
        return self._judge(X).known

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the share of samples that get their own label."""
        check_is_fitted(self)
        features, y = self._read(self.model_, X, y)
        answers = self._best(self.model_.judge(features), 1)[:, 0]
        return float(accuracy_score(y, answers, sample_weight=sample_weight))

    def forget(self, *labels: Any) -> dict[Any, float]:
        """Forget classes; return the weight of each in the covariance that classes share.

        If the estimator is forgettable, it is then as if they had never been.
        """
        check_is_fitted(self)
        if any(isinstance(label, list | tuple | np.ndarray) for label in labels):
            raise DataError("labels to forget are given one by one: write forget(*labels)")
        names, _ = names_of(labels, self.model_.label_type)
        weights = self.model_.forget(*names)
        return {label: weights[name] for label, name in zip(labels, names, strict=True)}

    @classmethod
    def merge(
        cls, parts: Mapping[str, Self], same_class: Literal["refuse", "join"] = "refuse"
    ) -> Self:
        """Return one estimator of several, by name: as if it had learned everything.

        Labels that several have are refused, or, with `same_class="join"`, are one class.
        """
        named = isinstance(parts, Mapping) and all(isinstance(name, str) for name in parts)
        if not named or not all(isinstance(part, cls) for part in parts.values()):
            raise DataError(
                "merge takes fitted estimators by name, such as {'north': one, 'south': other}"
            )
        for part in parts.values():
            check_is_fitted(part)
        models = {name: part.model_ for name, part in parts.items()}
        if len(kinds := {model.label_type for model in models.values()}) > 1:
            raise DataError(f"labels have the types {', '.join(sorted(kinds))}: choose one")
        merged = Model.merge(models, same_class)
        whole = copy.copy(next(iter(parts.values())))
        whole.model_, whole.forgettable = merged, merged.forgettable
        return whole

    def learn_folder(self, folder: Path | str, more: bool = False, few: bool = False) -> Self:
        """Learn photos, a folder for each class, or a table, list or zip, as `memoryless learn`.

        With `more`, classes may be known. Remarks about the photos become warnings.
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
            warnings.warn(sentence, stacklevel=2)
        self.model_, self.lesson_ = plan.model, done.lesson
        return self

    def save(self, path: Path | str, history: int | None = None) -> None:
        """Write the model into a file, or one more state of it, as `Model.save` does."""
        check_is_fitted(self)
        self.model_.save(path, history)

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Return the estimator in a file; its labels have the type that they were."""
        model = Model.load(path)
        model.check_sums("be an estimator")
        given, plain = vars(model.settings), vars(Model().settings)
        own = {name: given[name] for name in ("backbone", "image_size", "square_roots")}
        if own["backbone"] == WITH_LITE2:
            own["image_size"] = None  # nobody can choose it
        typed = {name for name in ("crop", "mean", "std") if given[name] != plain[name]}
        settings = {name: given[name] for name in typed}
        found = cls(**own, forgettable=model.forgettable, settings=settings or None)
        found.model_ = model
        return found

    def __getstate__(self) -> dict[str, Any]:
        """Return what a pickle or a copy holds: no number of a single sample."""
        state = dict(super().__getstate__())
        if "lesson_" in state:
            state["lesson_"] = replace(state["lesson_"], suspects=[])
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = self.backbone == "none"
        tags.input_tags.three_d_array = self.backbone != "none"
        return tags

    def _new(self) -> Model:
        given = self.get_params()
        return Model(**(given.pop("settings") or {}), **given)

    def _model(self) -> Model:
        """Return the model so far, or a new one."""
        return self.model_ if hasattr(self, "model_") else self._new()

    @property
    def _labels(self) -> np.ndarray:
        """The labels in the order of the model's columns."""
        return labels_of(self.model_.classes, self.model_.label_type)

    def _learn(
        self,
        model: Model,
        X: Any,
        y: Any,
        classes: Any = None,
        check: Literal["always", "due"] = "due",
    ) -> Self:
        """Teach a model one batch; if that fails, everything is as it was before."""
        before = dict(vars(self))
        try:
            features, y = self._read(model, X, y, reset=not model.classes)
            names, kind = names_of(_column(y), model.label_type if model.classes else None)
            if classes is not None:
                _check_among(names, names_of(_column(classes), kind)[0])
            lesson = model.learn(features, names, more=True, check=check)
        except Exception:
            self.__dict__ = before  # scikit-learn stores the shape of X before it is learned
            raise
        model.label_type = kind
        self.model_, self.lesson_ = model, lesson
        return self

    def _read(
        self, model: Model, X: Any, y: Any = None, reset: bool = False
    ) -> tuple[np.ndarray, Any]:
        """Return features (n, d) of samples, and their labels, if there are any."""
        if self.backbone == "none":
            return validate_data(
                self, X, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite=False
            ), y  # the model checks that they are finite
        labels: list[Any] = []
        X = X.to_numpy() if hasattr(X, "to_numpy") else X
        several = hasattr(X, "__getitem__") and hasattr(X, "__len__") and not isinstance(X, str)
        if several and not hasattr(X, "dtype"):
            X = _images(X, labels)
        features = model.features(X)
        if not len(features):
            raise DataError("X has no image: give one or more")
        return features, labels or None if y is None else y

    def _judge(self, X: Any) -> Judgement:
        check_is_fitted(self)
        return self.model_.judge(self._read(self.model_, X)[0])

    def _best(self, judged: Judgement, k: int) -> np.ndarray:
        """Return the labels of the k largest scores, (n, k)."""
        return self._labels[np.argsort(-judged.scores, axis=1, kind="stable")[:, :k]]


def _check_among(names: Iterable[str], classes: Iterable[str]) -> None:
    known = {*classes}
    if odd := sorted({*names} - known):
        raise DataError(
            f"labels must be among the classes {first_ten(sorted(known))}, not {first_ten(odd)}: "
            "leave these out, or call partial_fit with classes that include them"
        )


def _column(y: Any) -> np.ndarray:
    """Return labels as an array (n,) that keeps their types."""
    if y is None:
        raise DataError("learning requires y to be passed, but the target y is None: give labels")
    whole = np.asarray(y, dtype=object) if isinstance(y, list | tuple) else np.asarray(y)
    return column_or_1d(whole, warn=True)


def _images(X: Any, labels: list[Any]) -> Iterator[Any]:
    """Yield the images of a list or data set; labels of those that are pairs go into a list."""
    for i in range(len(X)):  # a data set need not be iterable, nor bear several threads
        image = X[i]
        if isinstance(image, tuple) and len(image) == 2:
            image, label = image
            labels.append(label.item() if hasattr(label, "item") else label)
        yield image
