"""What the estimator's merge, forget, more and top_k refuse, in one sentence each."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from memoryless import IncrementalClassifier
from memoryless.errors import ConfigError, DataError, StoreError

DRAWS = np.random.default_rng(0)


def fitted(*labels):
    """An estimator that learned six samples of each label, which no other has."""
    X = DRAWS.normal(size=(6 * len(labels), 4))
    return IncrementalClassifier("none").fit(X, np.repeat(labels, 6))


def sentence(use, kind=DataError) -> str:
    with pytest.raises(kind) as caught:
        use()
    assert type(caught.value) is kind
    return str(caught.value)


BY_NAME = "merge takes fitted estimators by name, such as {'north': one, 'south': other}, not "


@pytest.mark.parametrize(
    ("parts", "what"),
    [
        ([fitted(1), fitted(2)], "list"),
        (fitted(1), "IncrementalClassifier"),
        ({"a": fitted(1), "b": fitted(2).model_}, "{'b': Model}"),
        ({0: fitted(1), 1: fitted(2)}, "{0: IncrementalClassifier}"),
    ],
)
def test_only_estimators_by_name_merge(parts, what):
    assert sentence(lambda: IncrementalClassifier.merge(parts)) == BY_NAME + what


@pytest.mark.parametrize("same_class", ["refuse", "join"])
@pytest.mark.parametrize("again", [lambda one: one, copy.copy])
def test_an_estimator_does_not_merge_with_itself(again, same_class):
    one = fitted(1)
    parts = {"a": one, "b": fitted(2), "c": again(one)}
    assert sentence(lambda: IncrementalClassifier.merge(parts, same_class)) == (
        "a and c are the same estimator, whose samples would count twice: leave one out"
    )


@pytest.mark.parametrize("number", [0, 1])
def test_one_estimator_does_not_merge(number):
    parts = {"a": fitted(1)} if number else {}
    assert sentence(lambda: IncrementalClassifier.merge(parts), ConfigError) == (
        f"name two models or more to merge, not {number}"
    )


def test_labels_that_several_have_are_refused_unless_they_are_joined():
    parts = {"a": fitted(1, 2), "b": fitted(2, 3)}
    for refused in ({}, {"same_class": "refuse"}):
        assert sentence(lambda given=refused: IncrementalClassifier.merge(parts, **given)) == (
            "several estimators know 2 (a, b): add `same_class=join` if that is the same class, "
            "or else rename it in one by model_.rename"
        )
    joined = IncrementalClassifier.merge(parts, same_class="join")
    assert joined.classes_.tolist() == [1, 2, 3]
    assert joined.model_.counts == (6, 12, 6)
    parts["b"].model_.rename({"2": "4"})
    assert IncrementalClassifier.merge(parts).classes_.tolist() == [1, 2, 3, 4]


def test_parts_with_labels_of_two_types_do_not_merge():
    parts = {"a": fitted(1), "b": fitted("x")}
    assert sentence(lambda: IncrementalClassifier.merge(parts)) == (
        "labels are of the types int, str: choose one"
    )


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["7"], "labels were of the type int so far and are of str now: choose one"),
        ([7.0], "labels were of the type int so far and are of float now: choose one"),
        ([True], "labels were of the type int so far and are of bool now: choose one"),
        ([None], "labels must be strings, numbers or bools, not NoneType: turn them into one"),
        ([b"7"], "labels must be strings, numbers or bools, not bytes: turn them into one"),
        ([[7, 8]], "give labels one by one, not in a list: write forget(*labels)"),
        ([np.array([7])], "give labels one by one, not in a ndarray: write forget(*labels)"),
        ([7, {8}], "give labels one by one, not in a set: write forget(*labels)"),
        ([], "there is no label: give one or more"),
    ],
)
def test_labels_to_forget_are_of_the_type_of_the_others(given, told):
    estimator = fitted(7, 8, 9)
    assert sentence(lambda: estimator.forget(*given)) == told
    assert estimator.classes_.tolist() == [7, 8, 9]


@pytest.mark.parametrize("label", [7, np.int64(7), np.uint8(7)])
def test_numbers_of_numpy_are_forgotten_too(label):
    estimator = fitted(7, 8, 9)
    assert estimator.forget(label, label) == {7: pytest.approx(1 / 3)}
    assert estimator.classes_.tolist() == [8, 9]


def test_strings_are_forgotten_one_by_one():
    estimator = fitted("ant", "bee", "cat")
    assert [*estimator.forget("ant", np.str_("cat"))] == ["ant", "cat"]


def test_a_class_that_is_not_there_cannot_be_forgotten():
    told = sentence(lambda: fitted(1, 2).forget(7), ConfigError)
    assert told == "unknown class '7': choose from 1, 2"


@pytest.mark.parametrize("k", [0, -1, 1.5, "2"])
def test_there_is_no_top_of_less_than_one(k):
    assert sentence(lambda: fitted(1, 2).top_k(np.zeros((1, 4)), k)) == (
        f"k must be a whole number of at least 1, not {k!r}: give another"
    )


def test_labels_must_be_among_the_classes_that_are_given():
    X, y = np.random.default_rng(0).normal(size=(12, 4)), np.repeat([1, 2], 6)
    estimator = IncrementalClassifier("none").partial_fit(X, y, classes=[1, 2, 3])
    assert estimator.classes_.tolist() == [1, 2]
    told = "labels must be among the classes 1, 2, not 9: leave these out, or "
    odd = np.repeat([2, 9], 6)
    assert sentence(lambda: estimator.partial_fit(X, odd, classes=[1, 2])) == (
        told + "add them to `classes`"
    )
    assert sentence(lambda: estimator.more(X, odd)) == told + "call partial_fit, which takes any"
    assert sentence(lambda: estimator.partial_fit(X, y, classes=[])) == (
        "there is no label: give one or more"
    )
    assert estimator.model_.counts == (6, 6)


def test_folders_that_hold_no_estimator_are_of_the_store(tmp_path):
    note = tmp_path / "note.txt"
    note.touch()
    for use in (IncrementalClassifier.load, fitted(1).save):
        assert sentence(lambda use=use: use(note), StoreError).startswith(f"{note} is no model")
    assert not issubclass(StoreError, ValueError)
