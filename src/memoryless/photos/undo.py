"""memoryless undo: back to an earlier state of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from memoryless import output
from memoryless.errors import ConfigError
from memoryless.model.description import State
from memoryless.model.file import kept_states, load_state, writing
from memoryless.names import first_ten
from memoryless.output import command, say
from memoryless.photos.show import kept, kept_table, print_problem


def go_back(path: Path, to: int | None = None) -> tuple[State | None, State]:
    """Make a kept state the current one: `to`, or the one before; gives what was current, and is.

    The current state is not read where `to` names another, since it may be the damaged one.
    """
    load_state(path, to, names=())  # raises where there is no model, or no such state
    with writing(path, () if to is None else None) as writer:
        left = writer.before
        to = _before(left) if left else to
        assert to is not None
        return left, writer.switch(to)


def _before(state: State) -> int:
    """The number of the state before, if it is kept."""
    if state.parent in [other.number for other in kept_states(state.path)[0]]:
        assert state.parent
        return state.parent
    forgotten = state.description.forgotten
    if state.parent is None and forgotten:
        raise ConfigError(
            f"classes were forgotten in {state.path} on {forgotten}, and nothing before that is "
            "kept: learn them again to have them back"
        )
    if state.parent is None and state.number == 1:
        raise ConfigError(
            f"{state.path} is at its first state, and nothing was before it: delete the file to "
            "start over"
        )
    raise ConfigError(
        f"{state.path} keeps no state before the current one, {state.number}: learn with a larger "
        "`history` to keep more"
    )


def undo(
    model: Path,
    /,
    *,
    list_states: Annotated[bool, Parameter(name="--list", negative=())] = False,
    to: int | None = None,
) -> None:
    """Go back to the state before the last change.

    The undone state is kept until the next `learn`.

    Parameters
    ----------
    model
        File of the model.
    list_states
        List the states that are kept, and change nothing.
    to
        Number of the state to go to, back or forward.
    """
    if list_states:
        output.show(kept_table(kept(model, print_problem)))
        return
    before, now = go_back(model, to)
    say(f"{model} is at state {now.number} again: {len(now.classes.names):,} classes")
    if before:
        known = set(now.classes.names)
        gone = [name for name in before.classes.names if name not in known]
        if gone:
            say(f"no longer known: {first_ten(gone)}")
        say(f"to go forward again: {command('undo', model, '--to', before.number)}")
