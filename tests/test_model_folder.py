"""The folder of a model: every damage is seen, and a failed save loses nothing."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from conftest import SMALL_MODEL, draw_birds, files
from memoryless import Model
from memoryless.errors import StoreError
from memoryless.model_folder import ABOUT, FILES, load_state
from memoryless.store import write_json


def test_every_flipped_byte_is_seen(taught, tmp_path):
    """Every byte of the small files, every 293rd of the large ones."""
    taught.save(tmp_path)
    for file in files(tmp_path):
        content = file.read_bytes()
        for place in range(0, len(content), 1 if len(content) < 300 else 293):
            damaged = bytearray(content)
            damaged[place] ^= 1 << (place % 8)
            file.write_bytes(bytes(damaged))
            with pytest.raises(StoreError):
                Model.load(tmp_path)
        for length in (0, 1, len(content) // 2, len(content) - 1):
            file.write_bytes(content[:length])
            with pytest.raises(StoreError):
                Model.load(tmp_path)
        file.unlink()
        with pytest.raises(StoreError):
            Model.load(tmp_path)
        file.write_bytes(content)
    assert Model.load(tmp_path).classes == taught.classes


def test_files_of_another_model_are_seen(taught, tmp_path):
    other = Model("inFT_siw_mc", **SMALL_MODEL)
    other.learn(*draw_birds(2, 3))
    for name, model in (("one", taught), ("two", other)):
        model.save(tmp_path / name)
    for file in FILES:
        mine, theirs = (
            tmp_path / n / "states/0001" / f"{file}.safetensors" for n in ("one", "two")
        )
        content = mine.read_bytes()
        mine.write_bytes(theirs.read_bytes())
        with pytest.raises(StoreError, match="is from another model"):
            Model.load(tmp_path / "one")
        mine.write_bytes(content)


def spoil(folder: Path, change) -> None:
    """Change what model.json says, with every checksum made right again."""
    state = folder / "states" / "0001"
    about = load_state(folder).about
    change(about)
    write_json(state / "model.json", about, bound="0001")
    digest = hashlib.sha256((state / "model.json").read_bytes()).hexdigest()
    (folder / "CURRENT").write_text(f"0001 {digest}\n")


ODD = [None, -1, 10**30, "x", [], {}, [1], True, float(10**30)]
SOUND = [("method", "x"), ("memoryless", "x"), ("seed", -1), ("lr", 10**30), ("lr", 1e30)]
SOUND += [("mean", None), ("mean", []), ("mean", [1])]


def odd_values(keys: Iterable[str]) -> list[tuple[str, Any]]:
    return [(key, value) for key in keys for value in ODD if (key, value) not in SOUND]


@pytest.mark.parametrize(("key", "value"), odd_values(ABOUT))
def test_what_a_model_says_is_checked(taught, tmp_path, key, value):
    taught.save(tmp_path)
    spoil(tmp_path, lambda about: about.update({key: value}))
    with pytest.raises(StoreError):
        Model.load(tmp_path)


@pytest.mark.parametrize(
    ("key", "value"), odd_values(["epochs", "width", "lr", "strategy", "transports", "mean"])
)
def test_stored_settings_are_checked(taught, tmp_path, key, value):
    taught.save(tmp_path)
    spoil(tmp_path, lambda about: about["settings"].update({key: value}))
    with pytest.raises(StoreError):
        Model.load(tmp_path)


def test_a_newer_format_names_the_version(taught, tmp_path):
    taught.save(tmp_path)
    spoil(tmp_path, lambda about: about.update(format=2, memoryless="9.1"))
    with pytest.raises(StoreError, match=r"written by memoryless 9.1, which this version cannot"):
        Model.load(tmp_path)


def test_other_folders_are_left_alone(taught, tmp_path):
    (tmp_path / "thesis.doc").write_text("mine")
    with pytest.raises(StoreError, match="holds other files"):
        taught.save(tmp_path)
    with pytest.raises(StoreError, match="there is no model in"):
        Model.load(tmp_path)
    taught.save(tmp_path / "model")
    other = Model("inFT_siw", **SMALL_MODEL)
    other.learn(*draw_birds(4))
    with pytest.raises(StoreError, match="holds another model"):
        other.save(tmp_path / "model")
    mine, theirs = (Model.load(tmp_path / "model") for _ in range(2))
    mine.learn(*draw_birds(2))
    mine.save(tmp_path / "model")
    with pytest.raises(StoreError, match="changed since it was loaded"):
        theirs.save(tmp_path / "model")
    mine.save(tmp_path / "model")
    assert Model.load(tmp_path / "model").classes == mine.classes


def test_a_failed_save_leaves_the_state_before(taught, tmp_path, monkeypatch):
    """Every write that can fail, fails once."""
    taught.save(tmp_path)
    before, more = taught.classes, Model.load(tmp_path)
    more.learn(*draw_birds(2))
    after, seen = None, set()
    for k in range(1, 200):
        calls = 0

        def fail(*arguments, real=None, k=k):
            nonlocal calls
            calls += 1
            if calls == k:
                raise OSError(28, "No space left on device")
            return real(*arguments)

        with monkeypatch.context() as patch:
            for name in ("fsync", "rename", "replace", "mkdir"):
                real = getattr(os, name)
                patch.setattr(os, name, lambda *a, real=real: fail(*a, real=real))
            try:
                more.save(tmp_path)
            except Exception as error:
                assert "No space left" in str(error)
            else:
                after = more.classes
                break
        more._saved = load_state(tmp_path)
        seen.add(tuple(more._saved.about["classes"]))
    assert seen == {before, after}  # the last failures are of what comes after the switch
