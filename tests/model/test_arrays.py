"""Arrays of a stranger's making are refused in one sentence, at once."""

from __future__ import annotations

import time

import numpy as np
import pytest
from PIL import Image

from conftest import call
from databases import put_arrays, put_description, put_part
from hostile_models import RAW, WRONG, reading_a_secret
from memoryless import Model
from memoryless.errors import StoreError
from memoryless.model.description import from_bytes
from memoryless.model.file import check_file, load_state
from memoryless.tensors import to_bytes
from photo_toys import draw_photos, make_colours, tiny_settings

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
        Model.load(path)
    assert len(list(check_file(path))) == 1
    assert time.perf_counter() - began < 3


@pytest.mark.parametrize("kind", WRONG)
def test_arrays_that_do_not_fit(kind, path):
    part, arrays, reason = WRONG[kind]
    put_arrays(path, part, **arrays)
    with pytest.raises(StoreError, match=reason):
        load_state(path)
    assert [reason in problem for problem in check_file(path)] == [True]


def test_a_record_without_a_mean_whose_description_says_so_too(path):
    put_arrays(path, "record", mean=None)
    record = dict(load_state(path, names=()).description.record)
    del record["mean"]
    put_description(path, record=record)
    with pytest.raises(StoreError, match="mean is missing"):
        load_state(path, names=["record"])


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
