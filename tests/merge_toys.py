"""Toys of the tests for merging: small models in folders, and merges that must be refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memoryless import Model
from memoryless.errors import MemorylessError
from memoryless.photos.merge import merge_models
from photo_toys import draw_photos, tiny_settings

D = 6


def features(name: str, number: int, seed: int = 0) -> np.ndarray:
    """Features of a class; another seed gives other photos of the same class."""
    centre = np.random.default_rng([*name.encode()]).normal(size=D) * 2
    return centre + np.random.default_rng([seed, *name.encode()]).normal(size=(number, D))


def teach(folder: str, *states: dict[str, int], seed: int = 0, **settings) -> Model:
    """A model of given features in a folder: so many photos of each class in each state."""
    model = Model(backbone="none", **settings)
    for i, state in enumerate(states):
        X = [features(name, number, 10 * seed + i) for name, number in state.items()]
        names = [name for name, number in state.items() for _ in range(number)]
        model.learn(np.concatenate(X), names, more=True)
    model.save(folder)
    return model


TAUGHT = {
    "a": [{"ant": 20, "bee": 15}],
    "b": [{"cat": 12}, {"dog": 14, "cat": 5}],
    "c": [{"elk": 13, "ant": 8}, {"bee": 7, "dog": 6}],
}


def photo_model(folder: str, backbone: Path, *classes: int, **changed) -> None:
    model = Model(**tiny_settings(backbone) | changed)
    model.learn(*draw_photos(*classes))
    model.save(folder)


def teach_north_and_south() -> None:
    """Two models that share no class, the second of two states."""
    teach("north", {"ant": 20, "bee": 15})
    teach("south", {"cat": 12}, {"dog": 30})


def refused(out: str, *paths: str, same_class: Any = "refuse") -> str:
    """The sentence that a merge is refused with; nothing is left of it."""
    there = sorted(Path.cwd().iterdir())
    with pytest.raises(MemorylessError) as error:
        merge_models(Path(out), [Path(path) for path in paths], same_class)
    assert sorted(Path.cwd().iterdir()) == there
    return str(error.value)
