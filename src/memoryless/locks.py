"""Locks: one process at a time writes in a folder."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from memoryless.errors import WriteError
from memoryless.store import OUTPUT, cannot_write, make_folder

FAR = 2**30  # behind the text of a lock file: Windows hides locked bytes from readers
FLAGS = [getattr(os, name, 0) for name in ("O_CLOEXEC", "O_NOFOLLOW", "O_NONBLOCK")]
NO_CHILD, NO_LINK, NO_WAIT = FLAGS  # Windows has none of them

if sys.platform == "win32":
    import msvcrt

    def _take(descriptor: int, shared: bool = False) -> None:
        os.lseek(descriptor, FAR, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError from error
        finally:
            os.lseek(descriptor, 0, os.SEEK_SET)

else:
    import fcntl

    def _take(descriptor: int, shared: bool = False) -> None:
        """Lock an open file, or raise BlockingIOError where another process holds it."""
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)


_held: set[int] = set()  # descriptors of the locks of this process


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder for this process alone; the lock ends with the process, however that ends."""
    while True:
        with _holding(folder) as descriptor:
            if _is_named(descriptor, folder / ".lock"):
                yield
                return


@contextmanager
def _holding(folder: Path) -> Iterator[int]:
    """Hold the lock file that was there when it was opened."""
    descriptor = _open_lock(folder)
    _held.add(descriptor)
    try:
        _lock(descriptor, folder)
        yield descriptor
    finally:
        if descriptor in _held:  # not in a forked child, where the number may be another file's
            _held.remove(descriptor)
            os.close(descriptor)


def _open_lock(folder: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | NO_CHILD | NO_LINK
    try:
        make_folder(folder)
        return os.open(folder / ".lock", flags, 0o666)
    except OSError as error:
        raise cannot_write(folder, error) from error


def _is_named(descriptor: int, path: Path) -> bool:
    """Whether a path still leads to an open file, which its last holder may have removed."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _lock(descriptor: int, folder: Path) -> None:
    try:
        _take(descriptor)
    except BlockingIOError as error:
        raise WriteError(
            f"{_holder(descriptor)} is writing in {folder}: wait for it, or choose another {OUTPUT}"
        ) from error
    except OSError as error:
        raise WriteError(
            f"{folder} cannot be locked ({error.strerror}): choose another {OUTPUT}, on a disk "
            "with locks"
        ) from error
    with suppress(OSError):  # it only tells others who holds the lock
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()} {socket.gethostname()}".encode())


def _holder(descriptor: int) -> str:
    """Who holds a lock, as far as that is told in its file."""
    told = os.read(descriptor, 200).decode(errors="replace").split()
    return f"another process (pid {told[0]} on {told[1]})" if len(told) == 2 else "another process"


def writer_in(folder: Path) -> str | None:
    """Who writes in a folder now; None if nobody does, or if nobody could.

    Nothing is written to find out. A writer that comes in the very instant is told to wait.
    """
    flags = os.O_RDONLY | NO_CHILD | NO_LINK | NO_WAIT
    try:
        descriptor = os.open(folder / ".lock", flags)
    except OSError:
        return None
    try:
        _take(descriptor, shared=True)
    except BlockingIOError:
        return _holder(descriptor)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return None


def _forget_locks() -> None:
    """In a forked child: close the parent's locks, which would else outlive the parent."""
    while _held:
        os.close(_held.pop())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_locks)
