"""The estimator over features: scikit-learn's checks, any split, labels of any type, refusals."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from memoryless import IncrementalClassifier, Model
from memoryless.errors import ConfigError, DataError, StoreError

D = 6


def make(**params):
    return IncrementalClassifier(backbone="none", **params)


def blobs(*classes: int, number: int = 12):
    """Features and labels; a class always gives the same features."""
    drawn = [
        np.random.default_rng(c).normal(size=D) * 3
        + np.random.default_rng(100 + c).normal(size=(number, D))
        for c in classes
    ]
    return np.concatenate(drawn), np.repeat(classes, number)


@parametrize_with_checks([make(), make(forgettable=True), make(power=0.5)])
def test_scikit_learns_checks_pass(estimator, check):
    check(estimator)


@pytest.mark.parametrize("forgettable", [False, True])
def test_any_split_into_batches_gives_the_same_scores(forgettable):
    X, y = blobs(7, 3, 5, 11)
    whole, parts = make(forgettable=forgettable).fit(X, y), make(forgettable=forgettable)
    for some in np.array_split(np.random.default_rng(0).permutation(len(y)), 7):
        assert parts.partial_fit(X[some], y[some]) is parts
    assert parts.classes_.tolist() == [3, 5, 7, 11]
    assert np.allclose(parts.decision_function(X), whole.decision_function(X), rtol=1e-9)
    assert np.array_equal(parts.predict(X), whole.predict(X))
    assert whole.score(X, y) > 0.9
    assert parts.model_.counts == (12,) * 4


def test_classes_may_appear_at_any_time_and_columns_are_sorted():
    estimator = make().partial_fit(*blobs(10))
    assert estimator.predict_proba(blobs(10)[0]).tolist() == [[1.0]] * 12
    assert estimator.partial_fit(*blobs(9)).decision_function(blobs(10)[0]).shape == (12,)
    estimator.partial_fit(*blobs(2))
    assert estimator.classes_.tolist() == [2, 9, 10]  # as names they would be 10, 2, 9
    X, y = blobs(9, 10, 2)
    for columns in (estimator.predict_proba(X), estimator.decision_function(X)):
        assert np.array_equal(estimator.classes_[columns.argmax(1)], estimator.predict(X))
    assert np.allclose(estimator.predict_proba(X).sum(1), 1)
    best = estimator.predict_top_k(X, 2)
    assert best.shape == (36, 2)
    assert np.array_equal(best[:, 0], estimator.predict(X))
    assert estimator.predict_top_k(X).shape == (36, 3)
    assert (best == y[:, None]).any(1).mean() >= estimator.score(X, y)


def test_of_two_classes_the_decision_is_for_the_second():
    X, y = blobs(1, 4)
    estimator = make().fit(X, y)
    assert np.array_equal(estimator.classes_[(estimator.decision_function(X) > 0) * 1],
                          estimator.predict(X))  # fmt: skip


@pytest.mark.parametrize(
    ("turn", "kind"),
    [
        (lambda y: y, "int"),
        (lambda y: y.astype(np.float32), "float"),
        (lambda y: y > 3, "bool"),
        (lambda y: np.array([f"class {label}" for label in y]), "str"),
        (lambda y: [f"class {label}" for label in y], "str"),
        (lambda y: y.tolist(), "int"),
        (lambda y: y.astype(np.uint8), "int"),
        (lambda y: [3, *map(np.int64, y[1:])], "int"),
        (lambda y: np.array([f"class {label}" for label in y], dtype=object), "str"),
    ],
)
def test_labels_keep_their_type_also_in_a_folder(turn, kind, tmp_path):
    X, y = blobs(3, 5)
    estimator = make().fit(X, turn(y))
    estimator.save(tmp_path / "model")
    again = IncrementalClassifier.load(tmp_path / "model")
    for one in (estimator, again):
        assert {type(label).__name__ for label in one.predict(X).tolist()} == {kind}
        assert one.classes_.tolist() == sorted(set(turn(y)))
        assert one.score(X, turn(y)) > 0.9
    assert np.array_equal(again.predict_proba(X), estimator.predict_proba(X))
    assert again.get_params() == estimator.get_params()


def test_a_folder_goes_on_where_it_was(tmp_path):
    X, y = blobs(3, 5)
    make(forgettable=True).fit(X, y).save(tmp_path / "model")
    again = IncrementalClassifier.load(tmp_path / "model")
    again.partial_fit(*blobs(4)).save(tmp_path / "model")
    assert Model.load(tmp_path / "model").classes == ("3", "5", "4")
    assert again.forget(5) == {5: pytest.approx(1 / 3)}
    fresh = make(forgettable=True).fit(*blobs(3, 4))
    assert np.allclose(again.decision_function(X), fresh.decision_function(X), rtol=1e-9)


def test_fit_is_from_scratch():
    estimator = make().fit(*blobs(1, 2)).fit(*blobs(3, 4))
    assert estimator.classes_.tolist() == [3, 4]
    estimator.fit(blobs(3, 4)[0][:, :2], np.array(["a", "b"]).repeat(12))
    assert estimator.n_features_in_ == 2


def test_parts_merge_as_if_one_had_learned_everything():
    X, y = blobs(1, 2, 3)
    parts = {"odd": make().fit(*blobs(1, 3)), "even": make().fit(*blobs(2))}
    whole = IncrementalClassifier.merge(parts)
    fresh = make().fit(X, y)
    assert whole.classes_.tolist() == [1, 2, 3]
    assert np.allclose(whole.decision_function(X), fresh.decision_function(X), rtol=1e-9)
    assert parts["odd"].classes_.tolist() == [1, 3]
    assert whole.n_features_in_ == D
    both = {"a": parts["odd"], "b": make().fit(X[y != 2] + 1, y[y != 2])}
    joined = IncrementalClassifier.merge(both, same_class="join")
    assert joined.model_.counts == (24, 24)


def test_it_says_what_it_does_not_know():
    estimator = make().fit(*blobs(*range(3), number=40))
    assert estimator.predict_known(blobs(*range(3), number=40)[0]).mean() > 0.9
    between = np.stack([blobs(c, number=40)[0].mean(0) for c in range(3)]).mean(0)
    assert not estimator.predict_known(between[None])[0]


def test_new_samples_unlike_those_before_give_a_warning():
    estimator = make().fit(*blobs(1, 2, number=60))
    X = np.random.default_rng(0).permutation(blobs(1, number=60)[0])
    estimator.partial_fit(X, [1] * 60)  # without a warning, which would be an error here
    with pytest.warns(UserWarning, match=r"1 \(\d+\.\d standard errors\)"):
        estimator.partial_fit(X + 5, [1] * 60)
    assert estimator.model_.counts == (180, 60)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
def test_copies_go_their_own_way(again):
    X, y = blobs(1, 2)
    estimator = make().fit(X, y)
    other = again(estimator)
    other.partial_fit(*blobs(3))
    assert (len(other.classes_), len(estimator.classes_)) == (3, 2)


def test_suspects_are_reported_and_not_pickled():
    X, y = blobs(1, 2, 3, number=40)
    y = np.array(y)
    y[7] = 3
    estimator = make().fit(X, y)
    ((number, *names, _),) = estimator.report_.suspects
    assert (number, names) == (7, ["3", "1"])
    again = pickle.loads(pickle.dumps(estimator))
    assert again.report_.suspects == []
    assert again.report_.checked == 120


def test_a_pickle_needs_no_folder(tmp_path):
    X, y = blobs(1, 2)
    make().fit(X, y).save(tmp_path / "model")
    kept = pickle.dumps(IncrementalClassifier.load(tmp_path / "model"))
    (tmp_path / "model.memoryless").unlink()
    assert pickle.loads(kept).partial_fit(*blobs(3)).score(X, y) > 0.9


def test_it_is_searched_and_piped():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(make_pipeline(StandardScaler(), make()), {
        "incrementalclassifier__power": [1, 0.5]}, cv=3).fit(X, y)  # fmt: skip
    assert search.best_score_ > 0.95
    assert clone(make(power=0.5)).get_params()["power"] == 0.5


@pytest.mark.parametrize("load", [load_iris, load_wine, load_digits])
def test_it_is_as_good_as_scikit_learns_discriminant(load):
    """Features of one unit each, as ours are shrunk alike; theirs estimates how much. Both numbers
    are means of ten folds, and one of 178 wines more or less is 0.006.
    """
    X, y = load(return_X_y=True)
    theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
    ours = cross_val_score(make_pipeline(StandardScaler(), make()), X, y, cv=10).mean()
    assert (
        ours >= cross_val_score(make_pipeline(StandardScaler(), theirs), X, y, cv=10).mean() - 0.01
    )


X, Y = blobs(1, 2)
MIXED = np.array([1, "a"] * 12, dtype=object)
BAD = {
    "another number of features": (X[:, :3], Y, "X has 3 features, but"),
    "nan": (X * np.nan, Y, "features must be finite numbers"),
    "an empty batch": (X[:0], Y[:0], r"Found array with 0 sample\(s\)"),
    "labels of mixed types": (X, MIXED, r"all of one type, not int and str"),
    "another type than before": (X, Y.astype(str), "the type int so far and have str now"),
    "labels that are continuous": (X, Y / 4, "0.25, 0.5 is continuous"),
    "no labels": (X, None, "learning requires y to be passed"),
    "not one label": (X, [], "labels must be strings, whole numbers or bools, one or more"),
    "fewer labels": (X, Y[1:], "there are 24 images and 23 labels"),
}


@pytest.mark.parametrize("what", BAD)
@pytest.mark.parametrize("method", ["partial_fit", "fit"])
def test_bad_input_changes_nothing(what, method):
    if method == "fit" and what.startswith("another"):
        return
    bad, labels, sentence = BAD[what]
    estimator = make().fit(X, Y)
    before = estimator.decision_function(X)
    with pytest.raises(ValueError, match=sentence):
        getattr(estimator, method)(bad, labels)
    assert np.array_equal(estimator.decision_function(X), before)
    assert (estimator.n_features_in_, estimator.model_.counts) == (D, (12, 12))


def test_sparse_features_are_refused_as_scikit_learn_does():
    with pytest.raises(TypeError, match="Sparse data was passed for X, but dense data is required"):
        make().fit(csr_array(X), Y)


@pytest.mark.parametrize("use", [
    lambda e: e.predict(X), lambda e: e.forget(1), lambda e: e.score(X, Y),
    lambda e: e.save("model"), lambda e: IncrementalClassifier.merge({"a": e}),
])  # fmt: skip
def test_before_the_first_batch_it_is_not_fitted(use):
    with pytest.raises(NotFittedError, match=r"^This IncrementalClassifier instance is not fitted"):
        use(make())
    assert not hasattr(make(), "classes_")


def test_photos_need_a_backbone(tmp_path):
    with pytest.raises(ConfigError, match=r"^`backbone=none` takes features, not photos"):
        make().partial_fit_folder(tmp_path)


def test_a_first_batch_that_fails_may_have_any_number_of_features():
    estimator = make()
    with pytest.raises(DataError, match="finite"):
        estimator.partial_fit(X[:, :3] * np.nan, Y)
    assert estimator.partial_fit(X, Y).n_features_in_ == D


def fresh_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_features_need_no_torch():
    code = """
