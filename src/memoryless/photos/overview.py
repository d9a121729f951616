"""What a model's folder holds, told without loading the model; and the way back in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from memoryless.errors import ConfigError, StoreError
from memoryless.model_folder import (
    Saved,
    kept_states,
    load_state,
    nothing_before,
    switch,
    writing,
)
from memoryless.model_folder.place import refuse_packed
from memoryless.model_folder.saved import inside
from memoryless.store import file_size


def overview(folder: Path, report: Callable[[str], None] = lambda problem: None) -> dict[str, Any]:
    """Everything that `memoryless show` tells; `report` is told of kept states that are damaged."""
    saved = load_state(folder)
    about = saved.about
    told = ("method", "seed", "backbone", "preparation", "confidence", "ledger", "memoryless",
            "forgettable", "forgotten")  # fmt: skip
    return {
        "folder": str(folder),
        "number": saved.number,
        "date": about["date"],
        **{key: about[key] for key in told},
        "states": _learned(about),
        "classes": _classes(about),
        "packed": saved.folder is not folder,
        "kept": kept(folder, saved.number, report),
        "bytes": {
            "states": sum(state.size for state in kept_states(folder)),
            "backbones": sum(map(file_size, _graphs(saved))),
        },
    }


def _graphs(saved: Saved) -> list[Path]:
    return [path for path in inside(saved.folder / "backbones") if path.name.endswith(".onnx")]


def _learned(about: dict[str, Any]) -> list[dict[str, Any]]:
    """The states that were learned, the first is 1: each with the photos that it brought."""
    added: Counter[str] = Counter()
    for state in about["states"]:
        added.update(state["more"])
    return [
        {
            "state": i + 1,
            "date": state["date"],
            "photos": state["photos"],
            "classes": _photos(
                (name, count - added[name]) for name, count, of in _columns(about) if of == i
            ),
            "more": _photos(state["more"].items()),
            "model": state["model"],
        }
        for i, state in enumerate(about["states"])
    ]


def _photos(counts: Iterable[tuple[str, int]]) -> list[dict[str, Any]]:
    return [{"class": name, "photos": number} for name, number in counts]


def _classes(about: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"class": name, "photos": count, "state": of + 1} for name, count, of in _columns(about)
    ]


def _columns(about: dict[str, Any]) -> zip[tuple[str, int, int]]:
    return zip(about["classes"], about["counts"], about["class_state"], strict=True)


def list_kept(folder: Path, report: Callable[[str], None]) -> list[dict[str, Any]]:
    """The states that are kept; none of them is the current one where that cannot be read."""
    refuse_packed(folder)
    try:
        return kept(folder, load_state(folder).number, report)
    except StoreError as error:
        told = str(error)
        states = kept(folder, None, lambda p: None if told.startswith(p) else report(p))
        if not states:
            raise
    report(told)
    return states


def kept(
    folder: Path, current: int | None, report: Callable[[str], None] = lambda problem: None
) -> list[dict[str, Any]]:
    """The states that can be gone back to, or forward to, oldest first."""
    return [
        {
            "number": saved.number,
            "date": saved.about["date"],
            "states": len(saved.about["states"]),
            "classes": len(saved.about["classes"]),
            "bytes": saved.size,
            "current": saved.number == current,
        }
        for saved in kept_states(folder, report)
    ]


def go_back(folder: Path, to: int | None = None) -> tuple[Saved | None, Saved]:
    """Make a kept state the current one: `to`, or the one before; gives what was current, and is.

    The current state is not read where `to` names another, since it may be the damaged one.
    """
    if to is not None:
        return None, switch(folder, to)
    load_state(folder)  # says where there is no model, before a folder is made for one
    with writing(folder) as place:
        left = place.before
        assert left is not None
        return left, place.switch(_before(left))


def _before(saved: Saved) -> int:
    """The number of the state before, if it is kept."""
    parent, forgotten = saved.about["parent"], saved.about["forgotten"]
    if parent is None and forgotten:
        raise ConfigError(
            f"{nothing_before(saved.folder, forgotten)}: learn them again to have them back"
        )
    if parent is None:
        raise ConfigError(
            f"{saved.folder} is at its first state, and nothing was before it: delete the folder "
            "to begin anew"
        )
    if parent["state"] not in [state.number for state in kept_states(saved.folder)]:
        raise ConfigError(
            f"{saved.folder} keeps no state before the current one, {saved.number}: learn with a "
            "larger `history` to keep more"
        )
    return int(parent["state"])
