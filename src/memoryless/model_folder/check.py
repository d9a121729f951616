"""Everything in a model's folder, read and compared with what it should be."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from memoryless.card import card
from memoryless.errors import StoreError
from memoryless.model_folder.archive import OURS, archive_of
from memoryless.model_folder.format import PARTS
from memoryless.model_folder.packed import read_whole
from memoryless.model_folder.place import LEFT, SYSTEM
from memoryless.model_folder.saved import (
    Saved,
    inside,
    kept_states,
    load_state,
    part_problems,
    read_graph,
)
from memoryless.store import RESTORE, read_bytes


def check_folder(folder: Path) -> list[str]:
    """What is wrong with a model's folder or a packed file, one sentence each, after every file was
    read.

    A sentence that begins with "note: " tells of nothing that harms the model.
    """
    if folder.is_file():
        return list(_packed_problems(folder))
    found: list[str] = []
    states = kept_states(folder, found.append)
    for saved in states:
        problems = [*part_problems(saved), *_parent_problems(saved, states)]
        found += problems if saved.path.exists() else []  # a writer may just have removed it
    try:
        notes = list(_card_notes(load_state(folder)))
    except StoreError as error:
        notes = [] if any(str(error).startswith(told) for told in found) else [str(error)]
    found += [*_graph_problems(folder), *_strangers(folder, states), *notes]
    return list(dict.fromkeys(found))  # a backbone is of several states


def _packed_problems(file: Path) -> Iterator[str]:
    """Also bytes that no reader looks at must be those that packing would write."""
    try:
        saved, files = read_whole(file)
        told = {"README.md": read_bytes(saved.folder / "README.md")}
    except StoreError as error:
        yield str(error)
        return
    if archive_of(files | told) != read_bytes(file):
        yield f"the file {file} is damaged (a model is packed into other bytes): {RESTORE}"
    yield from _card_notes(saved)


def _parent_problems(saved: Saved, states: Sequence[Saved]) -> Iterator[str]:
    """Whether the state that this one follows, if it is kept, is the one that it followed."""
    parent = saved.about["parent"]
    for other in states:
        if parent and other.number == parent["state"] and other.identity != parent["sha256"]:
            file = other.path / "model.json"
            yield f"the file {file} is not the one that state {saved.number} follows: {RESTORE}"


def _graph_problems(folder: Path) -> Iterator[str]:
    for path in inside(folder / "backbones"):
        if re.fullmatch(r"[0-9a-f]{64}\.onnx", path.name):
            try:
                read_graph(folder, path.stem)
            except StoreError as error:
                yield str(error)


def _strangers(folder: Path, states: Sequence[Saved]) -> Iterator[str]:
    """Files that are no part of the model."""
    surplus = {
        saved.path / f"{part}.safetensors"
        for saved in states
        for part in PARTS
        if part not in saved.about["files"]
    }
    for path in _files_in(folder):
        name = path.relative_to(folder).as_posix()
        if LEFT.match(name):
            yield f"note: {path} was left by an interrupted command: the next one removes it"
        elif path in surplus or not (re.fullmatch(rf"\.lock|{OURS}", name) or path.name in SYSTEM):
            yield f"the file {path} is no part of the model: move it elsewhere"


def _files_in(folder: Path) -> Iterator[Path]:
    """What is in a folder, at any depth and no folder; links are not followed."""
    for place, folders, files in os.walk(folder):  # passes over what a writer has just removed
        links = [name for name in folders if (Path(place) / name).is_symlink()]
        yield from (Path(place) / name for name in sorted([*links, *files]))


def _card_notes(saved: Saved) -> Iterator[str]:
    file = saved.folder / "README.md"
    if not file.is_file() or read_bytes(file) != card(saved.about).encode():
        yield (
            f"note: {file} is not as this version would write it: the next command that changes "
            "the model writes it anew"
        )
