"""A folder that is held for writing: states are saved and switched at once, or not at all."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from memoryless.card import card
from memoryless.errors import ConfigError, MemorylessError, StoreError, WriteError
from memoryless.locks import locked
from memoryless.model_folder.archive import NUMBER, is_packed
from memoryless.model_folder.format import FORMAT, HISTORY, SHA256, described, ledger, now
from memoryless.model_folder.saved import (
    UNPACKING,
    Saved,
    current_line,
    digest_of,
    graph_file,
    has_lost_current,
    inside,
    is_unpacking,
    kept_number,
    kept_states,
    last_forgetting,
    load_state,
    nothing_before,
    numbers,
    read_current,
    read_graph,
    read_state,
    state_path,
    state_problems,
)
from memoryless.names import first_ten
from memoryless.store import (
    cannot_write,
    commit_folder,
    make_folder,
    read_bytes,
    sync,
    write_bytes,
    write_json,
    write_tensors,
)

PLACE = "MODEL"  # what an error tells people to choose another of
WITHIN = rf"states/{NUMBER}|backbones/[0-9a-f]{{64}}\.onnx"
LEFT = re.compile(rf"(CURRENT|README\.md|UNPACKING|{WITHIN})\.draft")
"""What an interrupted writer leaves; the next one removes it."""
SYSTEM = {".DS_Store", "Thumbs.db", "desktop.ini"}  # file browsers leave them
FIRST = re.compile(rf"\.lock|(CURRENT|UNPACKING)\.draft|states|backbones|({WITHIN})(\.draft)?")
"""All there may be before the first switch."""


@dataclass
class Place:
    """A folder that is held for writing, and the state that counts there, if there is one."""

    folder: Path
    before: Saved | None

    def save(
        self,
        about: Mapping[str, Any],
        tensors: Mapping[str, Mapping[str, Any]],
        graph: bytes | None = None,
        history: int | None = None,
        forgets: bool = False,
    ) -> Saved:
        """Write a state and make it the one that counts; keep `history` of those it comes from, or
        else as many as the state before did.

        A state that forgets classes follows none, and all before it are deleted for good. What is
        known here need not stand in `about`: format, version, date, parent, history, forgotten,
        ledger and digests.
        """
        if history is None:
            history = self.before.about["history"] if self.before else HISTORY
        number = max(numbers(self.folder), default=0) + 1
        whole = self._completed({**about, "history": history}, tensors["record"])
        if forgets:
            whole |= {"parent": None, "forgotten": {"state": number, "date": whole["date"]}}
        if whole["backbone"]:
            _keep_graph(self.folder, whole["backbone"]["sha256"], graph)
        path = state_path(self.folder, number)
        commit_folder(path, lambda draft: _fill(draft, number, whole, tensors), PLACE)
        self.before = read_state(self.folder, number)
        _point_to(self.before)
        if forgets:
            _finish_forgetting(self.before)
        with suppress(OSError, MemorylessError):  # the next writer tries again
            _drop_old(self.folder, number, history)
        return self.before

    def switch(self, number: int) -> Saved:
        """Make a kept state the one that counts; the others stay until the next is saved."""
        for problem in state_problems(self.folder, number):
            raise StoreError(problem)
        self.before = read_state(self.folder, number)
        _point_to(self.before)
        _finish_forgetting(self.before)
        return self.before

    def adopt(self, number: int, files: Mapping[str, bytes]) -> Saved:
        """Write the files of a state of elsewhere, and make it the one that counts; in a folder
        without a model.
        """
        _clear(self.folder)
        with _telling(self.folder):
            make_folder(self.folder / UNPACKING)
        for name in (name for name in files if name.startswith("backbones/")):
            write_bytes(self.folder / name, files[name], PLACE)
        own = {Path(name).name: files[name] for name in files if name.startswith("states/")}
        commit_folder(state_path(self.folder, number), lambda draft: _put(draft, own), PLACE)
        saved = self.switch(number)
        _sweep(self.folder)
        return saved

    def _completed(self, about: Mapping[str, Any], record: Mapping[str, Any]) -> dict[str, Any]:
        parent = self.before and {"state": self.before.number, "sha256": self.before.identity}
        known = {"format": FORMAT, "memoryless": version("memoryless"), "date": now()}
        known |= {"parent": parent, "ledger": ledger(record)}
        known |= {"forgotten": self.before and self.before.about["forgotten"]}
        return known | {key: value for key, value in about.items() if key not in known}


@contextmanager
def writing(folder: Path) -> Iterator[Place]:
    """Hold a folder, new or a model's, from before the learning until its state is saved."""
    with _held(folder):
        there = (folder / "CURRENT").exists() or has_lost_current(folder)
        yield Place(folder, load_state(folder) if there else None)


