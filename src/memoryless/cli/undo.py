"""memoryless undo: back to an earlier state of a model."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def undo(
    model: Path,
    /,
    *,
    list_states: Annotated[bool, Parameter(name="--list", negative=())] = False,
    to: int | None = None,
) -> None:
    """Go back to the state before the last change; a state that is left stays until the next learn.

    Parameters
    ----------
    model
        File of the model.
    list_states
        List the states that are kept, and change nothing.
    to
        Number of the state to go to, back or forward.
    """
    from memoryless.cli import output
    from memoryless.cli.show import kept_table
    from memoryless.names import first_ten, printable
    from memoryless.photos.overview import go_back, kept

    if list_states:
        told = kept(model, lambda problem: print(printable(problem), file=sys.stderr))
        output.show(kept_table(told))
        return
    before, now = go_back(model, to)
    output.say(f"{model} is at state {now.number} again: {len(now.classes.names):,} classes")
    if before:
        gone = [name for name in before.classes.names if name not in now.classes.names]
        if gone:
            output.say(f"no longer known: {first_ten(gone)}")
        name = shlex.quote(str(model))
        output.say(f"to go forward again: memoryless undo {name} --to {before.number}")
