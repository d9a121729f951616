"""What a model's file holds, told without loading the model; and the way back in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from memoryless.errors import ConfigError
from memoryless.model.file import State, kept_states, load_state, writing


def overview(path: Path, report: Callable[[str], None] = lambda problem: None) -> dict[str, Any]:
    """Everything that `memoryless show` tells; `report` gets a sentence on each damaged state."""
    state = load_state(path, names=())
    about = state.description
    told = ("method", "seed", "backbone", "preparation", "confidence", "record", "memoryless",
            "forgettable", "forgotten")  # fmt: skip
    return {
        "file": str(state.path),
        "number": state.number,
        "date": state.date,
        **msgspec.to_builtins({key: getattr(about, key) for key in told}),
        "states": _learned(state),
        "classes": _classes(state),
        "kept": kept(path, report),
        "bytes": state.path.stat().st_size,
    }


def _learned(state: State) -> list[dict[str, Any]]:
    """The states that were learned, the first is 1: each with the photos that it brought."""
    added: Counter[str] = Counter()
    for learned in state.classes.learned:
        added.update(learned.more)
    return [
        {
            "state": i + 1,
            "date": learned.date,
            "photos": learned.photos,
            "classes": _photos(
                (name, count - added[name]) for name, count, of in _columns(state) if of == i
            ),
            "more": _photos(learned.more.items()),
            "model": learned.model,
        }
        for i, learned in enumerate(state.classes.learned)
    ]


def _photos(counts: Iterable[tuple[str, int]]) -> list[dict[str, Any]]:
    return [{"class": name, "photos": number} for name, number in counts]


def _classes(state: State) -> list[dict[str, Any]]:
    return [
        {"class": name, "photos": count, "state": of + 1} for name, count, of in _columns(state)
    ]


def _columns(state: State) -> zip[tuple[str, int, int]]:
    return zip(state.classes.names, state.classes.counts, state.classes.first, strict=True)


def kept(path: Path, report: Callable[[str], None] = lambda problem: None) -> list[dict[str, Any]]:
    """The states that can be gone back to, or forward to, oldest first; none is the current one
    where that cannot be told.
    """
    states, current = kept_states(path, report)
    return [
        {
            "number": state.number,
            "date": state.date,
            "done": state.done,
            "classes": len(state.classes.names),
            "bytes": state.size,
            "current": state.number == current,
        }
        for state in states
    ]


def go_back(path: Path, to: int | None = None) -> tuple[State | None, State]:
    """Make a kept state the current one: `to`, or the one before; gives what was current, and is.

    The current state is not read where `to` names another, since it may be the damaged one.
    """
    load_state(path, to, names=())  # says where there is no model, or no such state
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
