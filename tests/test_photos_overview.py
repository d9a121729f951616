"""What is told of a model's folder, and the way back in it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from memoryless import Model
from memoryless.errors import ConfigError
from memoryless.model.file import load_state
from memoryless.photos.overview import go_back, overview
from photo_toys import tiny_settings

FEATURES = np.random.default_rng(0).random((24, 48)).astype(np.float32)


@pytest.fixture
def folder(tmp_path, tiny_backbone) -> Path:
    """A model after two states."""
    model = Model(**tiny_settings(tiny_backbone))
    for names in (["cat", "dog"], ["owl"]):
        model.learn(FEATURES[:20], names * (20 // len(names)))
        model.save(tmp_path / "model")
    return tmp_path / "model.memoryless"


def test_an_overview_tells_everything(folder):
    found = overview(folder)
    assert (found["number"], found["method"], found["seed"]) == (2, "fixed+lda", 0)
    assert found["classes"] == [
        {"class": "cat", "photos": 10, "state": 1},
        {"class": "dog", "photos": 10, "state": 1},
        {"class": "owl", "photos": 20, "state": 2},
    ]
    assert [(s["state"], s["photos"], len(s["classes"])) for s in found["states"]] == [
        (1, 20, 2), (2, 20, 1),
    ]  # fmt: skip
    assert found["states"][1]["classes"] == [{"class": "owl", "photos": 20}]
    assert found["preparation"]["size"] == 16
    assert found["record"]["mean"] == 3 * 48 * 8
    assert found["confidence"]["temperature"] > 0


def test_every_state_has_the_photos_that_it_brought(folder):
    model = Model.load(folder)
    model.learn(FEATURES, ["elk"] * 10 + ["cat"] * 14, more=True)
    model.save(folder)
    found = overview(folder)
    assert [state["classes"] for state in found["states"]] == [
        [{"class": "cat", "photos": 10}, {"class": "dog", "photos": 10}],
        [{"class": "owl", "photos": 20}],
        [{"class": "elk", "photos": 10}],
    ]
    assert [state["more"] for state in found["states"]] == [
        [],
        [],
        [{"class": "cat", "photos": 14}],
    ]
    assert found["classes"][0] == {"class": "cat", "photos": 24, "state": 1}


def test_merged_and_forgetting_models(tiny_backbone, tmp_path):
    parts = {}
    for i, name in enumerate(("a", "b")):
        parts[name] = Model(forgettable=True, **tiny_settings(tiny_backbone))
        parts[name].learn(FEATURES ** (i + 1), [f"cat {name}", f"dog {name}"] * 12)
    model = Model.merge(parts)
    model.save(tmp_path / "model")
    found = overview(tmp_path / "model")
    assert [state["model"] for state in found["states"]] == ["a", "b"]
    assert found["confidence"]["averaged"] and found["forgettable"]
    assert found["forgotten"] is None
    model.forget("cat b")
    model.save(tmp_path / "model")
    assert overview(tmp_path / "model")["forgotten"]


def test_back_and_forward(folder):
    left, now = go_back(folder)
    assert left is not None and (left.number, now.number) == (2, 1)
    assert list(load_state(folder).classes.names) == ["cat", "dog"]
    left, now = go_back(folder, to=2)
    assert (left, now.number) == (None, 2)


def test_before_the_first_state_there_is_nothing(folder):
    go_back(folder)
    with pytest.raises(ConfigError) as error:
        go_back(folder)
    assert str(error.value) == (
        f"{folder} is at its first state, and nothing was before it: delete the file to start over"
    )


def test_a_state_that_is_no_longer_kept(folder):
    model = Model.load(folder)
    model.learn(FEATURES[:20], ["elk"] * 20)
    model.save(folder, history=0)
    with pytest.raises(ConfigError) as error:
        go_back(folder)
    assert str(error.value) == (
        f"{folder} keeps no state before the current one, 3: learn with a larger `history` to keep "
        "more"
    )
    with pytest.raises(ConfigError) as error:
        go_back(folder, to=1)
    assert str(error.value) == f"{folder} has no state 1: choose from 3"
