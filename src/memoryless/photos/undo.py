"""memoryless undo: return to another stored state of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from memoryless.errors import ConfigError
from memoryless.model.description import State
from memoryless.model.file import kept_states, load_state, writing
from memoryless.names import counted, first_ten
from memoryless.output import command, paragraph, print_line
from memoryless.photos.show import kept, print_problem, print_states


def go_back(path: Path, to: int | None = None) -> tuple[State | None, State]:
    """Make a stored state the current one: `to`, or the one before.

    Return the state that was current, and the one that is. The former is not read where `to` names
    another, since it may be the damaged one.
    """
    load_state(path, to, names=())  # raises where there is no model, or no such state
    with writing(path, () if to is None else None) as writer:
        left = writer.before
        to = _before(left) if left else to
        assert to is not None
        return left, writer.switch(to)


def _before(state: State) -> int:
    """Return the number of the state before, if it is stored."""
    if state.parent in [other.number for other in kept_states(state.path)[0]]:
        assert state.parent
        return state.parent
    forgotten = state.description.forgotten
    if state.parent is None and forgotten:
        raise ConfigError(
            f"{state.path} forgot classes on {forgotten} and deleted all states before that: learn "
            "the classes again"
        )
    if state.parent is None and state.number == 1:
        raise ConfigError(f"{state.path} is at its first state: delete the file to start over")
    raise ConfigError(
        f"{state.path} stores no state before the current one, {state.number}: learn with a larger "
        "`history` to store more"
    )


def undo(
    model: Path,
    /,
    *,
    list_states: Annotated[bool, Parameter(name="--list", negative=())] = False,
    to: int | None = None,
) -> None:
    """Go back to the state before the last change.

    The undone state is kept until the model changes again.

    Parameters
    ----------
    model
        File of the model.
    list_states
        List the stored states, and change nothing.
    to
        Number of the state to go to, back or forward.
    """
    if list_states:
        print_states(kept(model, print_problem))
        return
    before, now = go_back(model, to)
    classes = counted(len(now.classes.names), "class", "classes")
    paragraph(f"{model} is back at state {now.number}: {classes}.")
    if before:
        known, old = set(now.classes.names), set(before.classes.names)
        gone = [name for name in before.classes.names if name not in known]
        back = [name for name in now.classes.names if name not in old]
        if gone:
            print_line("without", first_ten(gone))
        if back:
            print_line("again", first_ten(back))
        print_line("forward", command("undo", model, "--to", before.number))
