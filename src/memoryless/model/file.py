"""States in a model's file: read and checked within one transaction, saved all at once.

docs/model-file.md describes the tables. A state's digest covers its rows and the digests of its
bytes; the seal of the current one covers which it is.
"""

from __future__ import annotations

import json
import os
import shlex
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from sqlite3 import Connection
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from memoryless.errors import ConfigError, StoreError, WriteError
from memoryless.model import database
from memoryless.model.classes import Classes, Count, Date, Name, Some
from memoryless.model.database import model_file, reading
from memoryless.model.description import (
    PARTS,
    Description,
    State,
    decode,
    encode,
    now,
    problems,
)
from memoryless.store import RESTORE

PIECE = 64_000_000  # bytes
Row = tuple[Some, Some | None, Date, Annotated[str, Meta(max_length=1000)], str, str]
ClassRow = tuple[Count, Name, Some, Some]
PartRow = tuple[str, str]


def load_state(
    path: Path | str, number: int | None = None, names: Collection[str] = PARTS
) -> State:
    """Return the current state of a file, or a kept one, with some of its parts, all checked."""
    path = model_file(path)
    with reading(path) as db:
        return _loaded(db, path, number, names)


def _loaded(db: Connection, path: Path, number: int | None, names: Collection[str]) -> State:
    if number is not None:
        check_kept(db, path, number)
    with _offering_a_way_back(db, path):
        state = _read_state(db, path, number or _current(db, path))
        return state.with_parts(_contents(db, state, names))


def kept_states(
    path: Path | str, report: Callable[[str], None] = lambda problem: None
) -> tuple[list[State], int | None]:
    """Return the states of a file, oldest first, and the number of the current one, unless that
    is unknown; `report` gets a sentence on each damaged state.
    """
    path, states, current = model_file(path), [], None
    with reading(path) as db:
        try:
            current = _current(db, path)
        except StoreError as error:
            report(str(error))
        for number in _numbers(db):
            try:
                states.append(_read_state(db, path, number))
            except StoreError as error:
                report(str(error))
    return states, current


def _numbers(db: Connection) -> list[int]:
    return [number for (number,) in db.execute("SELECT number FROM state ORDER BY number")]


def check_kept(db: Connection, path: Path, number: int) -> None:
    """Raise unless a state of this number is in the file."""
    there = _numbers(db)
    if number not in there:
        numbers = ", ".join(map(str, there))
        raise ConfigError(f"{path} has no state {number}: choose from {numbers}")


def _current(db: Connection, path: Path) -> int:
    """Return the number of the current state, which its seal must confirm."""
    rows = db.execute("SELECT current.state, seal, digest FROM current JOIN state ON number = "
                      "current.state").fetchall()  # fmt: skip
    if len(rows) != 1 or rows[0][1] != _seal(rows[0][0], rows[0][2]):
        raise StoreError(f"{path} is damaged (which state is the current one is unsure): {RESTORE}")
    number: int = rows[0][0]
    return number


def _seal(number: int, digest: str) -> str:
    return sha256(f"{number} {digest}".encode()).hexdigest()


