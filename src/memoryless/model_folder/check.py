"""Everything in a model's folder, read and compared with what it should be."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from memoryless.card import card
from memoryless.errors import StoreError
from memoryless.model_folder.format import PARTS
from memoryless.model_folder.place import LEFT, SYSTEM
from memoryless.model_folder.saved import (
    digest_of,
    load_state,
    numbers,
    read_graph,
    read_state,
    state_path,
    state_problems,
)
from memoryless.store import RESTORE, read_bytes


def check_folder(folder: Path) -> list[str]:
    """What is wrong with a model's folder, one sentence each, after every file was read.

    A sentence that begins with "note: " tells of nothing that harms the model.
    """
    found = []
    try:
        load_state(folder)
    except StoreError as error:
        found.append(str(error))
    for number in numbers(folder):
        problems = [*state_problems(folder, number), *_parent_problems(folder, number)]
        if state_path(folder, number).exists():  # else a writer has just removed it
            found += [p for p in problems if not any(told.startswith(p) for told in found)]
    graphs = [problem for problem in _graph_problems(folder) if problem not in found]
    return [*found, *graphs, *_strangers(folder), *_card_notes(folder)]


def _parent_problems(folder: Path, number: int) -> Iterator[str]:
    """Whether the state that this one follows, if it is kept, is the one that it followed."""
    with suppress(StoreError):
        parent = read_state(folder, number).about["parent"]
        file = parent and state_path(folder, parent["state"]) / "model.json"
        if file and file.exists() and digest_of(file) != parent["sha256"]:
            yield f"the file {file} is not the one that state {number} follows: {RESTORE}"


def _graph_problems(folder: Path) -> Iterator[str]:
    for path in sorted((folder / "backbones").glob("*.onnx")):
        if re.fullmatch("[0-9a-f]{64}", path.stem):
            try:
                read_graph(folder, path.stem)
            except StoreError as error:
                yield str(error)


def _strangers(folder: Path) -> Iterator[str]:
    """Files that are no part of the model."""
    named = {"CURRENT", "README.md", ".lock", *_named_in_states(folder)}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name in named or path.name in SYSTEM or (path.is_dir() and not path.is_symlink()):
            continue
        if LEFT.match(name):
            yield f"note: {path} was left by an interrupted command: the next one removes it"
        elif not re.fullmatch(r"backbones/[0-9a-f]{64}\.onnx", name):
            yield f"the file {path} is no part of the model: move it elsewhere"


def _named_in_states(folder: Path) -> Iterator[str]:
    for number in numbers(folder):
        parts: Sequence[str] = PARTS
        with suppress(StoreError):
            parts = list(read_state(folder, number).about["files"])
        for name in ("model.json", *(f"{part}.safetensors" for part in parts)):
            yield f"states/{number:04d}/{name}"


def _card_notes(folder: Path) -> Iterator[str]:
    file = folder / "README.md"
    with suppress(StoreError):
        if not file.exists() or read_bytes(file) != card(load_state(folder).about).encode():
            yield (
                f"note: {file} is not as this version would write it: the next command that "
                "changes the model writes it anew"
            )
