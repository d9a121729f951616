"""memoryless rename: another name for a class."""

from __future__ import annotations

import shlex
import unicodedata
from pathlib import Path

from memoryless.errors import DataError
from memoryless.model import Model
from memoryless.model.description import State
from memoryless.model.file import load_state, writing
from memoryless.names import class_names
from memoryless.output import say


def rename_class(path: Path, old: str, new: str) -> State:
    """Rename a class, and save that as a state of its own."""
    load_state(path, names=())  # raises where there is no model
    with writing(path) as writer:
        assert writer.before
        model = Model.of(writer.before)
        known = old if old in model.classes else unicodedata.normalize("NFC", old)
        name = class_names([new])[new]
        model.rename({known: name})
        if name == known:
            raise DataError(f"{name} is the name of this class already: choose another name")
        return model.save_in(writer)


def rename(model: Path, old: str, new: str, /) -> None:
    """Give a class another name.

    Nothing is learned again, and memoryless undo takes it back.

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
    undo = f"memoryless undo {shlex.quote(str(model))}"
    say(f"{old} is called {new} now; {undo} takes it back")
