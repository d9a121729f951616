"""Descriptions and arrays hold what a model has, in bounds; others are refused in a sentence."""

from __future__ import annotations

import json
import time
from typing import Any

import msgspec
import numpy as np
import pytest

from conftest import SMALL_MODEL, draw_birds
from databases import put_arrays, put_description, put_part
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


@pytest.mark.parametrize("text", ["[" * 100_000, '{"seed": ' + "1" * 9999 + "}", "", "null", '"'])
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
    assert set(contents) == {"features", "record", "scorer", "network"}
    assert list(problems(about, model._classes, contents)) == []


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


def header(entries: Any, data: bytes = b"") -> bytes:
    text = entries if isinstance(entries, bytes) else json.dumps(entries).encode()
    return len(text).to_bytes(8, "little") + text + data


EMPTY = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
OVERLAP = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
RAW = {
    "a header of 2^63 bytes": (2**63 - 1).to_bytes(8, "little"),
    "a header beyond its end": (10**6).to_bytes(8, "little") + bytes(99),
    "overlapping arrays": header({"over.W": OVERLAP, "over.b": OVERLAP}, bytes(8)),
    "deep": header(b"[" * 100_000),
    "200,000 empty arrays": header({f"x{i}": EMPTY for i in range(200_000)}),
    "absurd sizes": header({"x": {"dtype": "F32", "shape": [2**62], "data_offsets": [0, 8]}}),
    "nothing": b"",
    "text": b"a letter to a friend",
}


@pytest.mark.parametrize("kind", RAW)
def test_bytes_that_are_no_arrays(kind, path):
    put_part(path, "scorer", RAW[kind])
    began = time.perf_counter()
    with pytest.raises(StoreError, match=r"the scorer of .* is damaged"):
        Model.load(path).scores(X)
    assert len(list(check_file(path))) == 1
    assert time.perf_counter() - began < 3


WRONG = {
    "rows that are not numbers": ("scorer", {"over.W": np.full((3, 3), np.nan)}, "not all numbers"),
    "rows of another width": ("scorer", {"over.W": np.ones((3, 2))}, "over.W is of the shape"),
    "rows of fewer classes": ("scorer", {"over.b": np.ones(2)}, "over.b is of the shape"),
    "no rows": ("scorer", {"over.W": None}, "missing required field `W`"),
    "sums that are not numbers": ("record", {"mean": np.full((2, 3), np.inf)}, "not all numbers"),
    "no mean": ("record", {"mean": None}, "not of the sizes in the description"),
    "more than there is": ("record", {"x": np.ones(3)}, "not of the sizes in the description"),
    "another scatter": ("record", {"scatter": np.ones(9)}, "not of the sizes in the description"),
    "other counts": ("record", {"count": np.array([20.0, 21])}, "not as in the table of classes"),
    "single precision": ("record", {"mean": np.ones((2, 6), np.float32)}, "in float64"),
}


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
