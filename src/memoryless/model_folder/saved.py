"""States as they stand in a folder, read and checked; readers take no lock."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from memoryless.errors import ConfigError, StoreError
from memoryless.model_folder.archive import NUMBER, opened
from memoryless.model_folder.format import array_problems, described
from memoryless.store import RESTORE, file_size, read_arrays, read_bytes

UNPACKING = "UNPACKING.draft"
"""A folder that is there while a state of elsewhere is written, until the first switch."""


@dataclass(frozen=True)
class Saved:
    """A state as it stands in a folder: its description is read, its arrays when asked for."""

    folder: Path
    number: int
    identity: str
    """The digest of model.json, which holds those of the other files."""
    about: dict[str, Any]
    size: int
    """Bytes of this state's files; a backbone is shared and not among them."""
    _read: dict[str, dict[str, np.ndarray]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def path(self) -> Path:
        return state_path(self.folder, self.number)

    def arrays(self, name: str) -> dict[str, np.ndarray]:
        """The arrays of a part, every byte checked."""
        if name not in self._read:
            with _offering_a_way_back(self.folder, self.number):
                self._read[name] = read_part(self, name)
        return self._read[name]

    def graph(self) -> bytes:
        """The network that gives features, in ONNX, checked; only where features are fixed."""
        with _offering_a_way_back(self.folder, self.number):
            return read_graph(self.folder, self.about["backbone"]["sha256"])


def load_state(folder: Path, number: int | None = None, parts: Sequence[str] = ()) -> Saved:
    """The state that counts in a folder or a packed file, or a kept one.

    The arrays of `parts` are read at once (those that it has), so that no writer can take them
    away meanwhile.
    """
    folder = opened(folder)
    if number is not None:
        with _offering_a_way_back(folder, kept_number(folder, number)):
            return _with_parts(read_state(folder, number), parts)
    while True:
        current = read_current(folder)
        try:
            with _offering_a_way_back(folder, current[0]):
                return _with_parts(read_state(folder, *current), parts)
        except StoreError:
            if read_current(folder) == current:  # else a writer has put another in its place
                raise


def kept_states(folder: Path, report: Callable[[str], None] = lambda problem: None) -> list[Saved]:
    """The states that can be gone back to, or forward to, oldest first; `report` is told of those
    that are damaged.
    """
    states, folder = [], opened(folder)
    for number in numbers(folder):
        try:
            states.append(read_state(folder, number))
        except StoreError as error:
            if state_path(folder, number).exists():  # else a writer has just removed it
                report(str(error))
    return states


def state_path(folder: Path, number: int) -> Path:
    return folder / "states" / f"{number:04d}"


def numbers(folder: Path) -> list[int]:
    """The numbers of the states in a folder, oldest first."""
    names = [path.name for path in inside(folder / "states")]
    return sorted(int(name) for name in names if re.fullmatch(NUMBER, name))


def inside(folder: Path) -> list[Path]:
    """What a folder holds; nothing if it is none."""
    try:
        return sorted(folder.iterdir(), key=lambda path: path.name)
    except (FileNotFoundError, NotADirectoryError, ValueError):  # the last is zipfile's
        return []
    except OSError as error:
        raise StoreError(
            f"the folder {folder} cannot be read ({error.strerror}): change its permissions"
        ) from error


def kept_number(folder: Path, number: int) -> int:
    """The number, if it is one of a state in the folder."""
    there = numbers(folder)
    if not there:
        read_current(folder)  # says that there is no model, or that it is damaged
    if number not in there:
        forgotten = last_forgetting(folder)
        first = forgotten["state"] if forgotten else 0
        told = ", ".join(str(other) for other in there if other >= first)
        why = f"{folder} has no state {number}"
        if forgotten and number < first:
            why = nothing_before(folder, forgotten)
        raise ConfigError(f"{why}: choose from {told}")
    return number


def last_forgetting(folder: Path) -> dict[str, Any] | None:
    """When classes were forgotten last, of the state that counts; of all, if that is damaged."""
    try:
        return read_state(folder, *read_current(folder)).about["forgotten"]
    except StoreError:
        told = [saved.about["forgotten"] for saved in kept_states(folder)]
    return max(filter(None, told), key=lambda forgotten: forgotten["state"], default=None)


def nothing_before(folder: Path, forgotten: Mapping[str, Any]) -> str:
    """Why there is no way back; the fix is to follow."""
    date = forgotten["date"]
    return f"classes were forgotten in {folder} on {date}, and nothing before that is kept"


def read_current(folder: Path) -> tuple[int, str]:
    """The number of the state that counts, and what the digest of its description must be."""
    file = folder / "CURRENT"
    if folder.is_file():
        raise StoreError(f"{folder} is a file: name the folder of a model")
    if not file.exists() and not has_lost_current(folder):
        raise StoreError(f"there is no model in {folder}: name a folder that a model was saved in")
    with _offering_a_way_back(folder, None):
        found = re.fullmatch(rf"{NUMBER} ([0-9a-f]{{64}})\n", read_bytes(file).decode("latin-1"))
        if not found:
            raise StoreError(f"the file {file} is damaged: {RESTORE}")
    return int(found[1]), found[2]


def has_lost_current(folder: Path) -> bool:
    """Whether there are states, and not just those that interrupted first saves leave."""
    if is_unpacking(folder):
        return False
    there = numbers(folder)
    card = (folder / "README.md").exists()  # written after CURRENT
    return bool(there) and (card or any(_has_counted(folder, number) for number in there))


def is_unpacking(folder: Path) -> bool:
    """Whether the states in a folder come from elsewhere and have not counted here yet."""
    switched = (folder / "CURRENT").exists() or (folder / "README.md").exists()
    return (folder / UNPACKING).exists() and not switched


def _has_counted(folder: Path, number: int) -> bool:
    """Whether a state came after another; one that cannot be read may have."""
    try:
        about = read_state(folder, number).about
    except StoreError:
        return True
    return bool(about["parent"]) or (bool(about["forgotten"]) and number > 1)


def read_state(folder: Path, number: int, identity: str | None = None) -> Saved:
    """A state; its description has the digest `identity`, if that is given."""
    file, current = state_path(folder, number) / "model.json", folder / "CURRENT"
    if identity is not None and not file.parent.exists():
        raise StoreError(f"the file {current} names state {number}, which is missing: {RESTORE}")
    about, found = described(file, number), digest_of(file)
    if identity not in (None, found):
        raise StoreError(f"the file {current} is damaged, or {file} (they differ): {RESTORE}")
    files = [file, *(file.parent / f"{name}.safetensors" for name in about["files"])]
    return Saved(folder, number, found, about, sum(map(file_size, files)))


def _with_parts(saved: Saved, parts: Sequence[str]) -> Saved:
    for name in parts:
        if name in saved.about["files"]:
            saved._read[name] = read_part(saved, name)
    return saved


def read_part(saved: Saved, name: str) -> dict[str, np.ndarray]:
    """The arrays of a part of a state."""
    path = saved.path / f"{name}.safetensors"
    arrays, _ = read_arrays(path, bound=name)
    if digest_of(path) != saved.about["files"][name]:
        raise StoreError(f"the file {path} is from another state or model: {RESTORE}")
    for problem in array_problems(saved.about, name, arrays):
        raise StoreError(f"the file {path} is damaged ({problem}): {RESTORE}")
    return arrays


def graph_file(folder: Path, digest: str) -> Path:
    return folder / "backbones" / f"{digest}.onnx"


def read_graph(folder: Path, digest: str) -> bytes:
    """The backbone of this digest."""
    return read_sealed(graph_file(folder, digest), digest)


def read_sealed(file: Path, digest: str) -> bytes:
    """The content of a file, which has this digest."""
    content = read_bytes(file)
    if hashlib.sha256(content).hexdigest() != digest:
        raise StoreError(f"the file {file} is damaged (its checksum differs): {RESTORE}")
    return content


def current_line(saved: Saved) -> str:
    """What stands in CURRENT where this state counts."""
    return f"{saved.number:04d} {saved.identity}\n"


def digest_of(path: Path) -> str:
    return hashlib.sha256(read_bytes(path)).hexdigest()


def state_problems(folder: Path, number: int) -> Iterator[str]:
    """What is damaged of a state."""
    try:
        saved = read_state(folder, number)
    except StoreError as error:
        yield str(error)
    else:
        yield from part_problems(saved)


def part_problems(saved: Saved) -> Iterator[str]:
    """What is damaged of a state's arrays and of the backbone that it names."""
    for name in (*saved.about["files"], "backbone"):
        try:
            if name != "backbone":
                read_part(saved, name)
            elif saved.about["backbone"]:
                read_graph(saved.folder, saved.about["backbone"]["sha256"])
        except StoreError as error:
            yield str(error)


@contextmanager
def _offering_a_way_back(folder: Path, damaged: int | None) -> Iterator[None]:
    """Add the command that goes back to the newest intact state to an error of a damaged one."""
    try:
        yield
    except StoreError as error:
        ways = RESTORE in str(error) and isinstance(folder, Path)  # a packed file has no other
        for number in reversed(numbers(folder) if ways else []):
            if number != damaged and not any(state_problems(folder, number)):
                command = f"memoryless undo {shlex.quote(str(folder))} --to {number}"
                raise StoreError(f"{error}, or go back by {command}") from error
        raise
