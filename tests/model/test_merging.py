"""Models that merge: by name or one after another, never the same photos twice."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from memoryless import Model
from memoryless.errors import ConfigError, DataError
from memoryless.model.merging import named


def model(*classes: str, d: int = 4) -> Model:
    draws = np.random.default_rng([*"".join(classes).encode()])
    made = Model(backbone="none")
    made.learn(draws.normal(size=(6 * len(classes), d)), [*classes] * 6)
    return made


def test_names_are_given_or_numbers():
    assert named([1, 2]) == {"1": 1, "2": 2}
    assert named([{"north": 1, "south": 2}]) == {"north": 1, "south": 2}


def test_one_after_another_or_by_name():
    north, south = model("cat"), model("dog")
    one, other = Model.merge(north, south), Model.merge({"n": north, "s": south})
    assert one.classes == other.classes == ("cat", "dog")
    assert np.array_equal(one.predict_proba(np.eye(4)), other.predict_proba(np.eye(4)))


def test_a_copy_would_count_photos_twice():
    one = model("cat")
    with pytest.raises(DataError, match="same photos of cat"):
        Model.merge(one, copy.copy(one), same_class="join")


def test_other_features_and_single_models_are_refused():
    with pytest.raises(ConfigError):
        Model.merge(model("cat"), model("dog", d=5))
    with pytest.raises(ConfigError):
        Model.merge(model("cat"))