def _digest(row: Sequence[object], classes: Sequence[object], names: Sequence[object]) -> str:
    """Return the digest of a state's row, those of its classes, and the digests of its parts."""
    text = json.dumps([row, classes, names], ensure_ascii=False, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


def _read_state(db: Connection, path: Path, number: int) -> State:
    """Return a state without its parts."""
    row, classes, names = _rows(db, number)
    where = f"state {number} of {path}"
    if row is None or row[-1] != _digest(row[:-1], classes, names):
        raise StoreError(f"{where} is damaged (its digest differs): {RESTORE}")
    try:
        number, parent, date, done, text, digest = msgspec.convert(row, Row)
        rows = msgspec.convert(classes, list[ClassRow])
        found = dict(msgspec.convert(names, list[PartRow]))
    except msgspec.ValidationError as error:
        raise StoreError(f"{where} is damaged ({error}): {RESTORE}") from error
    about = decode(text, where)
    known = Classes(
        names=tuple(name for _, name, _, _ in rows),
        counts=tuple(photos for _, _, photos, _ in rows),
        first=tuple(state - 1 for _, _, _, state in rows),
        learned=about.learned,
    )
    if [position for position, *_ in rows] != list(range(len(rows))):
        raise StoreError(f"{where} is damaged (positions of classes skip some): {RESTORE}")
    for problem in problems(about, known, found):
        raise StoreError(f"{where} is damaged ({problem}): {RESTORE}")
    (size,) = db.execute("SELECT sum(length(bytes)) FROM part JOIN blob USING (sha256) WHERE "
                         "state = ? AND name != 'features'", (number,)).fetchone()  # fmt: skip
    return State(path, number, parent, date, done, about, known, found, digest, size or 0)


def _rows(db: Connection, number: int) -> tuple[Any, list[Any], list[Any]]:
    """Return what the tables say of a state, in the order of its digest."""
    row = db.execute("SELECT * FROM state WHERE number = ?", (number,)).fetchone()
    classes = db.execute("SELECT position, name, photos, brought_by FROM class WHERE state = ? "
                         "ORDER BY position", (number,)).fetchall()  # fmt: skip
    names = db.execute("SELECT name, sha256 FROM part WHERE state = ? ORDER BY name", (number,))
    return row, classes, names.fetchall()


def _contents(db: Connection, state: State, names: Collection[str]) -> dict[str, bytes]:
    """Return the bytes of those of these parts that a state has."""
    wanted = [name for name in state.parts if name in names]
    return {name: _read_blob(db, state.path, state.parts[name]) for name in wanted}


def _read_blob(db: Connection, path: Path, digest: str) -> bytes:
    """Return the bytes of this digest."""
    rows = db.execute("SELECT bytes FROM blob WHERE sha256 = ? ORDER BY piece", (digest,))
    pieces = [piece for (piece,) in rows]
    sound = all(isinstance(piece, bytes) for piece in pieces)
    content = pieces[0] if len(pieces) == 1 and sound else b"".join(pieces if sound else [])
    if sha256(content).hexdigest() != digest:
        raise StoreError(f"{path} is damaged (a checksum differs): {RESTORE}")
    return content


@contextmanager
def _offering_a_way_back(db: Connection, path: Path) -> Iterator[None]:
    """Add the command that goes back to the newest intact state to an error of a damaged one."""
    try:
        yield
    except StoreError as error:
        for number in reversed(_numbers(db)):
            if not any(_state_problems(db, path, number)):
                command = f"memoryless undo {shlex.quote(str(path))} --to {number}"
                raise StoreError(f"{error}, or go back by {command}") from error
        raise


def _state_problems(db: Connection, path: Path, number: int) -> Iterator[str]:
    """Yield what is damaged of a state and its parts, one sentence each."""
    try:
        state = _read_state(db, path, number)
    except StoreError as error:
        yield str(error)
        return
    for name in state.parts:
        try:
            state.with_parts(_contents(db, state, [name]))
        except StoreError as error:
            yield f"state {number}: {error}"


def check_file(path: Path | str) -> Iterator[str]:
    """Yield what is wrong with a file, one sentence each, after all of it was read."""
    path = model_file(path)
    with reading(path) as db:
        for (problem,) in db.execute("PRAGMA integrity_check"):
            if problem != "ok":
                yield f"{path} is damaged ({problem}): {RESTORE}"
        for table, *_ in db.execute("PRAGMA foreign_key_check"):
            yield f"{path} is damaged (a row of {table} belongs to no state): {RESTORE}"
        try:
            _current(db, path)
        except StoreError as error:
            yield str(error)
        for number in _numbers(db):
            yield from _state_problems(db, path, number)
        unused = "SELECT count(*) FROM blob WHERE sha256 NOT IN (SELECT sha256 FROM part)"
        if db.execute(unused).fetchone() != (0,):
            yield f"{path} holds bytes that belong to no state: {RESTORE}"


class Writer:
    """A file that is held for writing, and the state that is current in it, if there is one."""

    def __init__(self, path: Path, db: Connection | None = None, before: State | None = None):
        self.path, self.before = path, before
        self._db, self._process = db, os.getpid()
        self._was = path.stat() if db else None

    def save(
        self,
        done: str,
        description: Description,
        classes: Classes,
        contents: Mapping[str, bytes],
        alone: bool = False,
    ) -> State:
        """Write a state and make it the current one; of those before, keep as many as its
        description says, or none at all if it stands `alone`.
        """
        self._check_process()
        number, parent, keep = 1, None, 0 if alone else description.history
        if self._db:
            _check_whole(self._db, self.path)
            number = max(_numbers(self._db), default=0) + 1
            parent = self.before.number if self.before and keep else None
        digests = {name: sha256(contents[name]).hexdigest() for name in sorted(contents)}
        for problem in problems(description, classes, digests):
            raise AssertionError(problem)  # ours: nobody could read it
        size = sum(len(content) for name, content in contents.items() if name != "features")
        state = State(
            self.path, number, parent, now(), done, description, classes, digests, "", size
        )
        state = replace(state, digest=_digest(*_as_rows(state)))
        if self._db:
            self._change(lambda db: _add(db, state, contents, keep), erase=alone)
        else:
            _build(state, contents)
        self.before = state
        return state

    def switch(self, number: int) -> State:
        """Make a kept state the current one; the others stay until the next is saved."""
        self._check_process()
        assert self._db is not None
        check_kept(self._db, self.path, number)
        for problem in _state_problems(self._db, self.path, number):
            raise StoreError(problem)
        state = _read_state(self._db, self.path, number)
        self._change(lambda db: _point_to(db, state))
        self.before = state
        return state

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise WriteError(f"{self.path} is held by another process, which this one comes from")

    def _change(self, change: Callable[[Connection], None], erase: bool = False) -> None:
        """Change the database as long as its path leads to it, and commit."""
        assert self._db is not None
        assert self._was is not None
        assert self._db.in_transaction
        database.check_same(self.path, self._was)
        change(self._db)
        database.check_same(self.path, self._was)
        self._db.execute("COMMIT")
        _shrink(self._db, erase)


def _check_whole(db: Connection, path: Path) -> None:
    """Raise if SQLite finds the file damaged: writing could then harm what is still whole."""
    (problem,) = db.execute("PRAGMA quick_check(1)").fetchone()
    if problem != "ok":
        raise StoreError(f"{path} is damaged ({problem}): {RESTORE}")


def _as_rows(state: State) -> tuple[list[Any], list[Any], list[Any]]:
    """Return a state as rows of the tables, in the order of its digest."""
    text = encode(state.description, f"state {state.number} of {state.path}")
    row = [state.number, state.parent, state.date, state.done, text]
    columns = zip(state.classes.names, state.classes.counts, state.classes.first, strict=True)
    classes = [[i, name, count, of + 1] for i, (name, count, of) in enumerate(columns)]
    return row, classes, [list(pair) for pair in sorted(state.parts.items())]


def _build(state: State, contents: Mapping[str, bytes], replaces: bool = False) -> None:
    """Make a file of a state alone appear at its path."""
    size = sum(map(len, contents.values()))
    database.build(state.path, lambda db: _insert(db, state, contents), size, replaces)


def _insert(db: Connection, state: State, contents: Mapping[str, bytes]) -> None:
    """Add the rows of a state, and bytes that are not there yet; make it the current one."""
    row, classes, names = _as_rows(state)
    number = state.number
    db.execute("INSERT INTO state VALUES (?, ?, ?, ?, ?, ?)", (*row, state.digest))
    db.executemany("INSERT INTO class VALUES (?, ?, ?, ?, ?)", [(number, *c) for c in classes])
    db.executemany("INSERT INTO part VALUES (?, ?, ?)", [(number, *name) for name in names])
    _point_to(db, state)
    for name, digest in names:
        if db.execute("SELECT 1 FROM blob WHERE sha256 = ?", (digest,)).fetchone() is None:
            _insert_blob(db, digest, memoryview(contents[name]))


def _insert_blob(db: Connection, digest: str, content: memoryview) -> None:
    for piece, start in enumerate(range(0, len(content), PIECE)):
        values = (digest, piece, content[start : start + PIECE])
        db.execute("INSERT INTO blob VALUES (?, ?, ?)", values)


def _point_to(db: Connection, state: State) -> None:
    """Make a state the current one."""
    db.execute("DELETE FROM current")
    values = (state.number, _seal(state.number, state.digest))
    db.execute("INSERT INTO current VALUES (?, ?)", values)


def _add(db: Connection, state: State, contents: Mapping[str, bytes], keep: int) -> None:
    """Add a state, and delete all but so many of those that it comes from."""
    _insert(db, state, contents)
    line = _line(db, state.number)[: keep + 1]
    gone = [(number,) for number in _numbers(db) if number not in line]
    db.executemany("DELETE FROM state WHERE number = ?", gone)
    db.execute("DELETE FROM blob WHERE sha256 NOT IN (SELECT sha256 FROM part)")


def _line(db: Connection, number: int) -> list[int]:
    """Return the numbers of a state and of those that it comes from, newest first."""
    parents = dict(db.execute("SELECT number, parent FROM state").fetchall())
    line = []
    while number in parents and number not in line:
        line.append(number)
        number = parents[number]
    return line


def _shrink(db: Connection, erase: bool) -> None:
    """Give freed room back to the disk; deleted rows were overwritten with zeros already."""
    (free,), (pages,) = (db.execute(f"PRAGMA {what}").fetchone()
                         for what in ("freelist_count", "page_count"))  # fmt: skip
    if erase or free > pages / 4:
        with suppress(sqlite3.Error):  # no room for a copy: the next change tries again
            db.execute("VACUUM")


@contextmanager
def writing(path: Path | str, names: Collection[str] | None = PARTS) -> Iterator[Writer]:
    """Hold a model, new or there, from before the learning until its state is saved.

    Its current state is read with these parts; where none are named at all, it is not read.
    """
    path = model_file(path)
    if path.exists() or path.is_symlink():
        with database.writing(path) as db:
            yield Writer(path, db, None if names is None else _loaded(db, path, None, names))
        return
    with database.reserved(path):
        if path.exists():
            raise WriteError(f"{path} has just been made by another process: try again")
        yield Writer(path)


def check_unwritten(path: Path | str) -> None:
    """Raise if another process is writing a model: its work would be missing."""
    path = model_file(path)
    if os.access(path, os.W_OK):
        with writing(path, None):
            pass


def export_state(path: Path | str, target: Path, force: bool = False) -> State:
    """Write the current state alone into a new file, or into one that it is to replace."""
    path, target = model_file(path), model_file(target)
    with reading(path) as db:
        state = _loaded(db, path, None, PARTS)
        contents = _contents(db, state, PARTS)
    if target.exists() and target.samefile(state.path):
        raise ConfigError(f"{target} is the model itself: name another file")
    if target.exists() and not force:
        raise WriteError(f"{target} is there already: name another file, or add `force=True`")
    with database.reserved(target):
        _build(replace(state, path=target), contents, force)
    return state


def state_bytes(path: Path | str) -> bytes:
    """Return the bytes of a file with the current state alone, as `export_state` writes one."""
    path = model_file(path)
    with reading(path) as db:
        state = _loaded(db, path, None, PARTS)
        contents = _contents(db, state, PARTS)
    return database.build_bytes(lambda db: _insert(db, state, contents))


def file_bytes(path: Path | str) -> bytes:
    """Return the bytes of a file with every kept state, read within one transaction."""
    with reading(model_file(path)) as db:
        return db.serialize()


def state_of_bytes(content: bytes, name: str) -> State:
    """Return the current state in the bytes of a file of someone else's making, all checked."""
    path = Path(name)
    with database.reading_bytes(content, path) as db:
        return _loaded(db, path, None, PARTS)
