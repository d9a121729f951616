"""A model's SQLite database: opened with our settings, checked to be ours, put in its place.

SQLite's locks belong to the process, and closing any descriptor of the file frees them, so nothing
here or elsewhere opens a model but through SQLite.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from sqlite3 import Connection

from memoryless.errors import BusyError, ConfigError, StoreError, WriteError
from memoryless.store import HELD, RESTORE, ROOM, cannot_write, make_folder, sync

ENDING = ".memoryless"
PLACE = "MODEL"  # what an error tells people to choose another of
APPLICATION = 0x6D6C6573  # "mles" in the file's header
VERSION = 1  # of the tables below
SCHEMA = (
    """CREATE TABLE state (
    number INTEGER PRIMARY KEY,
    parent INTEGER,
    date TEXT NOT NULL,
    done TEXT NOT NULL,
    description TEXT NOT NULL,
    digest TEXT NOT NULL
)""",
    """CREATE TABLE class (
    state INTEGER NOT NULL REFERENCES state ON DELETE CASCADE,
    position INTEGER NOT NULL,
    name TEXT NOT NULL,
    photos INTEGER NOT NULL,
    brought_by INTEGER NOT NULL,
    PRIMARY KEY (state, position)
) WITHOUT ROWID""",
    """CREATE TABLE part (
    state INTEGER NOT NULL REFERENCES state ON DELETE CASCADE,
    name TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    PRIMARY KEY (state, name)
) WITHOUT ROWID""",
    """CREATE TABLE blob (
    sha256 TEXT NOT NULL,
    piece INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (sha256, piece)
)""",
    """CREATE TABLE current (
    state INTEGER NOT NULL REFERENCES state,
    seal TEXT NOT NULL
)""",
)
SETTINGS = (
    "PRAGMA trusted_schema = OFF",
    "PRAGMA foreign_keys = ON",
    "PRAGMA cell_size_check = ON",
    "PRAGMA temp_store = MEMORY",
)
TO_READ = (*SETTINGS, "BEGIN", "SELECT count(*) FROM sqlite_master")  # which locks it for reading
TO_WRITE = (*SETTINGS, "PRAGMA synchronous = FULL", "PRAGMA secure_delete = ON")
READERS_WAIT = 30.0  # seconds, while commits are written
"""SQLite looks again every 0.1 s: beside a writer that never paused, one read of 3,600 found no gap
within 5 s."""
WRITERS_WAIT = 0.3
COMMITS_WAIT = 60_000  # milliseconds, for readers to finish
SMALL_PAGE, LARGE_PAGE = 4096, 65536  # bytes
LARGE = 1_000_000
"""From how many bytes on a file has large pages, from which they are read four times as fast."""
NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EACCES)
"""What a disk without hard links says, such as a USB stick."""
NO_LOCKS = ("SQLITE_IOERR", "SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_PROTOCOL")
"""What SQLite says of places where it can neither lock nor write."""


def model_file(path: Path | str) -> Path:
    """Return the file of a model; a name without a suffix gets one.

    >>> model_file("data/birds").as_posix(), model_file("birds.old").as_posix()
    ('data/birds.memoryless', 'birds.old')
    """
    whole = Path(path)
    if whole.name in ("", ".."):
        raise ConfigError(f"{path} is a folder: name the file of a model")
    return whole if whole.suffix else whole.with_name(whole.name + ENDING)


def connect(path: Path, mode: str, wait: float, statements: tuple[str, ...]) -> Connection:
    """Return a connection in autocommit, after some statements."""
    uri = f"{path.absolute().as_uri()}?{mode}"
    db = sqlite3.connect(uri, uri=True, timeout=wait, isolation_level=None)
    try:
        for statement in statements:
            db.execute(statement)
    except BaseException:
        db.close()
        raise
    return db


@contextmanager
def reading(path: Path) -> Iterator[Connection]:
    """Read a model within one transaction; a change that was interrupted is rolled back first."""
    check_there(path)
    with explained(path, writing=False), closing(_open_to_read(path)) as db:
        check_ours(db, path)
        yield db


def _open_to_read(path: Path) -> Connection:
    """Return a connection that has begun to read."""
    try:
        return connect(path, "mode=rw", READERS_WAIT, TO_READ)
    except sqlite3.OperationalError as error:
        if not error.sqlite_errorname.startswith(NO_LOCKS) or _beside(path, "-journal").exists():
            raise
        return connect(path, "immutable=1", 0, TO_READ)


@contextmanager
def reading_bytes(content: bytes, path: Path) -> Iterator[Connection]:
    """Read a model whose file's bytes are in memory, with every check; errors name the path."""
    if content[:16] != b"SQLite format 3\0" or content[18:20] != b"\1\1":  # no log beside it
        raise StoreError(f"{path} is no model: name a file that memoryless wrote")
    with (
        explained(path, writing=False),
        closing(sqlite3.connect(":memory:", isolation_level=None)) as db,
    ):
        db.deserialize(content)
        for statement in SETTINGS:
            db.execute(statement)
        check_ours(db, path, "memory")
        yield db


