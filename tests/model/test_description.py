"""Descriptions and arrays hold what a model has, in bounds; others are refused in a sentence."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest
from PIL import Image

from conftest import SMALL_MODEL, call, draw_birds
from databases import put_arrays, put_description, put_part
from hostile_models import RAW, TEXTS, WRONG, reading_a_secret
from memoryless import Model
from memoryless.errors import ConfigError, StoreError
from memoryless.model.classes import Classes
from memoryless.model.description import (
    Description,
    check_history,
    decode,
    encode,
    from_bytes,
    problems,
    to_bytes,
)
from memoryless.model.file import check_file, load_state
from photo_toys import draw_photos, make_colours, tiny_settings

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


def test_a_model_before_its_first_state_keeps_what_its_own_strategy_reads(tmp_path):
    Model("lwf_kd+linear+lda", kd_weight=3.0).save(tmp_path / "m")
    again = Model.load(tmp_path / "m")
    assert again.settings.kd_weight == 3.0
    assert "lambda_base" not in again._stored(None)[0].train.settings


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
    assert told in str(error.value) and "is damaged" in str(error.value)
    code, out, err = call("check", str(path), capsys=capsys)
    assert code == 3 and told in out + err


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


X = np.random.default_rng(0).normal(size=(40, 3))


@pytest.fixture
def path(tmp_path):
    model = Model(backbone="none")
    model.learn(X, ["a", "b"] * 20)
    model.save(tmp_path / "m")
    return tmp_path / "m.memoryless"


def test_arrays_come_back_and_equal_ones_give_equal_bytes():
    arrays = {"b": np.arange(6.0).reshape(2, 3).T, "a": np.array(3.0)}
    content = to_bytes(arrays)
    assert content == to_bytes(dict(reversed(arrays.items())))
    again = from_bytes(content, "m")
    assert list(again) == ["a", "b"]
    assert all((again[name] == arrays[name]).all() for name in arrays)


@pytest.mark.parametrize("kind", RAW)
def test_bytes_that_are_no_arrays(kind, path):
    put_part(path, "scorer", RAW[kind])
    began = time.perf_counter()
    with pytest.raises(StoreError, match=r"the scorer of .* is damaged"):
        Model.load(path).scores(X)
    assert len(list(check_file(path))) == 1
    assert time.perf_counter() - began < 3


@pytest.mark.parametrize("kind", WRONG)
def test_arrays_that_do_not_fit(kind, path):
    part, arrays, reason = WRONG[kind]
    put_arrays(path, part, **arrays)
    with pytest.raises(StoreError, match=reason):
        load_state(path).arrays(part)
    assert [reason in problem for problem in check_file(path)] == [True]


def test_a_record_without_a_mean_whose_description_says_so_too(path):
    put_arrays(path, "record", mean=None)
    record = dict(load_state(path).description.record)
    del record["mean"]
    put_description(path, record=record)
    with pytest.raises(StoreError, match="mean is missing"):
        load_state(path).arrays("record")


@pytest.mark.parametrize(
    "command",
    ["check m", "predict m drawing.png", "export m out.onnx", "export m out.memoryless",
     "merge out.memoryless m n", "learn m more"],
)  # fmt: skip
def test_a_graph_reads_no_other_file(command, tiny_backbone, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, place in (("m", 0), ("n", 2)):
        model = Model(**tiny_settings(tiny_backbone))
        model.learn(*draw_photos(place, place + 1))
        model.save(name)
    Image.new("RGB", (20, 20)).save("drawing.png")
    make_colours(tmp_path / "more", "red", "blue")
    np.ones(48, np.float32).tofile("secret.bin")
    put_part(tmp_path / "m.memoryless", "features", reading_a_secret(model._current.graph))
    code, out, err = call(*command.split(), capsys=capsys)
    assert code == 3
    assert "m.memoryless is damaged (its graph reads other files): restore it" in out + err
    assert not list(tmp_path.glob("out*"))
