"""Changes to a model's file behind its back, with every digest made right again."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

from memoryless.model import file
from memoryless.tensors import to_bytes


def edit(path: Path, *statements: str) -> None:
    """Run SQL on a model's file."""
    with closing(sqlite3.connect(path)) as db, db:
        for statement in statements:
            db.execute(statement)


def reseal(path: Path) -> None:
    """Make all digests those of the rows that stand there now."""
    with closing(sqlite3.connect(path)) as db, db:
        for number in file._numbers(db):
            row, classes, names = file._rows(db, number)
            digest = file._digest(row[:-1], classes, names)
            db.execute("UPDATE state SET digest = ? WHERE number = ?", (digest, number))
        query = "SELECT number, digest FROM state JOIN current ON number = state"
        db.execute("UPDATE current SET seal = ?", (file._seal(*db.execute(query).fetchone()),))


def put_part(path: Path, name: str, content: bytes) -> None:
    """Other bytes for a part of the current state."""
    digest = sha256(content).hexdigest()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("INSERT OR IGNORE INTO blob VALUES (?, 0, ?)", (digest, content))
        where = "state = (SELECT state FROM current) AND name = ?"
        db.execute(f"UPDATE part SET sha256 = ? WHERE {where}", (digest, name))
        db.execute("DELETE FROM blob WHERE sha256 NOT IN (SELECT sha256 FROM part)")
    reseal(path)


def put_arrays(path: Path, name: str, **arrays: Any) -> None:
    """Other arrays in a part of the current state, or some of them gone."""
    there = file.load_state(path).arrays[name] | arrays
    put_part(path, name, to_bytes({key: a for key, a in there.items() if a is not None}))


def put_description(path: Path, **change: Any) -> None:
    """Other values in the description of the current state."""
    with closing(sqlite3.connect(path)) as db:
        where = "WHERE number = (SELECT state FROM current)"
        (text,) = db.execute(f"SELECT description FROM state {where}").fetchone()
    put_text(path, json.dumps(json.loads(text) | change))


def put_text(path: Path, text: str) -> None:
    """Another text for the description of the current state."""
    with closing(sqlite3.connect(path)) as db, db:
        where = "WHERE number = (SELECT state FROM current)"
        db.execute(f"UPDATE state SET description = ? {where}", (text,))
    reseal(path)


def damage(path: Path, part: str = "scorer", number: int | None = None) -> None:
    """Change one byte of a part's bytes, and no digest."""
    states, current = file.kept_states(path)
    state = next(s for s in states if s.number == (number or current))
    with closing(sqlite3.connect(path)) as db, db:
        where = "WHERE sha256 = ?", (state.parts[part],)
        (content,) = db.execute(f"SELECT bytes FROM blob {where[0]}", where[1]).fetchone()
        changed = content[:-1] + bytes([content[-1] ^ 1])
        db.execute(f"UPDATE blob SET bytes = ? {where[0]}", (changed, *where[1]))
