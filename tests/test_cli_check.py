"""memoryless check: whole, or what is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from conftest import call
from memoryless import Model


@pytest.fixture
def taught(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = Model(backbone="none")
    features = np.random.default_rng(0).random((20, 8)).astype(np.float32)
    model.learn(features, ["cat", "dog"] * 10)
    model.save("model")


def test_a_whole_model(taught, capsys):
    code, out, err = call("check", "model", capsys=capsys)
    assert (code, err) == (0, "")
    assert out == "model is whole: every file of 1 state is as it was written\n"


def test_a_flipped_byte(taught, capsys):
    file = Path("model/states/0001/scorer.safetensors")
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    code, out, err = call("check", "model", capsys=capsys)
    assert (code, out) == (3, "")
    assert err.startswith(f"memoryless: the file {file} is ")


def test_every_problem_is_told_the_last_as_the_error(taught, capsys):
    for name in ("scorer", "record"):
        Path(f"model/states/0001/{name}.safetensors").unlink()
    code, out, err = call("check", "model", capsys=capsys)
    assert code == 3
    assert sorted((out + err.removeprefix("memoryless: ")).splitlines()) == [
        f"the file model/states/0001/{name}.safetensors is missing: restore it from a copy"
        for name in ("record", "scorer")
    ]


def test_what_does_no_harm_is_a_note(taught, capsys):
    Path("model/README.md").write_text("mine")
    code, out, _ = call("check", "model", capsys=capsys)
    assert code == 0
    assert out.startswith("note: model/README.md is not as this version would write it")


def test_there_is_no_model(tmp_path, capsys):
    code, _, err = call("check", str(tmp_path / "x"), capsys=capsys)
    assert code == 3
    assert err == (
        f"memoryless: there is no model in {tmp_path}/x: name a folder that a model was saved in\n"
    )
