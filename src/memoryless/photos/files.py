"""Files that commands write where people say; neither a model nor a file of theirs is replaced."""

from __future__ import annotations

from pathlib import Path

from memoryless.errors import WriteError
from memoryless.model.database import ENDING
from memoryless.store import check_replaceable, making


def check_file(path: Path, setting: str, mark: str, kind: str, force: bool = False) -> None:
    """Raise unless a file may be written; leave none there.

    `setting` is the one that named the file. Files of this `kind` hold the mark near their
    beginning and may be replaced; others only by force.
    """
    if path.suffix == ENDING:  # even to open one would free the locks on it
        raise WriteError(f"{path} is a model: choose another `{setting}`")
    check_replaceable(path, setting, mark, kind, force)
    with making(path, setting):
        there = path.exists()
        path.open("ab").close()
    if not there:
        path.unlink()
