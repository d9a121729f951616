"""Locks: one process at a time writes in a folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from memoryless.errors import WriteError
from memoryless.store import OUTPUT, cannot_write, make_folder


class BusyError(WriteError):
    """A folder that another process is writing in."""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder for this process alone; the lock ends with the process, however that ends."""
    path = folder / ".lock"
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
