"""memoryless rename: another name for a class."""

from __future__ import annotations

import unicodedata
from pathlib import Path

from memoryless.errors import DataError
from memoryless.names import class_names
from memoryless.output import command, paragraph
from memoryless.photos.files import changing


def rename_class(path: Path, old: str, new: str) -> None:
    """Rename a class, and save that as a state of its own."""
    with changing(path) as (_, model):
        known = old if old in model.classes else unicodedata.normalize("NFC", old)
        name = class_names([new])[new]
        model.rename({known: name})
        if name == known:
            raise DataError(f"{name} is the name of this class already: choose another name")


def rename(model: Path, old: str, new: str, /) -> None:
    """Give a class another name.

    Nothing is learned again. To reverse it: memoryless undo.

    Parameters
    ----------
    model
        File of the model.
    old
        The class, as memoryless show names it; after -- it may begin with a dash.
    new
        Its new name.
    """
    rename_class(model, old, new)
    paragraph(f"Renamed {old} to {new}. To undo it: {command('undo', model)}")
