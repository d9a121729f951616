"""Descriptions hold what a model has, in bounds; an error names the path."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import msgspec
import pytest

from conftest import SMALL_MODEL, call, draw_birds
from databases import put_description
from hostile_models import TEXTS
from memoryless import Model
from memoryless.errors import ConfigError, StoreError
from memoryless.model.classes import Classes
from memoryless.model.description import Description, check_history, decode, encode, problems
from memoryless.model.file import load_state

ABOUT = Description(memoryless="0.5.0", method="fixed+lda", seed=0, labels="str", history=5)


def test_a_description_comes_back():
    assert decode(encode(ABOUT, "m"), "m") == ABOUT


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"history": 1001}, "$.history"),
        ({"history": 2.5}, "$.history"),
        ({"seed": "0"}, "$.seed"),
        ({"labels": "list"}, "$.labels"),
        ({"forgotten": "yesterday"}, "$.forgotten"),
        ({"exemplars": 20}, "exemplars"),
        ({"backbone": {"name": "x", "sha256": "../../etc/passwd"}}, "$.backbone.sha256"),
        ({"confidence": {"temperature": 0, "threshold": 1.0}}, "$.confidence.temperature"),
        ({"record": {"mean": -1}}, "$.record[...]"),
        ({"learned": [{"date": "2026-11-16T12:00:00Z", "photos": -1}]}, "$.learned[0].photos"),
        (
            {"preparation": {"size": 10**9, "crop": 1, "mean": [0], "std": [1]}},
            "$.preparation.size",
        ),
    ],
)
def test_what_is_out_of_bounds_is_named_by_its_path(change, path):
    text = json.dumps(json.loads(msgspec.json.encode(ABOUT)) | change)
    with pytest.raises(StoreError) as error:
        decode(text, "m.memoryless")
    assert str(error.value).startswith("m.memoryless: its description is damaged (")
    assert path in str(error.value)


@pytest.mark.parametrize("text", TEXTS)
def test_texts_that_are_no_description(text):
    with pytest.raises(StoreError, match="its description is damaged"):
        decode(text, "m")


def test_what_could_not_be_read_is_not_written():
    with pytest.raises(StoreError, match=r"\$.history"):
        encode(msgspec.structs.replace(ABOUT, history=2000), "m")


@pytest.mark.parametrize("history", [-3, "x", 2.5, 1001, 99999999999999999999, True])
def test_an_impossible_history_is_refused_before_anything_is_done(history, tmp_path):
    with pytest.raises(ConfigError, match="is no number of states: choose 0 to 1,000"):
        check_history(history)
    with pytest.raises(ConfigError, match="is no number of states"):
        Model(backbone="none").save(tmp_path / "m", history=history)
    assert list(tmp_path.iterdir()) == []


def test_fixed_features_have_no_settings_of_training():
    keys = json.loads(encode(Model(backbone="none")._stored(None)[0], "m"))
    assert keys["train"] is None
    assert set(keys) == set(Description.__struct_fields__)
    assert not {"settings", "kd_weight", "exemplars", "epochs"} & set(keys)


def test_trained_features_have_theirs():
    model = Model("finetune+lda", **SMALL_MODEL)
    model.learn(*draw_birds(0, 1))
    about, contents = model._stored(None)
    assert about.train.settings["epochs"] == 2
    assert not {"kd_weight", "lambda_base", "memory", "exemplars"} & set(about.train.settings)
    assert set(contents) == {"features", "record", "scorer", "network"}
    assert list(problems(about, model._classes, contents)) == []


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("trained") / "m.memoryless"
    model = Model("finetune+lda", **SMALL_MODEL)
    model.learn(*draw_birds(0, 1))
    model.save(path)
    return path


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"size": None}, "train.size is missing"),
        ({"settings": {}}, "train.settings: backbone must be text, not None"),
        ({"settings": {"epoch": 3}}, "train.settings: 'epoch' is no setting"),
        ({"settings": {"crop": 7.0}}, "crop must be a number up to 1.0, not 7.0"),
    ],
)
def test_what_training_needs_is_there_and_in_bounds(change, told, trained, tmp_path, capsys):
    path = Path(shutil.copy(trained, tmp_path))
    train = load_state(path, names=()).description.train
    put_description(path, train=msgspec.to_builtins(train) | change)
    with pytest.raises(StoreError) as error:
        Model.load(path)
    assert told in str(error.value)
    assert "is damaged" in str(error.value)
    code, out, err = call("check", str(path), capsys=capsys)
    assert code == 3
    assert told in out + err


@pytest.mark.parametrize("key", ["backbone", "preparation"])
def test_a_model_that_was_trained_has_a_graph(key, trained, tmp_path):
    path = Path(shutil.copy(trained, tmp_path))
    put_description(path, **{key: None})
    with pytest.raises(StoreError, match=r"m.memoryless is damaged \("):
        Model.load(path)


def test_what_contradicts_itself_is_told():
    classes = Classes(names=("a", "a"), counts=(3, 4), first=(0, 1))
    told = list(problems(ABOUT, classes, ["record"]))
    assert told == [
        "it has the parts record",
        "two classes have one name",
        "a class comes from a state that it does not tell of",
    ]
