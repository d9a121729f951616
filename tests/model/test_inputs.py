"""What callers give: several images, as many labels, repeats that are left out together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from memoryless import Model
from memoryless.errors import DataError
from memoryless.model.inputs import Repeats, labelled, several


def test_a_column_of_a_table_becomes_an_array():
    paths = several(pd.Series(["a.jpg", "b.jpg"], index=[7, 3]))
    assert paths.tolist() == ["a.jpg", "b.jpg"]


@pytest.mark.parametrize("one", ["a.jpg", 7, np.zeros((4, 4, 3), np.uint8)])
def test_one_image_is_not_several(one):
    with pytest.raises(DataError):
        several(one)


def test_chunks_get_their_part_of_the_names():
    chunks = [np.zeros((2, 1)), np.zeros((1, 1))]
    assert [names for _, names in labelled(chunks, ["a", "b", "c"])] == [["a", "b"], ["c"]]
    with pytest.raises(DataError, match="3 images and 2 labels"):
        list(labelled(chunks, ["a", "b"]))


def test_equal_rows_share_a_number():
    repeats = Repeats()
    repeats.noted(np.array([[1.0, 2.0], [3.0, 4.0]]))
    repeats.noted(np.array([[1.0, 2.0]]))
    first, second, third = repeats.groups()
    assert first == third != second


def test_a_repeat_in_one_call_is_no_success():
    """Labels at random: without its repeat beside it, every second answer would be wrong."""
    X = np.random.default_rng(0).normal(size=(40, 30))
    labels = ["a", "b"] * 20
    once = Model(backbone="none").learn(X, labels)
    twice = Model(backbone="none").learn(np.concatenate([X, X]), labels * 2)
    assert once.accuracy < 0.75
    assert twice.accuracy < 0.75
