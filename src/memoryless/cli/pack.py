"""memoryless pack: a model as one file."""

from __future__ import annotations

import shlex
from pathlib import Path


def pack(model: Path, file: Path | None = None, /) -> None:
    """Write the current state of a model as one file, to send or to store.

    The file holds everything that the model needs, and no earlier state. memoryless predict,
    evaluate, show, check and export take it in the place of a folder.

    Parameters
    ----------
    model
        Folder of the model.
    file
        The file to write, which ends in .memoryless; by default beside the folder, with its name.
    """
    from memoryless.card import privacy
    from memoryless.cli.output import say
    from memoryless.cli.wording import size, tell
    from memoryless.images.dataset import counted
    from memoryless.model_folder import pack as write

    done = write(model, file)
    about, name = done.saved.about, shlex.quote(str(done.file))
    classes = counted(len(about["classes"]), "class", "classes")
    tell("packed", f"{done.file}: {classes}, {size(done.size)}, state {done.saved.number}")
    say("")
    for sentence in privacy(about):
        say(sentence)
    say("")
    tell("next", f"memoryless predict {name} PHOTO, or memoryless unpack {name} MODEL to teach it")