@contextmanager
def writing(path: Path) -> Iterator[Connection]:
    """Hold a model that is there: nobody else writes until the end, and everybody can read."""
    check_there(path)
    _tidy(path)
    with explained(path, writing=True):
        was = path.stat()
        with closing(connect(path, "mode=rw", WRITERS_WAIT, TO_WRITE)) as db:
            db.execute("BEGIN IMMEDIATE")
            check_ours(db, path)
            db.execute(f"PRAGMA busy_timeout = {COMMITS_WAIT}")
            check_same(path, was)
            held = was.st_dev, was.st_ino
            HELD.add(held)
            try:
                yield db
            finally:
                HELD.discard(held)
            if db.in_transaction:
                db.execute("ROLLBACK")


def check_same(path: Path, was: os.stat_result) -> None:
    """Raise unless a path still leads to the file that was opened."""
    try:
        same = os.path.samestat(path.stat(), was)
    except OSError:
        same = False
    if not same:
        raise WriteError(
            f"{path} was replaced by another file meanwhile, and is left as it is now: run the "
            "same command again"
        )


def check_there(path: Path) -> None:
    """Raise unless there is a file that may be read."""
    if not path.exists():
        raise StoreError(f"there is no model {path}: name the file that a model was saved in")
    if not path.is_file():
        raise StoreError(f"{path} is no file: name the file of a model")
    if not os.access(path, os.R_OK):
        raise ConfigError(f"{path} may not be read: change its permissions")


def check_ours(db: Connection, path: Path, journal: str = "delete") -> None:
    """Raise unless the database is a model's, with the tables of one and nothing else: a trigger
    of a stranger would run when we write. In a file it has this kind of journal.
    """
    (application,) = db.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION:
        raise StoreError(f"{path} is no model: name a file that memoryless wrote")
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if version > VERSION:
        raise StoreError(
            f"{path} has format {version}, and this version reads format {VERSION}: install a "
            "newer memoryless"
        )
    (kind,) = db.execute("PRAGMA journal_mode").fetchone()
    if version != VERSION or kind != journal or _objects(db) != _our_objects():
        raise StoreError(f"{path} has other tables or settings than a model has: {RESTORE}")


def _objects(db: Connection) -> list[tuple[str, ...]]:
    return db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY 2").fetchall()


@cache
def _our_objects() -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(":memory:")) as db:
        for statement in SCHEMA:
            db.execute(statement)
        return _objects(db)


@contextmanager
def reserved(path: Path) -> Iterator[None]:
    """Hold the name of a new model, by a lock file beside it that frees itself with this process.

    The lock is SQLite's, on an empty database: that works wherever models do.
    """
    lock = _beside(path, ".lock")
    made = [folder for folder in lock.parents if not folder.exists()]
    with _telling(path):
        make_folder(lock.parent)
    try:
        with explained(path, writing=True), closing(_locked(lock)) as db:
            try:
                yield
            finally:
                _remove_lock(lock, db)
    finally:
        with suppress(OSError):
            for folder in made:
                folder.rmdir()  # one that holds something stays


@contextmanager
def _telling(path: Path) -> Iterator[None]:
    """Turn what the system says of writing into a sentence."""
    try:
        yield
    except OSError as error:
        raise cannot_write(path, error, PLACE) from error


def _locked(lock: Path) -> Connection:
    """Lock the lock file, a new one or one that a killed process left."""
    while True:
        if lock.exists() and lock.stat().st_size:
            raise WriteError(f"{lock} is in the way: move it, or choose another {PLACE}")
        db = connect(lock, "mode=rwc", WRITERS_WAIT, ())
        try:
            was = lock.stat()
            db.execute("BEGIN IMMEDIATE")
            if os.path.samestat(lock.stat(), was):
                return db
        except FileNotFoundError:  # its holder has just removed it
            pass
        except BaseException:
            db.close()
            raise
        db.close()