def save_state(
    folder: Path,
    about: Mapping[str, Any],
    tensors: Mapping[str, Mapping[str, Any]],
    before: Saved | None,
    graph: bytes | None = None,
    history: int | None = None,
    forgets: bool = False,
) -> Saved:
    """Write a state and make it the one that counts; `before` is the one that it follows.

    In a folder without a model anything may be saved, elsewhere only what follows its state.
    """
    with writing(folder) as place:
        if place.before and (before is None or place.before.identity != before.identity):
            raise StoreError(
                f"{folder} holds another model, or this one as changed since it was loaded: choose "
                f"another {PLACE}, or load that one"
            )
        return place.save(about, tensors, graph, history, forgets)


def switch(folder: Path, number: int) -> Saved:
    """Make a kept state the one that counts; the one that counted is not read."""
    refuse_packed(folder)
    kept_number(folder, number)
    with _held(folder):
        kept_number(folder, number)  # it may have been one of a forgotten class
        _check_remembered(folder, number)
        return Place(folder, None).switch(number)


def _check_remembered(folder: Path, number: int) -> None:
    """Raise if a state would bring back what was forgotten; it is there where nobody could tell yet
    that it is to be deleted, because what counts is damaged.
    """
    forgotten = last_forgetting(folder)
    if forgotten and number in _from_before(folder, forgotten):
        raise ConfigError(
            f"{nothing_before(folder, forgotten)}: choose {forgotten['state']} or a later state"
        )


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Hold a folder that a model may be written in, and remove what an interrupted writer left."""
    _check_place(folder)
    with locked(folder, PLACE):
        _sweep(folder)
        current = None
        with suppress(StoreError):  # what is damaged is told by who reads it
            current = read_state(folder, *read_current(folder))
        if current:
            _finish_forgetting(current)
        yield


def refuse_packed(folder: Path) -> None:
    """Raise if what is to be changed is a packed file."""
    if is_packed(folder):
        unpack = f"memoryless unpack {shlex.quote(str(folder))} {PLACE}"
        raise ConfigError(f"{folder} is a packed model, which cannot be changed: {unpack} first")


def _check_place(folder: Path) -> None:
    refuse_packed(folder)
    if folder.exists() and not folder.is_dir():
        raise StoreError(f"{folder} is a file: choose another {PLACE}")
    others = _others(folder)
    if others and "CURRENT" not in others and not has_lost_current(folder):
        raise StoreError(
            f"{folder} holds other files ({first_ten(others)}): choose another {PLACE}, or empty it"
        )


def _others(folder: Path) -> list[str]:
    """What a folder holds, also among states and backbones, beside what a first save leaves."""
    places = (folder, folder / "states", folder / "backbones")
    paths = [path for place in places for path in inside(place) if path.name not in SYSTEM]
    names = [path.relative_to(folder).as_posix() for path in paths]
    return [name for name in names if not FIRST.fullmatch(name)]


@contextmanager
def _telling(folder: Path) -> Iterator[None]:
    """Turn what the system says of writing in a folder into a sentence."""
    try:
        yield
    except OSError as error:
        raise cannot_write(folder, error, PLACE) from error


def _clear(folder: Path) -> None:
    """Delete states that have never counted."""
    with _telling(folder):
        _discard([state_path(folder, number) for number in numbers(folder)])


def _sweep(folder: Path) -> None:
    if is_unpacking(folder):
        _clear(folder)
    for path in _left(folder):
        with suppress(OSError):
            _remove(path)


def _left(folder: Path) -> list[Path]:
    """What an interrupted writer left."""
    places = (folder, folder / "states", folder / "backbones")
    paths = [path for place in places for path in place.glob("*.draft")]
    return [path for path in paths if LEFT.fullmatch(path.relative_to(folder).as_posix())]


def _remove(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def _keep_graph(folder: Path, digest: str, graph: bytes | None) -> None:
    if graph is None or graph_file(folder, digest).exists():
        read_graph(folder, digest)
    else:
        write_bytes(graph_file(folder, digest), graph, PLACE)


def _put(draft: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        write_bytes(draft / name, content, PLACE)


def _fill(draft: Path, number: int, about: dict[str, Any], tensors: Mapping[str, Any]) -> None:
    digests = {}
    for name, part in tensors.items():
        path = draft / f"{name}.safetensors"
        write_tensors(path, part, bound=name, place=PLACE)
        digests[name] = digest_of(path)
    file = draft / "model.json"
    write_json(file, about | {"files": digests}, bound=f"{number:04d}", place=PLACE)
    described(file, number)  # what could not be read is not to count


def _point_to(saved: Saved) -> None:
    """Make a state the one that counts."""
    write_bytes(saved.folder / "CURRENT", current_line(saved).encode(), PLACE)
    with suppress(MemorylessError):  # the state counts already, and a card can be written again
        write_bytes(saved.folder / "README.md", card(saved.about).encode(), PLACE)


def _finish_forgetting(current: Saved) -> None:
    """Delete what tells of forgotten classes, if this state counts after some were: older states,
    rests of them, and a card from before. An interrupted writer may have left any of it.
    """
    forgotten, folder = current.about["forgotten"], current.folder
    if not forgotten:
        return
    try:
        old = _from_before(folder, forgotten)
        _discard([state_path(folder, number) for number in old])
        for path in (left := _left(folder)):
            _remove(path)
        if old or left:
            sync(folder / "states")
    except OSError as error:
        raise WriteError(
            f"classes are forgotten, but {folder / 'states'} still holds states from before, which "
            f"cannot be deleted ({error.strerror}): mend that, and the next command that changes "
            "the model deletes them"
        ) from error
    file, text = folder / "README.md", card(current.about).encode()
    if not file.is_file() or read_bytes(file) != text:
        write_bytes(file, text, PLACE)


def _from_before(folder: Path, forgotten: Mapping[str, Any]) -> list[int]:
    """The states that may still know what was forgotten.

    All that were there, and, where the forgetting was interrupted before it counted and is gone
    back to later, those that were learned meanwhile.
    """
    told = {saved.number: saved.about["forgotten"] for saved in kept_states(folder)}
    return [
        number
        for number in numbers(folder)
        if number < forgotten["state"]
        or (told.get(number, forgotten) or {"state": 0})["state"] < forgotten["state"]
    ]


def _drop_old(folder: Path, number: int, history: int) -> None:
    """Delete states that nothing leads back to any more, and backbones that no other names."""
    keep = _line(folder, number)[: history + 1]
    _discard([state_path(folder, n) for n in numbers(folder) if n not in keep])
    named = [read_state(folder, n).about["backbone"] for n in keep]
    digests = {backbone["sha256"] for backbone in named if backbone}
    graphs = [path for path in inside(folder / "backbones") if path.suffix == ".onnx"]
    own = [path for path in graphs if SHA256.fullmatch(path.stem)]
    _discard([path for path in own if path.stem not in digests])


def _line(folder: Path, number: int) -> list[int]:
    """The numbers of a state and of those that it comes from, newest first."""
    line, there = [number], numbers(folder)
    while True:
        try:
            parent = read_state(folder, line[-1]).about["parent"]
        except StoreError:  # what a damaged state comes from is not known, so all may be it
            return line + [other for other in reversed(there) if other < line[-1]]
        if parent is None or parent["state"] not in there:
            return line
        line.append(parent["state"])


def _discard(paths: Sequence[Path]) -> None:
    """Delete what is not needed: first it loses its name, so that no half of it is ever seen."""
    for path in paths:
        path.rename(path.with_name(path.name + ".draft"))
    for path in paths[:1]:
        sync(path.parent)
        _sweep(path.parents[1])