import sys, numpy as np, memoryless
estimator = memoryless.IncrementalClassifier("none").fit(np.eye(4), [1, 1, 2, 2])
print(estimator.predict(np.eye(4)), "torch" in sys.modules)
"""
    assert fresh_python(code).stdout == "[1 1 2 2] False\n"


def test_without_scikit_learn_it_says_what_to_install():
    code = "import sys; sys.modules['sklearn'] = None; import memoryless.estimator"
    last = fresh_python(code).stderr.splitlines()[-1]
    assert last.startswith("memoryless.errors.MissingError: this needs sklearn")
    assert last.endswith("pip install 'memoryless[sklearn]'")


def fitted(*labels: Any) -> IncrementalClassifier:
    """An estimator that learned six samples of each label, which no other has."""
    draws = np.random.default_rng([len(str(labels)), *str(labels).encode()])
    return make().fit(draws.normal(size=(6 * len(labels), 4)), np.repeat(labels, 6))


@pytest.mark.parametrize(
    "parts",
    [
        [[fitted(1), fitted(2)]],
        [{"a": fitted(1), "b": fitted(2).model_}],
        [fitted(1), fitted(2).model_],
    ],
)
def test_only_estimators_merge(parts):
    with pytest.raises(DataError, match=r"^merge takes fitted estimators, such as"):
        IncrementalClassifier.merge(*parts)


def test_estimators_merge_one_after_another_or_by_name():
    one, other = fitted(1), fitted(2)
    merged = IncrementalClassifier.merge(one, other)
    by_name = IncrementalClassifier.merge({"one": one, "other": other})
    assert merged.classes_.tolist() == by_name.classes_.tolist() == [1, 2]
    assert np.array_equal(merged.predict_proba(np.eye(4)), by_name.predict_proba(np.eye(4)))


@pytest.mark.parametrize("power", [2, 0, None])
def test_powers_other_than_a_half_and_one_are_refused(power):
    with pytest.raises(ConfigError, match=r"is neither 0\.5 nor 1"):
        make(power=power).fit(X, Y)


def test_what_does_not_merge():
    one, other = fitted(1, 2), fitted(2, 3)
    refusals = {
        "a and c have learned the same photos": {"a": one, "b": other, "c": copy.copy(one)},
        "name two models or more to merge, not 1": {"a": one},
        "labels have the types int, str": {"a": one, "b": fitted("x")},
    }
    for sentence, parts in refusals.items():
        with pytest.raises(ValueError, match=rf"^{sentence}"):
            IncrementalClassifier.merge(parts, same_class="join")


def test_labels_that_several_have_are_refused_unless_they_are_joined():
    parts = {"a": fitted(1, 2), "b": fitted(2, 3)}
    with pytest.raises(DataError, match=r"^several models know 2 \(6 photos in a, 6 photos in b\)"):
        IncrementalClassifier.merge(parts)
    joined = IncrementalClassifier.merge(parts, same_class="join")
    assert (joined.classes_.tolist(), joined.model_.counts) == ([1, 2, 3], (6, 12, 6))
    parts["b"].model_.rename({"2": "4"})
    assert IncrementalClassifier.merge(parts).classes_.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["7"], "labels had the type int so far and have str now"),
        ([True], "labels had the type int so far and have bool now"),
        ([None], r"labels must be .* not NoneType"),
        ([[7, 8]], r"labels to forget are given one by one: write forget\(\*labels\)"),
        ([np.array([7])], "labels to forget are given one by one"),
        ([], "labels must be strings, whole numbers or bools, one or more"),
        ([6], "unknown class '6': choose from 7, 8, 9"),
    ],
)
def test_labels_that_cannot_be_forgotten(given, sentence):
    estimator = fitted(7, 8, 9)
    with pytest.raises(ValueError, match=rf"^{sentence}"):
        estimator.forget(*given)
    assert estimator.classes_.tolist() == [7, 8, 9]


@pytest.mark.parametrize("label", [7, np.int64(7), np.uint8(7)])
def test_numbers_of_numpy_are_forgotten_too(label):
    estimator = fitted(7, 8, 9)
    assert estimator.forget(label, label) == {7: pytest.approx(1 / 3)}
    assert estimator.classes_.tolist() == [8, 9]


@pytest.mark.parametrize("k", [0, -1, 1.5, "2"])
def test_there_is_no_top_of_less_than_one(k):
    with pytest.raises(DataError, match=r"^k must be a whole number of at least 1"):
        fitted(1, 2).predict_top_k(np.zeros((1, 4)), k)


def test_labels_must_be_among_the_classes_that_are_given():
    estimator, odd = make().partial_fit(X, Y, classes=[1, 2, 3]), np.where(Y == 1, 1, 9)
    assert estimator.classes_.tolist() == [1, 2]
    sentence = "^labels must be among the classes 1, 2, not 9: leave these out, or call partial_fit"
    with pytest.raises(DataError, match=sentence):
        estimator.partial_fit(X, odd, classes=[1, 2])
    with pytest.raises(DataError, match=r"^labels must be strings"):
        estimator.partial_fit(X, Y, classes=[])
    assert estimator.model_.counts == (12, 12)


def test_files_that_hold_no_estimator_are_of_the_store(tmp_path):
    note = tmp_path / "note.txt"
    note.touch()
    for use in (IncrementalClassifier.load, fitted(1).save):
        with pytest.raises(StoreError, match="is no model"):
            use(note)
