"""The folder of a model is its own: nothing else is written there, and no photo above all."""

from __future__ import annotations

from pathlib import Path

from memoryless.errors import WriteError


def check_apart(path: Path) -> None:
    """Raise if a file or folder to be written would lie in the folder of a model."""
    whole = path.resolve()
    for folder in (whole, *whole.parents):
        if (folder / "CURRENT").is_file() and (folder / "states").is_dir():
            raise WriteError(f"{path} would lie in a model's own folder: name a place elsewhere")
