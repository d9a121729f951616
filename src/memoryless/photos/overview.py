"""What a model's folder holds, told without loading the model; and the way back in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from memoryless.errors import ConfigError
from memoryless.model_folder import Saved, kept_states, load_state, switch


def overview(folder: Path, report: Callable[[str], None] = lambda problem: None) -> dict[str, Any]:
    """Everything that `memoryless show` tells; `report` is told of kept states that are damaged."""
    saved = load_state(folder)
    about = saved.about
    told = ("method", "seed", "backbone", "preparation", "confidence", "ledger", "memoryless")
    return {
        "folder": str(folder),
        "number": saved.number,
        "date": about["date"],
        **{key: about[key] for key in told},
        "states": _learned(about),
        "classes": _classes(about),
        "kept": kept(folder, saved.number, report),
        "bytes": {
            "states": sum(state.size for state in kept_states(folder)),
            "backbones": sum(p.stat().st_size for p in (folder / "backbones").glob("*.onnx")),
        },
    }


def _learned(about: dict[str, Any]) -> list[dict[str, Any]]:
    """The states that were learned, the first is 1."""
    return [
        {
            "state": i + 1,
            "date": state["date"],
            "photos": state["photos"],
            "classes": [
                {"class": name, "photos": count} for name, count, of in _columns(about) if of == i
            ],
        }
        for i, state in enumerate(about["states"])
    ]


def _classes(about: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"class": name, "photos": count, "state": of + 1} for name, count, of in _columns(about)
    ]


def _columns(about: dict[str, Any]) -> zip[tuple[str, int | None, int]]:
    return zip(about["classes"], about["counts"], about["class_state"], strict=True)


def kept(
    folder: Path, current: int, report: Callable[[str], None] = lambda problem: None
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


def go_back(folder: Path, to: int | None = None) -> Saved:
    """Make a kept state the current one: `to`, or the one before; gives the state that counts now.

    The current state is not read where `to` names another, since it may be the damaged one.
    """
    if to is None:
        saved = load_state(folder)
        parent = saved.about["parent"]
        if parent is None:
            raise ConfigError(
                f"{folder} is at its first state, and nothing was before it: delete the folder to "
                "begin anew"
            )
        there = [state.number for state in kept_states(folder)]
        if parent["state"] not in there:
            raise ConfigError(
                f"{folder} keeps no state before the current one, {saved.number}: learn with a "
                "larger `history` to keep more"
            )
        to = int(parent["state"])
    return switch(folder, to)
