"""scikit-learn's interface over `Model`, with labels of any one type."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from memoryless.errors import ConfigError, DataError, extras
from memoryless.model.model import Model
from memoryless.names import first_ten
from memoryless.stats.confidence import Judgement

with extras():
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.metrics import accuracy_score
    from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

READ: dict[str, Callable[[str], Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": {"True": True, "False": False}.__getitem__,
}
"""How a label of each type is read from the name of its class."""


class IncrementalClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that learns batch by batch; any split into batches gives the same classes.

    Parameters
    ----------
    backbone
        Computes the features of images: a name, onnx:FILE or timm:NAME. With "none", X holds
        features of any kind, (n, d).
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
        self._learn(self.model_, X, y, self.classes_, "call partial_fit, which takes any", "always")
        unlike = [f"{name} ({errors:.1f})" for name, errors in self.lesson_.unlike.items()]
        if unlike:
            _warn(
                f"new samples of {first_ten(unlike)} look unlike those before (in brackets by how "
                "many standard errors their means differ, where chance gives about 1): if they are "
                "of another kind, give them a label of their own"
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
        return self._judge(X).probabilities[:, self._order]

    def decision_function(self, X: Any) -> np.ndarray:
        """Return scores (n, N); of two classes the second's above the first's, (n,)."""
        scores = self._judge(X).scores[:, self._order]
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
        for label in labels:
            if hasattr(label, "__len__") and not isinstance(label, str | bytes):
                kind = type(label).__name__
                raise DataError(f"give labels one by one, not in a {kind}: write forget(*labels)")
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
            raise DataError(f"labels are of the types {', '.join(sorted(kinds))}: choose one")
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
            _warn(sentence)
        self.model_, self.lesson_ = plan.model, done.lesson
        return self

    def save(self, path: Path | str, history: int | None = None) -> None:
        """Write the model into a file, or one more state of it, as `Model.save` does."""
        check_is_fitted(self)
        self.model_.save(path, history)

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Return the estimator in a file; its labels are of the type that they were."""
        model = Model.load(path)
        model.check_sums("be an estimator")
        given, plain = vars(model.settings), vars(Model().settings)
        prepared = ("crop", "mean", "std")
        other = {name: given[name] for name in prepared if given[name] != plain[name]}
        found = cls(
            given["backbone"],
            image_size=given["image_size"],
            square_roots=given["square_roots"],
            forgettable=model.forgettable,
            settings=other or None,
        )
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
        check: Literal["always", "due"] = "due",
    ) -> Self:
        """Teach a model one batch; if that fails, everything is as it was before."""
        before = dict(vars(self))
        try:
            features, y = self._read(model, X, y, reset=not model.classes)
            names, kind = names_of(_column(y), model.label_type if model.classes else None)
            if classes is not None:
                _check_among(names, names_of(_column(classes), kind)[0], otherwise)
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
        features = model.features(_images(X, labels))
        if not len(features):
            raise DataError("X has no image: give one or more")
        return features, labels or None if y is None else y

    def _judge(self, X: Any) -> Judgement:
        check_is_fitted(self)
        return self.model_.judge(self._read(self.model_, X)[0])

    def _best(self, judged: Judgement, k: int) -> np.ndarray:
        """Return the labels of the k largest scores, (n, k)."""
        return self._labels[np.argsort(-judged.scores, axis=1, kind="stable")[:, :k]]


def names_of(labels: Iterable[Any], so_far: str | None = None) -> tuple[list[str], str]:
    """Return a name for each label, and the one type of the labels: the one so far, if any.

    >>> names_of(np.array([3, 1, 3]))
    (['3', '1', '3'], 'int')
    """
    values = [label.item() if isinstance(label, np.generic) else label for label in labels]
    kinds = sorted({type(value).__name__ for value in values})
    if len(kinds) != 1 or kinds[0] not in READ:
        raise DataError(
            "labels must be strings, whole numbers or bools, one or more and all of one type, not "
            f"{' and '.join(kinds) or 'none'}: turn them into strings"
        )
    (kind,) = kinds
    if kind == "float":
        _check_whole(values)
        values = [value + 0.0 for value in values]  # -0.0 becomes 0.0
    if so_far and kind != so_far:
        raise DataError(
            f"labels were of the type {so_far} so far and are of {kind} now: choose one"
        )
    return [*map(str, values)], kind


def _check_whole(values: Iterable[float]) -> None:
    if parts := sorted({value for value in values if not value.is_integer()}, key=str):
        raise DataError(
            f"labels name classes, and {first_ten(map(str, parts))} is of something continuous: "
            "round them, or turn them into strings"
        )


def labels_of(names: Sequence[str], kind: str) -> np.ndarray:
    """Return the labels (N,) with these names.

    >>> labels_of(["3", "1"], "int").tolist(), labels_of(["True"], "bool").tolist()
    ([3, 1], [True])
    """
    return np.array([_label(name, kind) for name in names])


def _label(name: str, kind: str) -> Any:
    try:
        return READ[kind](name)
    except (KeyError, ValueError):
        raise DataError(
            f"labels are of the type {kind}, and the class {name!r} is none: rename it"
        ) from None


def _check_among(names: Iterable[str], classes: Iterable[str], otherwise: str) -> None:
    """Raise if labels are not among the classes; the sentence says what else to do."""
    known = set(classes)
    if odd := sorted(set(names) - known):
        raise DataError(
            f"labels must be among the classes {first_ten(sorted(known))}, not {first_ten(odd)}: "
            f"leave these out, or {otherwise}"
        )


def _column(y: Any) -> np.ndarray:
    """Return labels as an array (n,) that keeps their types."""
    if y is None:
        raise DataError("learning requires y to be passed, but the target y is None: give labels")
    whole = np.asarray(y, dtype=object) if isinstance(y, list | tuple) else np.asarray(y)
    return column_or_1d(whole, warn=True)


def _images(X: Any, labels: list[Any]) -> Any:
    """Return images as `Model` takes them; the labels of a data set of pairs go into a list.

    A data set is read by a single thread, because it need not bear several.
    """
    X = X.to_numpy() if hasattr(X, "to_numpy") else X
    if getattr(X, "ndim", 0) == 2:
        raise DataError(
            f"X must be images, not {X.dtype} of the shape {X.shape}: give arrays, paths, PIL "
            "images or a torch data set; features need `backbone=none`"
        )
    several = hasattr(X, "__len__") and hasattr(X, "__getitem__")
    if not several or isinstance(X, str) or hasattr(X, "dtype"):
        return X
    return (_image(X[i], labels) for i in range(len(X)))


def _image(sample: Any, labels: list[Any]) -> Any:
    """Return the image of a sample, which may be a pair with a label."""
    if not isinstance(sample, tuple) or len(sample) != 2:
        return sample
    image, label = sample
    labels.append(label.item() if hasattr(label, "item") else label)
    return image


def _warn(sentence: str) -> None:
    warnings.warn(sentence, UserWarning, stacklevel=3)
