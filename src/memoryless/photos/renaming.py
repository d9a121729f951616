"""Another name for a class of a model."""

from __future__ import annotations

import unicodedata
from pathlib import Path

from memoryless.errors import DataError
from memoryless.model.file import State, load_state
from memoryless.names import class_names
from memoryless.photos.place import teaching


def rename_class(path: Path, old: str, new: str) -> State:
    """Rename a class, and save that as a state of its own."""
    load_state(path, names=())  # says where there is no model
    with teaching(path) as (writer, model):
        known = old if old in model.classes else unicodedata.normalize("NFC", old)
        name = class_names([new])[new]
        model.rename({known: name})
        if name == known:
            raise DataError(f"{name} is the name of this class already: choose another name")
        return model.save_in(writer)
