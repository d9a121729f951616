"""Labels of each type become names and come back; what cannot be a label is refused."""

from __future__ import annotations

import numpy as np
import pytest

from memoryless.errors import DataError
from memoryless.model.labels import labels_of, names_of


@pytest.mark.parametrize("labels", [["a", "1"], [-3, 2**70], [1.0, -2.0, 1e30], [True, False]])
def test_labels_come_back_from_their_names(labels):
    names, kind = names_of(labels)
    assert len({*names}) == len(labels)
    assert labels_of(names, kind).tolist() == labels
    assert names_of(labels, kind) == (names, kind)


def test_whole_numbers_that_floats_do_not_hold_stay_apart():
    names, kind = names_of(np.array([2**63 + 1, 2**63 + 2, 5], dtype=np.uint64))
    assert (names, kind) == (["9223372036854775809", "9223372036854775810", "5"], "int")


def test_both_zeros_are_one_class():
    assert names_of([0.0, -0.0])[0] == ["0.0", "0.0"]


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ([1, 2.0, True, None], r"not NoneType and bool and float and int"),
        (np.array([b"a"]), r"strings, whole numbers or bools, .* not bytes"),
        ([1.0, 2.5, np.nan, np.inf, 2.5], "2.5, inf, nan is continuous"),
    ],
)
def test_labels_that_name_no_class_are_refused(labels, sentence):
    with pytest.raises(DataError, match=sentence):
        names_of(labels)


@pytest.mark.parametrize("kind", ["int", "float", "bool"])
def test_a_class_that_was_renamed_to_no_label_is_refused(kind):
    with pytest.raises(DataError, match=f"^labels have the type {kind}, and the class 'robin'"):
        labels_of(["robin"], kind)
