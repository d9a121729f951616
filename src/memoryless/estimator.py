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
from memoryless.model.merging import named
from memoryless.model.model import Model
from memoryless.model.report import LearningReport
from memoryless.names import first_ten
from memoryless.stats.confidence import Prediction

with extras():
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.metrics import accuracy_score
    from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data


class IncrementalClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # no types
    """A classifier that learns batch by batch; any split into batches gives the same classes.

    Parameters
    ----------
    backbone
        Computes the features of images: a name, onnx:FILE or timm:NAME. With "none", X holds
        features of any kind, (n, d), which another backbone takes too if they are its own.
    image_size
        Side in pixels of the backbone's input, 224 by default.
    power
        With 0.5, features of your own are scaled to length one and their square roots are learned,
        as for images; they must be at least zero. With 1 they are learned as they are.
    forgettable
        Whether to keep each class's own scatter too, so that `forget` is exact.
    choose
        Whether to choose the shrinkage, and the weights of the backbone's layers, from the class
        statistics. This is done when an answer is asked for. False saves time for those who call
        `partial_fit` and `predict` in turns.
    device
        Where onnxruntime computes features: auto, cpu, cuda or cuda:N.
    settings
        Other settings of the backbone by name, such as crop, mean and std.

    Attributes
    ----------
    classes_
        The labels learned so far, sorted.
    model_
        The `memoryless.Model` behind the estimator.
    report_
        The `LearningReport` of the last batch: accuracy, confused classes, suspicious labels.
    n_features_in_
        Number of features, with `backbone="none"`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = IncrementalClassifier("none").partial_fit(X[:100], y[:100])
    >>> classifier.partial_fit(X[100:], y[100:]).classes_.tolist()
    [0, 1, 2]
    >>> round(classifier.score(X, y), 2)
    0.98
    """

    def __init__(
        self,
        backbone: str = "efficientnet-lite0",
        *,
        image_size: int | None = None,
        power: float = 1.0,
        forgettable: bool = False,
        choose: bool = True,
        device: str = "auto",
        settings: Mapping[str, Any] | None = None,
    ):
        self.backbone = backbone
        self.image_size = image_size
        self.power = power
        self.forgettable = forgettable
        self.choose = choose
        self.device = device
        self.settings = settings

    @property
    def classes_(self) -> np.ndarray:
        """The labels learned so far, sorted; columns of scores follow them."""
        return np.sort(self._labels)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from scratch. `y` may be left out where X is a data set of pairs."""
        return self._learn(self._new(), X, y, check="always")

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None) -> Self:
        """Learn one more batch, of known and of new classes, as if all had come at once.

        Labels outside of `classes` are an error. Only classes that were seen have columns. The
        first batch is checked by leave-one-out, and a later one if the samples since the last check
        are more than a tenth of all. A warning names known classes whose new samples differ from
        the ones before.
        """
        return self._learn(self._model(), X, y, classes)

    def predict(self, X: Any) -> np.ndarray:
        """Return the likeliest label (n,) of each sample."""
        return self.predict_top_k(X, 1)[:, 0]

    def predict_top_k(self, X: Any, k: int = 5) -> np.ndarray:
        """Return the k likeliest labels (n, k) of each sample, the likeliest first."""
        if not isinstance(k, int | np.integer) or k < 1:
            raise DataError(f"k must be a whole number of at least 1, not {k!r}", k=k)
        return self._best(self._classify(X), k)

    def predict_known(self, X: Any) -> np.ndarray:
        """Return whether any class fits each sample, (n,)."""
        return self._classify(X).known

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return probabilities (n, N), columns as in `classes_`."""
        return self._classify(X).probabilities[:, np.argsort(self._labels)]

    def decision_function(self, X: Any) -> np.ndarray:
        """Return scores (n, N); of two classes the second's above the first's, (n,)."""
        scores = self._classify(X).scores[:, np.argsort(self._labels)]
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the share of samples that get their own label."""
        check_is_fitted(self)
        features, y = self._read(self.model_, X, y)
        answers = self._best(self.model_.classify(features), 1)[:, 0]
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
        cls, *parts: Self | Mapping[str, Self], same_class: Literal["refuse", "join"] = "refuse"
    ) -> Self:
        """Return one estimator that has learned everything that several have.

        They come one after another, or as a dict from names, which errors then mention. Labels that
        several have are refused, or, with `same_class="join"`, are one class.
        """
        given: Mapping[str, Self] = named(parts)
        if not all(isinstance(part, cls) for part in given.values()):
            raise DataError(
                "merge takes fitted estimators, such as merge(one, other) or "
                "merge({'north': one, 'south': other})"
            )
        for part in given.values():
            check_is_fitted(part)
        models = {name: part.model_ for name, part in given.items()}
        if len(kinds := {model.label_type for model in models.values()}) > 1:
            raise DataError(f"labels have the types {', '.join(sorted(kinds))}: choose one")
        merged = Model.merge(models, same_class=same_class)
        whole = copy.copy(next(iter(given.values())))
        whole.model_, whole.forgettable = merged, merged.forgettable
        return whole

    def partial_fit_folder(self, folder: Path | str, allow_few: bool = False) -> Self:
        """Learn photos in a folder for each class, or in a table, list or zip of photos.

        Remarks about the photos become warnings. With `allow_few`, a class may have fewer than 5
        photos; the model may then reveal which photos were used.
        """
        from memoryless.photos.learn import learn_photos
        from memoryless.photos.plan import make_plan

        if self.backbone == "none":
            raise ConfigError("`backbone=none` takes features, not photos: choose a backbone")
        model = self._model()
        plan = make_plan(model, [Path(folder)], allow_few, more=bool(model.classes))
        labels_of(sorted({str(photo.label) for photo in plan.photos}), model.label_type)
        done = learn_photos(plan)
        lost = [f"{name} ({why})" for name, why in done.broken.items()]
        lost += [f"{name} (too few photos: {n})" for name, n in done.plan.left_out.items()]
        left_out = [f"left out {first_ten(lost)}"] if lost else []
        for sentence in (*plan.warnings, *done.warnings, *left_out):
            warnings.warn(sentence, stacklevel=2)
        self.model_, self.report_ = done.plan.model, done.report
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
        own = {name: given[name] for name in ("backbone", "image_size")}
        if own["backbone"] == WITH_LITE2:
            own["image_size"] = None  # nobody can choose it
        own["power"] = 0.5 if model.settings.square_roots and own["backbone"] == "none" else 1.0
        typed = {name for name in ("crop", "mean", "std") if given[name] != plain[name]}
        settings = {name: given[name] for name in typed}
        found = cls(**own, forgettable=model.forgettable, settings=settings or None)
        found.model_ = model
        return found

    def __getstate__(self) -> dict[str, Any]:
        """Return what a pickle or a copy holds: no number of a single sample."""
        state = dict(super().__getstate__())
        if "report_" in state:
            state["report_"] = replace(state["report_"], suspects=[])
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = self.backbone == "none"
        tags.input_tags.three_d_array = self.backbone != "none"
        return tags

    def _new(self) -> Model:
        given = self.get_params()
        if given["power"] not in (0.5, 1):
            raise ConfigError(f"`power={given['power']}` is neither 0.5 nor 1: choose one of them")
        roots, choose = given.pop("power") == 0.5, given.pop("choose")
        model = Model(**(given.pop("settings") or {}), square_roots=roots, **given)
        model.choose_groups = choose
        return model

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
            report = model.learn(features, names, more=True, check=check)
        except Exception:
            self.__dict__ = before  # scikit-learn stores the shape of X before it is learned
            raise
        model.label_type = kind
        self.model_, self.report_ = model, report
        _warn_of_unlike(report)
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
        several = hasattr(X, "__getitem__") and hasattr(X, "__len__") and not isinstance(X, str)
        if several and not hasattr(X, "dtype"):
            X = _images(X, labels)
        features = model.embed(X)
        if not len(features):
            raise DataError("X has no image: give one or more")
        return features, labels or None if y is None else y

    def _classify(self, X: Any) -> Prediction:
        check_is_fitted(self)
        return self.model_.classify(self._read(self.model_, X)[0])

    def _best(self, found: Prediction, k: int) -> np.ndarray:
        """Return the labels of the k largest scores, (n, k)."""
        return self._labels[np.argsort(-found.scores, axis=1, kind="stable")[:, :k]]


def _warn_of_unlike(report: LearningReport) -> None:
    unlike = [f"{name} ({errors:.1f} standard errors)" for name, errors in report.unlike.items()]
    if unlike:
        warnings.warn(
            f"new samples have another mean than those before: {first_ten(unlike)}; chance gives "
            "about 1. If they show something else, give them a label of their own",
            stacklevel=4,
        )


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
    return np.asarray(column_or_1d(whole, warn=True))


def _images(X: Any, labels: list[Any]) -> Iterator[Any]:
    """Yield the images of a list or data set; labels of those that are pairs go into a list."""
    for i in range(len(X)):  # a data set need not be iterable, nor bear several threads
        image = X[i]
        if isinstance(image, tuple) and len(image) == 2:
            image, label = image
            labels.append(label.item() if hasattr(label, "item") else label)
        yield image
