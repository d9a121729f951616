"""The folder of a model: one state that counts, switched at once; every byte is checked.

CURRENT                          the state that counts, and what it must be
states/0002/model.json           method, settings, class names, preparation, digests of the others
states/0002/record.safetensors   all that is kept of the past
states/0002/network.safetensors  backbone and layer, and what the strategy carries on
states/0002/scorer.safetensors   the method, ready to score features
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from memoryless.errors import StoreError
from memoryless.store import (
    ANY,
    RESTORE,
    Within,
    check,
    commit_folder,
    locked,
    read_arrays,
    read_bytes,
    read_json,
    write_bytes,
    write_json,
    write_tensors,
)
from memoryless.strategies import ModelSettings, stored_problems

FORMAT = 1
FILES = ("record", "network", "scorer")
ABOUT = {
    "format": Within(int, 1),
    "memoryless": str,
    "method": str,
    "settings": {str: ANY},
    "seed": int,
    "classes": [str],
    "channels": Within(int, 1, 3),
    "preparation": {"size": Within(int, 1), "mean": [float], "std": [float], "augment": [str]},
    "scorer": {str: ANY},
    "files": dict.fromkeys(FILES, str),
}


@dataclass(frozen=True)
class Saved:
    """A state as it stands in a folder."""

    identity: str
    """The digest of model.json, which holds those of the other files."""
    about: dict[str, Any]
    arrays: Mapping[str, Mapping[str, np.ndarray]]


def save_state(
    folder: Path, about: dict[str, Any], tensors: Mapping[str, Any], before: Saved | None
) -> Saved:
    """Write a state and make it the one that counts; `before` is the one that it follows."""
    with locked(folder):
        there = _check_place(folder, before)
        _keep_only(folder / "states", f"{there:04d}")  # a killed save may have left one
        state = folder / "states" / f"{there + 1:04d}"
        commit_folder(state, lambda draft: _fill(draft, state.name, about, tensors))
        saved = _read(state)
        write_bytes(folder / "CURRENT", f"{state.name} {saved.identity}\n".encode())
        _keep_only(folder / "states", state.name)
        return saved


def _keep_only(states: Path, name: str) -> None:
    for other in states.iterdir() if states.is_dir() else ():
        if other.name != name:
            shutil.rmtree(other, ignore_errors=True)


def _check_place(folder: Path, before: Saved | None) -> int:
    """The number of the state there, if this model may write after it; 0 in an empty folder."""
    names = {path.name for path in folder.iterdir()} - {".lock", "states", "CURRENT.draft"}
    if names - {"CURRENT"}:
        raise StoreError(f"{folder} holds other files: choose another folder, or empty it")
    if not names:
        return 0
    name, identity = _current(folder)
    if before is None or identity != before.identity:
        raise StoreError(
            f"{folder} holds another model, or this one as changed since it was loaded: choose "
            "another folder, or load that one"
        )
    return int(name)


def _fill(draft: Path, name: str, about: dict[str, Any], tensors: Mapping[str, Any]) -> None:
    digests = {}
    for file in FILES:
        path = draft / f"{file}.safetensors"
        write_tensors(path, tensors[file], bound=file)
        digests[file] = _digest(path)
    write_json(draft / "model.json", about | {"files": digests}, bound=name)


def load_state(folder: Path) -> Saved:
    """The state that counts."""
    if not (folder / "CURRENT").is_file():
        raise StoreError(f"there is no model in {folder}: name a folder that a model was saved in")
    name, identity = _current(folder)
    saved = _read(folder / "states" / name)
    if saved.identity != identity:
        raise StoreError(f"the model in {folder} is damaged (CURRENT names another): {RESTORE}")
    return saved


def _current(folder: Path) -> tuple[str, str]:
    text = read_bytes(folder / "CURRENT")
    found = re.fullmatch(rb"(\d{4,9}) ([0-9a-f]{64})\n", text)
    if not found:
        raise StoreError(f"the file {folder / 'CURRENT'} is damaged: {RESTORE}")
    return found[1].decode(), found[2].decode()


def _read(state: Path) -> Saved:
    file = state / "model.json"
    about = read_json(file, bound=state.name)
    if isinstance(about.get("format"), int) and about["format"] > FORMAT:
        raise StoreError(
            f"{file} was written by memoryless {about.get('memoryless')}, which this version "
            "cannot read: install that one"
        )
    check(about, ABOUT, file)
    for problem in _problems(about):
        raise StoreError(f"{file}: {problem}: {RESTORE}")
    arrays = {}
    for name in FILES:
        path = state / f"{name}.safetensors"
        arrays[name], _ = read_arrays(path, bound=name)
        if _digest(path) != about["files"][name]:
            raise StoreError(f"the file {path} is from another model: {RESTORE}")
    return Saved(_digest(file), about, arrays)


def _digest(path: Path) -> str:
    return hashlib.sha256(read_bytes(path)).hexdigest()


def _problems(about: dict[str, Any]) -> Iterator[str]:
    """What is wrong with a model's description beyond its shape."""
    yield from (f"settings: {p}" for p in stored_problems(ModelSettings, about["settings"]))
    classes = about["classes"]
    if len(set(classes)) < len(classes) or not classes:
        yield "classes must be named, each once"
    for key in ("mean", "std"):
        if len(about["preparation"][key]) != about["channels"]:
            yield f"preparation.{key} is not of {about['channels']} channels"
