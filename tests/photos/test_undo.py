"""memoryless undo: back, forward, and what is kept."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from conftest import call
from counted_names import Name, some_names
from databases import edit
from memoryless import Model
from memoryless.errors import ConfigError
from memoryless.model.file import load_state
from memoryless.photos.undo import go_back, undo

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
    assert "memoryless undo model --to 2" in out
    assert load_state(Path("model")).number == 1
    assert call("undo", "model", "--to", "2", capsys=capsys)[0] == 0
    assert load_state(Path("model")).number == 2


def test_names_that_go_are_not_searched_for_in_a_list(monkeypatch):
    before, now = (
        SimpleNamespace(number=n, classes=SimpleNamespace(names=some_names(500))) for n in (2, 1)
    )
    monkeypatch.setattr("memoryless.photos.undo.go_back", lambda *_: (before, now))
    Name.looked_up = 0
    undo(Path("model"))
    assert Name.looked_up < 10 * 500


def test_the_list_changes_nothing(taught, capsys):
    code, out, _ = call("undo", "model", "--list", capsys=capsys)
    assert code == 0
    rows = [line.split() for line in out.splitlines()]
    assert [(row[0], row[3]) for row in rows] == [("1", "learn"), ("2", "learn")]
    assert rows[1][-1] == "current"
    assert load_state(Path("model")).number == 2


def test_a_damaged_model_is_listed_and_can_be_left(taught, capsys):
    edit(Path("model.memoryless"), "UPDATE class SET photos = 9 WHERE state = 2 AND position = 1")
    code, out, err = call("undo", "model", "--list", capsys=capsys)
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == ["1"]
    assert err.startswith("state 2 of model.memoryless is damaged")
    code, _, err = call("undo", "model", capsys=capsys)
    assert code == 3
    assert err.endswith(", or go back by memoryless undo model.memoryless --to 1\n")
    assert call("undo", "model", "--to", "1", capsys=capsys)[0] == 0
    assert load_state("model").classes.names == ("cat", "dog")


def test_before_the_first_state_there_is_nothing(taught):
    go_back(Path("model"))
    with pytest.raises(ConfigError, match="is at its first state"):
        go_back(Path("model"))


def test_a_state_that_is_no_longer_kept(taught):
    model = Model.load("model")
    model.learn(FEATURES, ["elk"] * 20)
    model.save("model", history=0)
    with pytest.raises(ConfigError, match="stores no state before the current one, 3"):
        go_back(Path("model"))
    with pytest.raises(ConfigError, match="has no state 1: choose from 3"):
        go_back(Path("model"), to=1)


def test_what_was_undone_is_still_in_the_file_and_the_card_says_so(tmp_path, capsys):
    model = Model(backbone="none")
    for names in (["cat", "dog"] * 12, ["owl"]):
        model.learn(np.random.default_rng(len(names)).random((len(names), 8)), names)
        model.save(tmp_path / "m")
    go_back(tmp_path / "m")
    _, page, _ = call("show", str(tmp_path / "m"), "--markdown", capsys=capsys)
    assert "owl had a single photo" in page
    assert "per-photo feature" not in page
    model = Model.load(tmp_path / "m")
    model.rename({"cat": "lynx"})
    model.save(tmp_path / "m")
    _, page, _ = call("show", str(tmp_path / "m"), "--markdown", capsys=capsys)
    assert "per-photo feature" in page
