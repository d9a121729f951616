"""memoryless show: what a model knows and keeps; it reads no arrays and needs no torch."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from conftest import call
from databases import edit
from memoryless import Model
from memoryless.model.card import card
from memoryless.model.file import load_state
from photo_toys import make_colours, tiny_flags


@pytest.fixture
def taught(tmp_path, tiny_backbone, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    make_colours(Path("first"), "cat", "dog")
    make_colours(Path("second"), "owl", number=20)
    call("learn", "model", "first", *tiny_flags(tiny_backbone), capsys=capsys)
    assert call("learn", "model", "second", capsys=capsys)[0] == 0


def test_for_people(taught, capsys):
    code, out, _ = call("show", "model", capsys=capsys)
    assert code == 0
    assert out.startswith(
        "model     model.memoryless: 3 classes, from 44 photos\nmethod    fixed+lda over onnx:"
    )
    assert " 2 classes with their photos: cat 12, dog 12\n" in out
    assert " 1 class with their photos: owl 20\n" in out
    assert re.search(
        r"keeps     11\.\d kB of averages \(count 24 bytes, mean 1.2 kB, scatter 9.4 kB, ", out
    )
    (current,) = [line.split() for line in out.splitlines() if line.rstrip().endswith("current")]
    assert (current[0], current[3]) == ("2", "3")


def test_of_many_classes_ten_are_named(tmp_path, tiny_backbone, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = [f"class {i:02}" for i in range(12)]
    make_colours(Path("photos"), *names, number=5)
    plan = call("learn", "model", "photos", *tiny_flags(tiny_backbone), capsys=capsys)[1]
    listed = ", ".join(f"{name} 5" for name in names[:10])
    assert f"learns    60 photos of 12 new classes: {listed} and 2 more\n" in plan
    out = call("show", "model", capsys=capsys)[1]
    assert f" 12 classes with their photos: {listed} and 2 more\n" in out
    found = json.loads(call("show", "model", "--json", capsys=capsys)[1])
    assert [c["class"] for c in found["classes"]] == names


def test_more_photos_are_told_with_the_state_that_brought_them(taught, capsys):
    make_colours(Path("third"), "cat", number=20, seed=1)
    make_colours(Path("fourth"), "cat", "elk", number=20, seed=2)
    for place in ("third", "fourth"):
        assert call("learn", "model", place, "--more", capsys=capsys)[0] == 0
    out = call("show", "model", capsys=capsys)[1]
    assert out.startswith("model     model.memoryless: 4 classes, from 104 photos\n")
    states = [line.partition(", ")[2] for line in out.splitlines() if line.startswith("state ")]
    assert states == [
        "2 classes with their photos: cat 12, dog 12",
        "1 class with their photos: owl 20",
        "more photos of cat 20",
        "1 class with their photos: elk 20; more photos of cat 20",
    ]


def test_merged_and_forgetting_models(tmp_path, capsys):
    parts = {}
    features = np.random.default_rng(0).random((24, 5))
    for i, name in enumerate(("north", "south")):
        parts[name] = Model(backbone="none", forgettable=True)
        parts[name].learn(features + i, [f"cat {name}", f"dog {name}"] * 12)
    model = Model.merge(parts)
    model.forget("cat south", "dog south")
    model.save(tmp_path / "model")
    out = call("show", str(tmp_path / "model"), capsys=capsys)[1]
    assert "forgets   exactly, if asked to: each class's own scatter is kept\n" in out
    assert re.search(r"\nforgotten classes, last on 20[-\d]+T[:\d]+Z\n", out)
    assert (
        "averaged  temperature and threshold are the mean of the merged models', until the next "
        "learn\n"
    ) in out
    assert re.search(
        r"state 1   .*, 2 classes with their photos: cat north 12, dog north 12; learned by north\n"
        r"state 2   .*, no class that is still known; learned by south\n", out
    )  # fmt: skip


def test_for_programs(taught, capsys):
    found = json.loads(call("show", "model", "--json", capsys=capsys)[1])
    assert [c["class"] for c in found["classes"]] == ["cat", "dog", "owl"]
    assert [s["number"] for s in found["kept"]] == [1, 2]


def test_a_damaged_earlier_state_is_told(taught, capsys):
    edit(Path("model.memoryless"), "UPDATE state SET date = 'x' WHERE number = 1")
    code, _, err = call("show", "model", capsys=capsys)
    assert code == 0
    assert err == (
        "state 1 of model.memoryless is damaged (its digest differs): restore it from a copy\n"
    )


def test_a_card_in_markdown(taught, capsys):
    code, out, _ = call("show", "model", "--markdown", capsys=capsys)
    assert code == 0
    assert out == card(load_state("model"))
    assert "| owl | 20 | 2 |" in out.splitlines()
