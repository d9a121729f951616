"""Labels become names and come back in their type; what is of no one type is refused."""

from __future__ import annotations

import numpy as np
import pytest

from memoryless.errors import DataError
from memoryless.labels import labels_of, names_of


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (np.array(["b", "a", "b"]), "str"),
        (np.array(["b", "a"], dtype=object), "str"),
        (np.array([10, 9, -3]), "int"),
        (np.array([2, 1], dtype=np.uint8), "int"),
        (np.array([2.0, -1.0], dtype=np.float32), "float"),
        (np.array([True, False]), "bool"),
        (np.array([3, np.int64(4)], dtype=object), "int"),
    ],
)
def test_labels_come_back_in_their_type(labels, kind):
    names, found = names_of(labels)
    assert found == kind
    assert all(type(name) is str for name in names)
    again = labels_of(names, kind)
    assert again.tolist() == labels.tolist()
    assert {type(label).__name__ for label in again.tolist()} == {kind}


def test_both_zeros_are_one_class():
    assert names_of(np.array([0.0, -0.0]))[0] == ["0.0", "0.0"]


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        (
            np.array([1, "a"], dtype=object),
            "labels must be of one type, not of 2 (int, str): turn them all into strings, or into "
            "whole numbers",
        ),
        (
            np.array([1, 2.0, True, None], dtype=object),
            "labels must be of one type, not of 4 (NoneType, bool, float, int): turn them all into "
            "strings, or into whole numbers",
        ),
        (
            np.array([b"a"]),
            "labels must be strings, numbers or bools, not bytes_: turn them into one",
        ),
        (
            np.array([1.0, 2.5, np.nan, np.inf, 2.5]),
            "labels name classes, and 2.5, inf, nan is of something continuous: round them, or "
            "turn them into strings",
        ),
    ],
)
def test_labels_that_name_no_class_are_refused(labels, sentence):
    with pytest.raises(DataError) as caught:
        names_of(labels)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("kind", ["int", "float", "bool"])
def test_a_class_that_was_renamed_to_no_label_is_told(kind):
    with pytest.raises(DataError) as caught:
        labels_of(["robin"], kind)
    sentence = f"labels are of the type {kind}, and the class 'robin' is none: rename it"
    assert str(caught.value) == sentence


def test_whole_numbers_that_floats_do_not_hold_stay_apart():
    for labels in ([2**63 + 1, 2**63 + 2, 5], np.array([2**63 + 1, 2**63 + 2, 5], dtype=np.uint64)):
        names, kind = names_of(np.array(labels, dtype=getattr(labels, "dtype", object)))
        assert (names, kind) == (["9223372036854775809", "9223372036854775810", "5"], "int")