def _remove_lock(lock: Path, db: Connection) -> None:
    """Remove the lock file while it is held, so that nobody else holds it; Windows cannot."""
    if os.name == "nt":
        db.close()
    with suppress(OSError):
        lock.unlink()


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


def _tidy(path: Path) -> None:
    """Remove what somebody who was killed left beside a model that had just been made."""
    if _beside(path, ".lock").exists():
        with suppress(WriteError, StoreError), reserved(path):
            _clear_new(path)


def _clear_new(path: Path) -> Path:
    """Return the name under which a new file is built, after removing what was left there."""
    new = _beside(path, ".new")
    for old in (new, _beside(new, "-journal")):
        old.unlink(missing_ok=True)
    return new


def build(
    path: Path, fill: Callable[[Connection], None], size: int = 0, replaces: bool = False
) -> None:
    """Make a database of about this size appear at a reserved path, whole or not at all."""
    journal = _beside(path, "-journal")
    if journal.exists():
        raise WriteError(f"{journal} belongs to a model that is gone: delete it, then try again")
    with _telling(path):
        new = _clear_new(path)
        try:
            with closing(connect(new, "mode=rwc", WRITERS_WAIT, TO_WRITE)) as db:
                db.execute(f"PRAGMA page_size = {LARGE_PAGE if size > LARGE else SMALL_PAGE}")
                _fill(db, fill)
            _name(new, path, replaces)
            sync(path.parent)
        finally:
            with suppress(OSError):
                _clear_new(path)


def build_bytes(fill: Callable[[Connection], None]) -> bytes:
    """Return the bytes of a new database, which was never on the disk."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        _fill(db, fill)
        return db.serialize()


def _fill(db: Connection, fill: Callable[[Connection], None]) -> None:
    """Make the tables of a new database and their rows."""
    db.execute("BEGIN IMMEDIATE")
    db.execute(f"PRAGMA application_id = {APPLICATION}")
    db.execute(f"PRAGMA user_version = {VERSION}")
    for statement in SCHEMA:
        db.execute(statement)
    fill(db)
    db.execute("COMMIT")


def _name(new: Path, path: Path, replaces: bool) -> None:
    """Give a file its name; unless it replaces another, the name must be free."""
    if replaces:
        new.replace(path)
        return
    try:
        os.link(new, path)  # unlike a rename it fails where the name is taken
    except OSError as error:
        taken = path.exists() or path.is_symlink()
        if taken or error.errno not in NO_LINKS:
            raise
        new.rename(path)  # the lock file is held, so no other model comes between


@contextmanager
def explained(path: Path, writing: bool) -> Iterator[None]:
    """Turn SQLite's errors into sentences."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "")
        raise (_of_writing if writing else _of_reading)(path, name, error) from error


def _of_reading(path: Path, name: str, error: sqlite3.Error) -> StoreError | WriteError:
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return BusyError(f"{path} is being written by another process: wait for it")
    if name.startswith("SQLITE_NOTADB"):
        return StoreError(f"{path} is no model: name a file that memoryless wrote")
    if name.startswith(NO_LOCKS) and _beside(path, "-journal").exists():
        return StoreError(
            f"{path} was left in the middle of a change, and cannot be mended where it is: copy it "
            f"and {path.name}-journal to a folder that can be written"
        )
    return StoreError(f"{path} is damaged ({error}): {RESTORE}")


def _of_writing(path: Path, name: str, error: sqlite3.Error) -> StoreError | WriteError:
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return BusyError(
            f"another process is writing {path}: wait for it, or choose another {PLACE}"
        )
    if name.startswith("SQLITE_FULL"):
        return WriteError(f"cannot write {path} (the disk is full): {ROOM}")
    if name.startswith(("SQLITE_IOERR_LOCK", "SQLITE_IOERR_RDLOCK", "SQLITE_PROTOCOL")):
        return WriteError(f"{path} cannot be locked: choose another {PLACE}, on a disk with locks")
    if name.startswith(NO_LOCKS):
        return WriteError(
            f"cannot write {path} ({error}): change its permissions, repair the disk, or choose "
            f"another {PLACE}"
        )
    return _of_reading(path, name, error)
