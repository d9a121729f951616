"""memoryless show: what a model knows and keeps."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

from memoryless.tables import Table


def show(model: Path, /, *, json: bool = False) -> None:
    """Show the states of a model: when they were learned, classes, photos, and bytes kept.

    Parameters
    ----------
    model
        Folder of the model, or a packed .memoryless file.
    json
        Print the same, with every class, as JSON.
    """
    from memoryless.cli import output
    from memoryless.cli.wording import tell
    from memoryless.names import printable
    from memoryless.photos.overview import overview
    from memoryless.store import to_json

    found = overview(model, lambda problem: print(printable(problem), file=sys.stderr))
    if json:
        print(to_json(found), end="")
        return
    _tell(found)
    _tell_states(found["states"])
    if found["packed"]:
        name = shlex.quote(str(model))
        tell("packed", f"memoryless unpack {name} MODEL makes a folder, which can be taught")
    else:
        output.show(kept_table(found["kept"]))


def _tell(found: dict[str, Any]) -> None:
    from memoryless.card import AVERAGED, parts_kept
    from memoryless.cli.wording import size, tell
    from memoryless.data.dataset import counted

    photos = [c["photos"] for c in found["classes"]]
    classes = counted(len(photos), "class", "classes")
    tell("model", f"{found['folder']}: {classes}, from {sum(photos):,} photos")
    backbone = found["backbone"]
    over = f" over {backbone['name']}" if backbone else ""
    seen = f" at {found['preparation']['size']} pixels" if found["preparation"] else ""
    tell("method", f"{found['method']}{over}{seen}, seed {found['seed']}")
    parts = ", ".join(f"{part} {size(number)}" for part, number in parts_kept(found).items())
    tell("keeps", f"{size(sum(found['ledger'].values()))} of averages ({parts}), and no photo")
    if found["forgettable"]:
        tell("forgets", "exactly, if asked to: each class's own scatter is kept")
    if found["forgotten"]:
        tell("forgotten", f"classes, last on {found['forgotten']['date']}")
    if found["confidence"] and found["confidence"]["averaged"]:
        tell("averaged", f"temperature and threshold are {AVERAGED}")
    sizes, states = found["bytes"], counted(len(found["kept"]), "state", "states")
    disk = f"{size(sizes['states'])} in {states}, backbone {size(sizes['backbones'])}"
    tell("on disk", disk)
    tell("written", f"{found['date']} by memoryless {found['memoryless']}")


def _tell_states(states: list[dict[str, Any]]) -> None:
    from memoryless.cli.wording import tell

    for state in states:
        tell(f"state {state['state']}", f"{state['date']}, {_brought(state)}")


def _brought(state: dict[str, Any]) -> str:
    """What a state brought that was not forgotten, and the merged model that learned it."""
    from memoryless.data.dataset import counted

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
    """The states of a folder that can be gone to."""
    from memoryless.cli.wording import size

    rows = [
        [
            str(state["number"]),
            state["date"],
            str(state["classes"]),
            size(state["bytes"]),
            "current" if state["current"] else "",
        ]
        for state in kept
    ]
    columns = ["number", "written", "classes", "size", ""]
    return Table("kept", "go to one by memoryless undo MODEL --to NUMBER", columns, rows)
