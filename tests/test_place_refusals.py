"""Folders that are not written in, or not over: someone else's, damaged, full, or unfinished."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from disk import Calls
from folders import GRAPHS, content, save_toy, save_toys
from memoryless.errors import ConfigError, MemorylessError, StoreError, WriteError
from memoryless.model_folder import (
    kept_states,
    load_state,
    switch,
)
from memoryless.model_folder.saved import has_lost_current

Action = Callable[[Path], object]


def error(action: Action, folder: Path) -> tuple[type, str]:
    with pytest.raises(MemorylessError) as caught:
        action(folder)
    return caught.type, str(caught.value)


def test_a_file_in_the_place_of_the_folder(tmp_path):
    folder = tmp_path / "model"
    folder.write_text("mine")
    assert error(save_toy, folder) == (StoreError, f"{folder} is a file: choose another MODEL")
    told = "is no packed model: name the folder of a model, or a file that memoryless pack wrote"
    assert error(load_state, folder) == (StoreError, f"{folder} {told}")
    told = f"{folder} is a file: name the folder of a model"
    assert error(lambda f: switch(f, 1), folder) == (StoreError, told)


def test_a_folder_of_someone_else_is_left_as_it_is(tmp_path):
    (tmp_path / "thesis.doc").write_text("mine")
    assert error(save_toy, tmp_path) == (
        StoreError,
        f"{tmp_path} holds other files (thesis.doc): choose another MODEL, or empty it",
    )
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.doc"]
    (tmp_path / "thesis.doc").rename(tmp_path / ".DS_Store")
    save_toy(tmp_path)


@pytest.mark.parametrize("name", ["backbones/mynet.onnx", "states/Ohio", "backbones/0001"])
def test_folders_of_someone_else_that_are_called_as_ours(name, tmp_path):
    mine = tmp_path / name
    mine.parent.mkdir()
    mine.write_text("mine")
    assert error(save_toy, tmp_path) == (
        StoreError,
        f"{tmp_path} holds other files ({name}): choose another MODEL, or empty it",
    )
    assert content(tmp_path) == {name: b"mine"}


def test_a_backbone_that_is_not_ours_is_left_as_it_is(tmp_path):
    saved = save_toy(tmp_path, graph=GRAPHS[0])
    (tmp_path / "backbones" / "mynet.onnx").write_text("mine")
    save_toy(tmp_path, saved, history=0, graph=GRAPHS[1])
    names = sorted(path.name for path in (tmp_path / "backbones").iterdir())
    assert names[-1] == "mynet.onnx" and len(names) == 2


def test_files_beside_a_model_do_not_stop_it(tmp_path):
    saved = save_toy(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    save_toy(tmp_path, saved)
    assert (tmp_path / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("number", "fix"),
    [
        (errno.EROFS, "change its permissions or choose another MODEL"),
        (errno.EACCES, "change its permissions or choose another MODEL"),
        (errno.ENOSPC, "make room, then run the same command again"),
        (errno.EIO, "choose another MODEL"),
    ],
)
def test_a_disk_that_cannot_be_written(number, fix, tmp_path):
    folder, reason = tmp_path / "model", os.strerror(number)
    with Calls(tmp_path).watching() as calls:
        save_toy(folder)
    for name, path in {
        "mkdir": "",
        "create": "/states/0001.draft/record.safetensors",
        "rename": "/states/0001",
        "replace": "/states/0001.draft/record.safetensors",
    }.items():
        shutil.rmtree(folder)
        due = calls.tried.index(name) + 1
        with Calls(tmp_path, due, number).watching():
            told = error(save_toy, folder)
        assert told == (WriteError, f"cannot write {folder}{path} ({reason}): {fix}")
        folder.mkdir(exist_ok=True)


def test_without_current_nothing_is_written_over(tmp_path):
    """Whoever deleted it by mistake has lost nothing."""
    saved = save_toy(tmp_path)
    (tmp_path / "CURRENT").unlink()
    told = (
        f"the file {tmp_path / 'CURRENT'} is missing: restore it from a copy, or go back by "
        f"memoryless undo {tmp_path} --to 1"
    )
    for action in (save_toy, load_state):
        assert error(action, tmp_path) == (StoreError, told)
    assert switch(tmp_path, 1).identity == load_state(tmp_path).identity == saved.identity


def test_a_first_save_that_was_interrupted_before_the_switch_is_none(tmp_path):
    save_toy(tmp_path)
    for name in ("CURRENT", "README.md"):
        (tmp_path / name).unlink()
    assert error(load_state, tmp_path)[1].startswith("there is no model in ")
    assert save_toy(tmp_path).number == 2
    assert [state.number for state in kept_states(tmp_path)] == [2]


def test_first_saves_may_be_interrupted_before_the_switch_again_and_again(tmp_path, monkeypatch):
    def cut(saved):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("memoryless.model_folder.place._point_to", cut)
        for _ in range(3):
            with pytest.raises(KeyboardInterrupt):
                save_toy(tmp_path)
    assert error(load_state, tmp_path)[1].startswith("there is no model in ")
    assert save_toy(tmp_path).number == 4
    assert [state.number for state in kept_states(tmp_path)] == [4]


@pytest.mark.parametrize("spoil", ["{", None])
def test_states_that_counted_are_known_without_current_and_card(spoil, tmp_path):
    save_toys(tmp_path, 3)
    for name in ("CURRENT", "README.md"):
        (tmp_path / name).unlink()
    for number in (1, 2):
        shutil.rmtree(tmp_path / "states" / f"000{number}")
    if spoil:  # then nobody knows
        (tmp_path / "states" / "0003" / "model.json").write_text(spoil)
    assert has_lost_current(tmp_path)
    assert error(save_toy, tmp_path)[1].startswith(f"the file {tmp_path / 'CURRENT'} is missing")


def test_a_state_that_is_not_kept(tmp_path):
    assert error(lambda folder: switch(folder, 1), tmp_path)[1].startswith("there is no model in ")
    assert not list(tmp_path.iterdir())
    save_toys(tmp_path, 2)
    for action in (lambda folder: switch(folder, 9), lambda folder: load_state(folder, 9)):
        assert error(action, tmp_path) == (
            ConfigError, f"{tmp_path} has no state 9: choose from 1, 2"
        )  # fmt: skip


def test_a_damaged_state_is_not_switched_to(tmp_path):
    save_toys(tmp_path, 2)
    file = tmp_path / "states" / "0001" / "record.safetensors"
    file.write_bytes(file.read_bytes()[:-1])
    assert error(lambda folder: switch(folder, 1), tmp_path)[1].startswith(f"the file {file} is ")
    assert load_state(tmp_path).number == 2


@pytest.mark.parametrize("mask", [0o022, 0o027, 0o077], ids=oct)
def test_files_have_the_modes_that_the_user_asks_for(mask, tmp_path):
    before = os.umask(mask)
    try:
        save_toys(tmp_path / "model", 2, graph=GRAPHS[0])
    finally:
        os.umask(before)
    for path in (tmp_path / "model").rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o777 if path.is_dir() else 0o666) & ~mask
