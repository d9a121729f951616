"""Another name for a class of a model."""

from __future__ import annotations

from pathlib import Path

from memoryless.data.photos import _class_names
from memoryless.model import Model
from memoryless.model_folder import Saved


def rename_class(folder: Path, old: str, new: str) -> Saved:
    """Rename a class, and save that as a state of its own."""
    model = Model.load(folder)
    model.rename({old: _class_names([new])[new]})
    return model.save(folder)
