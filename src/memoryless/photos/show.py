"""memoryless show: what a model knows and keeps, without loading the model."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from memoryless import output
from memoryless.embed import group_names
from memoryless.model.description import State
from memoryless.model.file import kept_states, load_state
from memoryless.names import counted, first_ten, markdown_text, printable, size
from memoryless.output import print_line
from memoryless.photos.kept import kept_bytes, parts_kept, privacy
from memoryless.store import to_json
from memoryless.tables import Table


def overview(path: Path, report: Callable[[str], None] = lambda problem: None) -> dict[str, Any]:
    """Everything that `memoryless show` prints; `report` gets a sentence on each damaged state."""
    state = load_state(path, names=())
    about, known = state.description, state.classes
    shown = ("method", "seed", "backbone", "preparation", "confidence", "calibrated", "record",
             "memoryless", "groups", "not_chosen", "forgettable", "forgotten")  # fmt: skip
    return {
        "file": str(state.path),
        "number": state.number,
        "date": state.date,
        **msgspec.to_builtins({key: getattr(about, key) for key in shown}),
        "states": _learned(state),
        "classes": [
            {"class": name, "photos": count, "state": of + 1}
            for name, count, of in zip(known.names, known.counts, known.first, strict=True)
        ],
        "kept": kept(path, report),
        "bytes": state.path.stat().st_size,
    }


def _chosen(found: dict[str, Any]) -> str:
    """Say how each group of features counts, and why that was not chosen, if it was not."""
    groups = found["groups"]
    names = group_names(found["backbone"] and found["backbone"]["name"], len(groups))
    weighed = (
        f"{name}: weight {group['weight']:g}, shrinkage {group['shrinkage']:g}"
        for name, group in zip(names, groups, strict=True)
    )
    why = f" (not chosen: {found['not_chosen']})" if found["not_chosen"] else ""
    return "; ".join(weighed) + why


def _learned(state: State) -> list[dict[str, Any]]:
    """The states that were learned, the first is 1: each with the photos that it brought."""
    brought = state.classes.brought()
    return [
        {
            "state": i + 1,
            "date": learned.date,
            "photos": learned.photos,
            "classes": [
                {"class": name, "photos": number}
                for name, number in brought[i].items()
                if name not in learned.more
            ],
            "more": [{"class": name, "photos": n} for name, n in learned.more.items()],
            "model": learned.model,
        }
        for i, learned in enumerate(state.classes.learned)
    ]


def kept(path: Path, report: Callable[[str], None] = lambda problem: None) -> list[dict[str, Any]]:
    """The states that one can go to, oldest first; if damage hides which is current, none is."""
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


def show(model: Path, /, *, json: bool = False, markdown: bool = False) -> None:
    """Show the states of a model: when they were learned, classes, photos, and bytes kept.

    Parameters
    ----------
    model
        File of the model.
    json
        Print the same, with every class, as JSON.
    markdown
        Print a model card: a page to publish with the model, on what it knows and keeps.
    """
    if markdown:
        print(card(load_state(model, names=()), *kept_states(model)[0]), end="")
        return
    found = overview(model, print_problem)
    if json:
        print(to_json(found), end="")
        return
    _print_model(found)
    for state in found["states"]:
        print_line(f"state {state['state']}", f"{state['date']}, {_brought(state)}")
    output.show(kept_table(found["kept"]))


def print_problem(problem: str) -> None:
    """Print a sentence on a damaged state on standard error."""
    print(printable(problem), file=sys.stderr)


def _print_model(found: dict[str, Any]) -> None:
    photos = [c["photos"] for c in found["classes"]]
    classes = counted(len(photos), "class", "classes")
    print_line("model", f"{found['file']}: {classes}, from {sum(photos):,} photos")
    backbone = found["backbone"]
    over = f" over {backbone['name']}" if backbone else ""
    seen = ""
    if prepared := found["preparation"]:
        second = f" and {prepared['second_size']}" if prepared["second_size"] else ""
        seen = f" at {prepared['size']}{second} pixels"
    print_line("method", f"{found['method']}{over}{seen}, seed {found['seed']}")
    if found["groups"]:
        print_line("layers", _chosen(found))
    print_line("keeps", f"averages, {kept_bytes(found['record'])}, and no photo")
    if found["calibrated"]:
        print_line("sure", "as memoryless evaluate --calibrate fitted it on labelled photos")
    if found["forgettable"]:
        print_line("forgets", "exactly: each class's own scatter is kept")
    if found["forgotten"]:
        print_line("forgotten", f"classes, last on {found['forgotten']}")
    states = counted(len(found["kept"]), "state", "states")
    print_line("on disk", f"{size(found['bytes'])}, with {states}")
    print_line("written", f"{found['date']} by memoryless {found['memoryless']}")


def _brought(state: dict[str, Any]) -> str:
    """What a state brought that was not forgotten, and the merged model that learned it."""
    new, more = state["classes"], state["more"]
    classes = counted(len(new), "class", "classes")
    parts = [f"{classes} with their photos: {_listed(new)}"] if new else []
    parts += [f"more photos of {_listed(more)}"] if more else []
    parts = parts or ["no class that is still known"]
    parts += [f"learned by {state['model']}"] if state["model"] else []
    return "; ".join(parts)


def _listed(photos: list[dict[str, Any]]) -> str:
    return first_ten(f"{of['class']} {of['photos']}" for of in photos)


def kept_table(kept: list[dict[str, Any]]) -> Table:
    """The states of a file that one can go to."""
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


def card(state: State, *others: State) -> str:
    """The card of a model, in Markdown; its file may hold other states."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    pages = Environment(
        loader=PackageLoader("memoryless", "pages"),
        finalize=lambda value: value if isinstance(value, Markup) else markdown_text(str(value)),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    return pages.get_template("card.md.j2").render(
        state=state,
        size=counted(len(state.classes.names), "class", "classes"),
        new=Counter(state.classes.first),
        privacy=[Markup(sentence) for sentence in privacy(state, *others)],
        kept=parts_kept(state.description.record),
    )
