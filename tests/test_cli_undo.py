"""memoryless undo: back, forward, and what is kept."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from conftest import call
from memoryless import Model
from memoryless.model_folder import load_state

FEATURES = np.random.default_rng(0).random((20, 8)).astype(np.float32)


@pytest.fixture
def taught(tmp_path, monkeypatch) -> None:
    """A model after two states, of two classes and of one."""
    monkeypatch.chdir(tmp_path)
    model = Model(backbone="none")
    for names in (["cat", "dog"], ["owl"]):
        model.learn(FEATURES, names * (20 // len(names)))
        model.save("model")


def test_back_and_forward(taught, capsys):
    code, out, _ = call("undo", "model", capsys=capsys)
    assert code == 0
    assert out == (
        "model is at state 1 again: 2 classes\n"
        "no longer known: owl\n"
        "to go forward again: memoryless undo model --to 2\n"
    )
    assert call("undo", "model", "--to", "2", capsys=capsys)[1] == (
        "model is at state 2 again: 3 classes\n"
    )
    assert load_state(Path("model")).number == 2


def test_the_list_changes_nothing(taught, capsys):
    code, out, _ = call("undo", "model", "--list", capsys=capsys)
    assert code == 0
    rows = [line.split() for line in out.splitlines() if "2026" in line or "T" in line]
    assert [(row[0], row[2]) for row in rows] == [("1", "2"), ("2", "3")]
    assert rows[1][-1] == "current"
    assert load_state(Path("model")).number == 2


@pytest.mark.parametrize("name", ["CURRENT", "states/0002/model.json"])
def test_a_damaged_model_is_listed_without_a_current_state(name, taught, capsys):
    Path("model", name).write_text("{}")
    code, out, err = call("undo", "model", "--list", capsys=capsys)
    assert code == 0
    there = ["1", "2"] if name == "CURRENT" else ["1"]
    assert [line.split()[0] for line in out.splitlines() if "T" in line] == there
    assert "current" not in out
    assert err.startswith(f"the file model/{name} is damaged")
    assert err.endswith(f"or go back by memoryless undo model --to {there[-1]}\n")
    assert err.count("\n") == 1


def test_where_nothing_is_kept_there_is_no_list(taught, capsys):
    shutil.rmtree("model/states")
    code, out, err = call("undo", "model", "--list", capsys=capsys)
    assert (code, out) == (3, "")
    assert err == (
        "memoryless: the file model/CURRENT names state 2, which is missing: restore it from a "
        "copy\n"
    )
