"""A disk that fails at a call, or loses power: what it does is told call by call, and replayed."""

from __future__ import annotations

import errno
import io
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

Call = tuple[Any, ...]  # its name, the path, and what else it is given
NAMES = ("mkdir", "rename", "replace", "unlink", "rmdir")


class Calls:
    """Stands around every call that changes files below `root`, and fails the one that is due."""

    def __init__(self, root: Path, due: int = 0, number: int = errno.EIO):
        self.root, self.due, self.number = root, due, number
        self.tried: list[str] = []
        self.made: list[Call] = []
        """The calls that did what they should."""

    @contextmanager
    def making(self, *call: Any) -> Iterator[None]:
        self.tried.append(call[0])
        if len(self.tried) == self.due:
            raise OSError(self.number, os.strerror(self.number))
        yield
        self.made.append(call)

    @contextmanager
    def watching(self) -> Iterator[Calls]:
        with pytest.MonkeyPatch.context() as patch:
            for name in NAMES:
                patch.setattr(os, name, self._around(name, getattr(os, name)))
            patch.setattr(os, "open", self._opening(os.open))
            patch.setattr(os, "fsync", self._syncing)
            patch.setattr(io, "open", self._opening_file(io.open))
            yield self

    def _within(self, path: Any, dir_fd: int | None = None) -> str | None:
        """The path below the root, or None: other files are none of ours."""
        above = Path(f"/proc/self/fd/{dir_fd}").readlink() if dir_fd is not None else Path()
        whole = above / os.fspath(path)
        if whole.name == ".lock" or not whole.is_relative_to(self.root):
            return None
        return whole.relative_to(self.root).as_posix()

    def _around(self, name: str, real: Any) -> Any:
        def call(path: Any, *more: Any, **options: Any) -> Any:
            inner = self._within(path, options.get("dir_fd"))
            if inner is None:
                return real(path, *more, **options)
            others = [self._within(other) for other in more[: name in ("rename", "replace")]]
            with self.making(name, inner, *others):
                return real(path, *more, **options)

        return call

    def _opening(self, real: Any) -> Any:
        def call(path: Any, flags: int, *more: Any, **options: Any) -> Any:
            inner = self._within(path, options.get("dir_fd"))
            if inner is None:
                return real(path, flags, *more, **options)
            with self.making("open", inner):
                return real(path, flags, *more, **options)

        return call

    def _syncing(self, descriptor: int) -> None:
        """Tells of a sync; the real one would only take time."""
        inner = self._within(Path(f"/proc/self/fd/{descriptor}").readlink())
        if inner is not None:
            with self.making("fsync", inner):
                pass

    def _opening_file(self, real: Any) -> Any:
        def call(path: Any, mode: str = "r", *more: Any, **options: Any) -> Any:
            inner = self._within(path) if isinstance(path, str | os.PathLike) else None
            if inner is None:
                return real(path, mode, *more, **options)
            with self.making("create" if "w" in mode else "read", inner):
                file = real(path, mode, *more, **options)
            return Written(file, inner, self) if "w" in mode else file

        return call


@dataclass
class Written:
    """A file that is written to; if that fails, half of it is there."""

    file: Any
    path: str
    calls: Calls

    def write(self, content: bytes) -> int:
        try:
            with self.calls.making("write", self.path, content):
                return self.file.write(content)
        except OSError:
            self.file.write(content[: len(content) // 2])
            raise

    def flush(self) -> None:
        self.file.flush()

    def fileno(self) -> int:
        return self.file.fileno()

    def __enter__(self) -> Written:
        return self

    def __exit__(self, *error: Any) -> None:
        self.file.close()


@dataclass(eq=False)
class File:
    data: bytes = b""
    synced: bytes = b""

    def after_power_cut(self, rng: random.Random) -> bytes:
        """What is synced is there; of the rest anything may be."""
        if self.data == self.synced:
            return self.data
        cut = self.data[: rng.randrange(len(self.data) + 1)]
        return rng.choice([self.synced, cut, bytes(len(self.data))])


@dataclass(eq=False)
class Folder:
    """Names and what they stand for; a change of names lasts once the folder is synced."""

    names: dict[str, Any] = field(default_factory=dict)
    lasting: dict[str, Any] = field(default_factory=dict)
    changes: list[tuple[str | None, str | None, Any]] = field(default_factory=list)

    def change(self, old: str | None, new: str | None, thing: Any) -> None:
        _rename(self.names, old, new, thing)
        self.changes.append((old, new, thing))

    def sync(self) -> None:
        self.lasting, self.changes = dict(self.names), []

    def after_power_cut(self, rng: random.Random) -> dict[str, Any]:
        """Every change that was not synced may have come about, or not."""
        names = dict(self.lasting)
        for change in self.changes:
            if rng.random() < 0.5:
                _rename(names, *change)
        return names


def _rename(names: dict[str, Any], old: str | None, new: str | None, thing: Any) -> None:
    if old is not None:
        names.pop(old, None)
    if new is not None:
        names[new] = thing


class Disk:
    """A disk on which calls are made again; `cut_power` writes what a power cut leaves of it."""

    def __init__(self, start: Path):
        self.root = self._copy(start)

    def _copy(self, folder: Path) -> Folder:
        things: dict[str, Any] = {}
        for path in folder.iterdir() if folder.exists() else ():
            data = b"" if path.is_dir() else path.read_bytes()
            things[path.name] = self._copy(path) if path.is_dir() else File(data, data)
        return Folder(things, dict(things))

    def _find(self, path: str) -> Any:
        found: Any = self.root
        for name in Path(path).parts:
            found = found.names[name]
        return found

    def make(self, call: Call) -> None:
        name, path, *more = call
        if name in ("open", "read"):
            return
        if name == "fsync":
            thing = self._find(path)
            if isinstance(thing, Folder):
                thing.sync()
            else:
                thing.synced = thing.data
            return
        above, leaf = self._find(Path(path).parent.as_posix()), Path(path).name
        if name == "write":
            above.names[leaf].data += more[0]
        elif name in ("create", "mkdir"):
            above.change(None, leaf, File() if name == "create" else Folder())
        elif name in ("unlink", "rmdir"):
            above.change(leaf, None, None)
        else:
            assert Path(more[0]).parent == Path(path).parent
            above.change(leaf, Path(more[0]).name, above.names[leaf])

    def cut_power(self, place: Path, rng: random.Random) -> None:
        _write(self.root, place, rng)


def _write(folder: Folder, place: Path, rng: random.Random) -> None:
    place.mkdir(exist_ok=True)
    for name, thing in folder.after_power_cut(rng).items():
        if isinstance(thing, Folder):
            _write(thing, place / name, rng)
        else:
            (place / name).write_bytes(thing.after_power_cut(rng))
