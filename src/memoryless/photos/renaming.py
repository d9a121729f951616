"""Another name for a class of a model."""

from __future__ import annotations

import unicodedata
from pathlib import Path

from memoryless.errors import DataError
from memoryless.labels import class_names
from memoryless.model_folder import Saved, load_state
from memoryless.photos.place import teaching


def rename_class(folder: Path, old: str, new: str) -> Saved:
    """Rename a class, and save that as a state of its own."""
    load_state(folder)  # says where there is no model, before a folder is made for one
    with teaching(folder, {}) as (place, model):
        known = old if old in model.classes else unicodedata.normalize("NFC", old)
        name = class_names([new])[new]
        model.rename({known: name})
        if name == known:
            raise DataError(f"{name} is the name of this class already: choose another name")
        return model.save_in(place)
