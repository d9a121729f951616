"""Files and folders that are written whole or not at all, by one process at a time.

Errors of the system become sentences.
"""

from __future__ import annotations

import errno
import json
import math
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from memoryless.errors import BusyError, StoreError, WriteError, cause

LOCK = ".lock"  # its name in a folder; it stays only where a process was killed
RESTORE = "restore it from a copy"
ROOM = "make room, then run the same command again"
OUTPUT = "`output`"  # what errors suggest to change, where nothing else is named
HEAD = 4096  # bytes of a file that is written for people, in which its mark stands
FULL = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)
# What file systems say of syncing a folder where they cannot.
UNSUPPORTED = (errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL)

HELD: set[tuple[int, int]] = set()
"""Device and number of each database that this process holds for writing."""


def check_not_held(status: os.stat_result) -> None:
    """Raise an OSError for a database that this process holds: to close another descriptor of it
    would free SQLite's locks.
    """
    if (status.st_dev, status.st_ino) in HELD:
        raise OSError("the model that is being written")


def to_json(content: Any) -> str:
    """Return strict JSON: numbers that are not finite become null."""
    return json.dumps(_without_nan(content), indent=1, allow_nan=False) + "\n"


def _without_nan(content: Any) -> Any:
    if isinstance(content, Mapping):
        return {key: _without_nan(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_without_nan(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def read_bytes(path: Path, *, fix: str = RESTORE) -> bytes:
    """Return the content of a file."""
    with reading(path, fix):
        return path.read_bytes()


@contextmanager
def reading(path: Path, fix: str) -> Iterator[None]:
    """Turn what reading a file can raise into an error that names it."""
    try:
        if path.exists() and not path.is_file():  # opening a pipe would wait for ever
            raise ValueError("it is not a file")
        yield
    except FileNotFoundError as error:
        raise StoreError(f"the file {path} is missing: {fix}") from error
    except PermissionError as error:
        raise StoreError(f"the file {path} may not be read: change its permissions") from error
    except (SafetensorError, OSError, ValueError, TypeError, RecursionError) as error:
        raise StoreError(f"the file {path} is damaged ({cause(error)}): {fix}") from error


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder for this process alone; the lock ends with the process, however that ends."""
    from filelock import FileLock, Timeout

    path = folder / LOCK
    lock = FileLock(path, timeout=0)
    try:
        make_folder(folder)
        lock.acquire()
    except Timeout as error:
        raise BusyError(
            f"another process is writing in {folder}: wait for it, or choose another {OUTPUT}"
        ) from error
    except OSError as error:
        raise cannot_write(folder, error) from error
    try:
        yield
    finally:
        if lock.is_locked:  # not in a forked child, which never held it
            with suppress(OSError):
                path.unlink()  # while it is held, so that nobody else holds it; Windows cannot
            lock.release()


def commit_folder(folder: Path, fill: Callable[[Path], None]) -> None:
    """Make `folder` appear with everything that `fill` writes, or not at all."""
    draft = folder.with_name(folder.name + ".draft")
    try:
        shutil.rmtree(draft, ignore_errors=True)
        make_folder(draft)
        fill(draft)
        for path in [*draft.rglob("*"), draft]:
            sync(path)
        draft.rename(folder)
        sync(folder.parent)
    except OSError as error:
        raise cannot_write(folder, error) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def write_bytes(path: Path, content: bytes, place: str = OUTPUT) -> None:
    """Write a file whole or not at all, and wait until it is on the disk."""
    draft = path.with_name(path.name + ".draft")
    try:
        make_folder(path.parent)
        with draft.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
        sync(path.parent)
    except OSError as error:
        raise cannot_write(path, error, place) from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


@contextmanager
def making(path: Path, setting: str) -> Iterator[None]:
    """Make a file's folder; within, what the system refuses becomes one sentence that names the
    setting which named the file.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise cannot_write(path, error, f"`{setting}`") from error


def check_replaceable(path: Path, setting: str, mark: str, kind: str, force: bool) -> None:
    """Raise if a file is there that is none of ours, which hold a mark near their beginning.

    `setting` is the one that named the file, and `kind` is what files of ours are.
    """
    if force or not path.is_file():
        return
    with making(path, setting), path.open("rb") as file:
        ours = mark.encode() in file.read(HEAD)
    if not ours:
        raise WriteError(
            f"{path} is there and is no {kind}: choose another `{setting}`, or add `force=True` to "
            "replace it"
        )


def make_folder(folder: Path) -> None:
    """Make a folder and those above it that are missing; each is on the disk before the next."""
    if folder.is_dir():
        return
    try:
        folder.mkdir(exist_ok=True)
    except FileNotFoundError:
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
    sync(folder.parent)


def sync(path: Path) -> None:
    """Wait until a file's content, or the names in a folder, are on the disk."""
    windows = sys.platform == "win32"
    if windows and path.is_dir():  # which cannot be opened there
        return
    descriptor = os.open(path, os.O_RDWR if windows else os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in UNSUPPORTED:
            raise
    finally:
        os.close(descriptor)


def cannot_write(path: Path, error: OSError, place: str = OUTPUT) -> WriteError:
    """Return an error with the system's reason and the fix; `place` is what to change."""
    fix = f"choose another {place}"
    if error.errno in FULL:
        fix = f"{ROOM}; finished states are kept" if place == OUTPUT else ROOM
    if error.errno in FORBIDDEN:
        fix = f"change its permissions or {fix}"
    return WriteError(f"cannot write {path} ({error.strerror}): {fix}")
