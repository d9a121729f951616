"""memoryless show: the classes and states of a model, and what it stores."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from memoryless.model.description import State
from memoryless.model.file import kept_states, load_state
from memoryless.names import counted, first_ten, markdown_text, printable, size
from memoryless.output import paragraph, print_line, print_rows, say
from memoryless.photos.kept import parts_kept, print_privacy, privacy
from memoryless.store import to_json


def overview(path: Path, report: Callable[[str], None] = lambda problem: None) -> dict[str, Any]:
    """Return all facts about a model; `report` gets a sentence on each damaged state."""
    state = load_state(path, names=())
    about, known = state.description, state.classes
    shown = ("method", "seed", "backbone", "preparation", "confidence", "calibrated", "record",
             "memoryless", "groups", "forgettable", "forgotten")  # fmt: skip
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


def _learned(state: State) -> list[dict[str, Any]]:
    """Return the states that were learned, from 1, each with the photos that it brought."""
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
    """Return the states that undo can go to, oldest first; damage may hide which is current."""
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


def show(
    model: Path, /, *, explain: bool = False, json: bool = False, markdown: bool = False
) -> None:
    """Show a model: classes, photos, when they were learned, and what is stored.

    Parameters
    ----------
    model
        File of the model.
    explain
        Print more: settings, what is stored, and what it reveals about photos.
    json
        Print everything, with every class, as JSON.
    markdown
        Print a model card: a page to publish with the model.
    """
    if markdown:
        print(card(load_state(model, names=()), *kept_states(model)[0]), end="")
        return
    found = overview(model, print_problem)
    if json:
        print(to_json(found), end="")
        return
    _print_model(found)
    if explain:
        _print_details(found)
        print_privacy(load_state(model, names=()), explain=True)
    for state in found["states"]:
        paragraph(f"{local_time(state['date'])}  {_brought(state)}", hanging=2)


def print_problem(problem: str) -> None:
    """Print a sentence on a damaged state on standard error."""
    print(printable(problem), file=sys.stderr)


def local_time(date: str) -> str:
    """Return a date of a model in the time of this machine."""
    return f"{datetime.fromisoformat(date).astimezone():%Y-%m-%d %H:%M}"


def _print_model(found: dict[str, Any]) -> None:
    photos = [c["photos"] for c in found["classes"]]
    classes = counted(len(photos), "class", "classes")
    say(f"{found['file']}: {classes}, {sum(photos):,} photos, {size(found['bytes'])}")
    backbone = found["backbone"]
    over = f" over {backbone['name']}" if backbone else ""
    seen = f" at {found['preparation']['size']} pixels" if found["preparation"] else ""
    print_line("method", f"{found['method']}{over}{seen}")
    if found["groups"]:
        weighed = (
            f"{sum(group['parts']):,} features: weight {group['weight']:g}, shrinkage "
            f"{group['shrinkage']:g}"
            for group in found["groups"]
        )
        print_line("groups", "; ".join(weighed))
    if found["calibrated"]:
        print_line("fitted", "temperature and threshold, by evaluate --calibrate")
    if found["forgettable"]:
        print_line("forget", "exact: each class's own scatter is stored")
    if found["forgotten"]:
        print_line("forgotten", f"classes, last on {local_time(found['forgotten'])}")
    earlier = sum(not state["current"] for state in found["kept"])
    if earlier:
        print_line(
            "undo", f"{counted(earlier, 'other state', 'other states')} stored (undo --list)"
        )


def _print_details(found: dict[str, Any]) -> None:
    print_line("saved", f"{local_time(found['date'])} by memoryless {found['memoryless']}")
    print_line("seed", str(found["seed"]))
    if sure := found["confidence"]:
        print_line("known", f"from a margin of {sure['threshold']:.4g}, unsure below "
                   f"{sure['sure']:.4g}; temperature {sure['temperature']:.4g}")  # fmt: skip


def _brought(state: dict[str, Any]) -> str:
    """Say what a state brought that was not forgotten, and which merged model learned it."""
    new, more = state["classes"], state["more"]
    parts = [f"{counted(len(new), 'class', 'classes')}: {_listed(new)}"] if new else []
    parts += [f"more photos of {_listed(more)}"] if more else []
    parts = parts or ["no class that is still known"]
    parts += [f"learned by {state['model']}"] if state["model"] else []
    return "; ".join(parts)


def _listed(photos: list[dict[str, Any]]) -> str:
    return first_ten(f"{of['class']} {of['photos']}" for of in photos)


def print_states(kept: list[dict[str, Any]]) -> None:
    """Print the states of a file that one can go to."""
    print_rows([
        (
            f"{state['number']}",
            local_time(state["date"]),
            state["done"],
            counted(state["classes"], "class", "classes"),
            size(state["bytes"]),
            "current" if state["current"] else "",
        )
        for state in kept
    ])  # fmt: skip


def card(state: State, *others: State) -> str:
    """Return the card of a model, in Markdown; its file may hold other states."""
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
