"""memoryless unpack: a packed model as a folder again."""

from __future__ import annotations

import shlex
from pathlib import Path


def unpack(file: Path, model: Path, /) -> None:
    """Make a folder of a packed model, so that it can be taught; every byte is checked first.

    Parameters
    ----------
    file
        A file that memoryless pack wrote.
    model
        Folder for the model, new or empty.
    """
    from memoryless.cli.wording import tell
    from memoryless.images.dataset import counted
    from memoryless.model_folder import unpack as write

    saved = write(file, model)
    classes = counted(len(saved.about["classes"]), "class", "classes")
    tell("unpacked", f"{model}: {classes}, state {saved.number}")
    tell("next", f"memoryless learn {shlex.quote(str(model))} PHOTOS")
