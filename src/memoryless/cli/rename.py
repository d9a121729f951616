"""memoryless rename: another name for a class."""

from __future__ import annotations

import shlex
from pathlib import Path


def rename(model: Path, old: str, new: str, /) -> None:
    """Give a class another name; nothing is learned again, and memoryless undo takes it back.

    Parameters
    ----------
    model
        File of the model.
    old
        The class, as memoryless show names it; after -- it may begin with a dash.
    new
        Its new name.
    """
    from memoryless.cli.output import say
    from memoryless.photos.renaming import rename_class

    rename_class(model, old, new)
    undo = f"memoryless undo {shlex.quote(str(model))}"
    say(f"{old} is called {new} now; {undo} takes it back")
