"""memoryless show: what a model knows and keeps."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from memoryless.tables import Table


def show(model: Path, /, *, json: bool = False, markdown: bool = False) -> None:
    """Show the states of a model: when they were learned, classes, photos, and bytes kept.

    Parameters
    ----------
    model
        File of the model.
    json
        Print the same, with every class, as JSON.
    markdown
        Print a model card: a page that says what the model knows and keeps, to publish with it.
    """
    from memoryless.cli import output
    from memoryless.model.card import card
    from memoryless.model.file import load_state
    from memoryless.names import printable
    from memoryless.photos.overview import overview
    from memoryless.store import to_json

    if markdown:
        print(card(load_state(model, names=())), end="")
        return
    found = overview(model, lambda problem: print(printable(problem), file=sys.stderr))
    if json:
        print(to_json(found), end="")
        return
    _tell(found)
    _tell_states(found["states"])
    output.show(kept_table(found["kept"]))


def _tell(found: dict[str, Any]) -> None:
    from memoryless.cli.wording import size, tell
    from memoryless.images.dataset import counted
    from memoryless.model.card import AVERAGED, parts_kept

    photos = [c["photos"] for c in found["classes"]]
    classes = counted(len(photos), "class", "classes")
    tell("model", f"{found['file']}: {classes}, from {sum(photos):,} photos")
    backbone = found["backbone"]
    over = f" over {backbone['name']}" if backbone else ""
    seen = f" at {found['preparation']['size']} pixels" if found["preparation"] else ""
    tell("method", f"{found['method']}{over}{seen}, seed {found['seed']}")
    parts = ", ".join(
        f"{part} {size(number)}" for part, number in parts_kept(found["record"]).items()
    )
    tell("keeps", f"{size(sum(found['record'].values()))} of averages ({parts}), and no photo")
    if found["forgettable"]:
        tell("forgets", "exactly, if asked to: each class's own scatter is kept")
    if found["forgotten"]:
        tell("forgotten", f"classes, last on {found['forgotten']}")
    if found["confidence"] and found["confidence"]["averaged"]:
        tell("averaged", f"temperature and threshold are {AVERAGED}")
    states = counted(len(found["kept"]), "state", "states")
    tell("on disk", f"{size(found['bytes'])}, with {states}")
    tell("written", f"{found['date']} by memoryless {found['memoryless']}")


def _tell_states(states: list[dict[str, Any]]) -> None:
    from memoryless.cli.wording import tell

    for state in states:
        tell(f"state {state['state']}", f"{state['date']}, {_brought(state)}")


def _brought(state: dict[str, Any]) -> str:
    """What a state brought that was not forgotten, and the merged model that learned it."""
    from memoryless.images.dataset import counted

    new, more = state["classes"], state["more"]
    classes = counted(len(new), "class", "classes")
    told = [f"{classes} with their photos: {_listed(new)}"] if new else []
    told += [f"more photos of {_listed(more)}"] if more else []
    told = told or ["no class that is still known"]
    told += [f"learned by {state['model']}"] if state["model"] else []
    return "; ".join(told)


def _listed(photos: list[dict[str, Any]]) -> str:
    from memoryless.names import first_ten

    return first_ten(f"{of['class']} {of['photos']}" for of in photos)


def kept_table(kept: list[dict[str, Any]]) -> Table:
    """The states of a file that can be gone to."""
    from memoryless.cli.wording import size

    rows = [
        [
            str(state["number"]),
            state["date"],
            state["done"],
            str(state["classes"]),
            size(state["bytes"]),
            "current" if state["current"] else "",
        ]
        for state in kept
    ]
    columns = ["number", "written", "done", "classes", "size", ""]
    return Table("kept", "go to one by memoryless undo MODEL --to NUMBER", columns, rows)
