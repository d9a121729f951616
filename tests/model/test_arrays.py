"""Arrays of a stranger's making are refused in one sentence, at once."""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np
import pytest

from databases import put_arrays, put_description, put_part
from memoryless import Model
from memoryless.errors import StoreError
from memoryless.model.description import from_bytes, to_bytes
from memoryless.model.file import check_file, load_state

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
