"""A page that is written replaces a page of ours, and no other file unless that is asked for."""

from __future__ import annotations

from pathlib import Path

from memoryless.errors import WriteError

MARK = '<meta name="generator" content="memoryless">'
"""What the head of every page holds."""
HEAD = 4096  # bytes of a file in which that stands


def check_replaceable(path: Path, force: bool, setting: str) -> None:
    """Raise if a file is there that is no page of ours; `setting` names the page's place."""
    if force or not path.is_file():
        return
    try:
        with path.open("rb") as file:
            ours = MARK.encode() in file.read(HEAD)
    except OSError as error:
        raise WriteError(
            f"cannot write {path} ({error.strerror}): choose another `{setting}`"
        ) from error
    if not ours:
        raise WriteError(
            f"{path} is there and is no page of memoryless: choose another `{setting}`, or add "
            "`force=True` to replace it"
        )
