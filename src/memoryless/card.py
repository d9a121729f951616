"""The model card: README.md of a model's folder, written from the model's description alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memoryless.names import markdown_text

HONEST = (
    "Keeps no photo, thumbnail, file name or per-photo feature. Keeps averages; averages over few "
    "photos can reveal whether a photo was used; smallest class: {smallest} photos. Not anonymous "
    "unless you show it: `memoryless audit`."
)
EXPOSED = (
    "The scatter of {photos:,} photos over {d:,} features tells whoever has this folder almost for "
    "certain whether a given photo was used; what `memoryless export` writes does not hold it."
)
# By the scatter over 1,280 features: AUROC 100 up to 2,000 photos, 98.5 at 4,000, 82.9 at 8,000.
MANY = 4
"""With so many photos for each feature, the scatter tells less."""
AVERAGED = "the mean of the merged models', until the next learn"
USE = """```console
$ memoryless predict MODEL photo.jpg
$ memoryless learn MODEL more-photos/
$ memoryless show MODEL
```
"""


def card(about: Mapping[str, Any]) -> str:
    """The card of a model, in Markdown."""
    return "\n".join(
        [
            f"# A model of {_number(len(about['classes']), 'class', 'classes')}\n",
            "It tells photos of the classes below apart. This page was written from `model.json` "
            f"by memoryless {_text(about['memoryless'])}, and is written anew with every change.\n",
            *(f"{sentence}\n" for sentence in privacy(about)),
            f"MODEL is this folder:\n\n{USE}",
            f"## How it works\n\n{_facts(about)}",
            f"## States\n\n{_states(about)}",
            f"## Classes\n\n{_classes(about)}",
            f"## What is kept of past photos\n\n{_ledger(about)}",
        ]
    )


def honest(about: Mapping[str, Any]) -> str:
    """What is honest to say about privacy."""
    return HONEST.format(smallest=min(about["counts"]))


def privacy(about: Mapping[str, Any]) -> list[str]:
    """The same, and what is honest to say of the whole folder."""
    return [sentence for sentence in (honest(about), _exposed(about)) if sentence]


def _exposed(about: Mapping[str, Any]) -> str:
    """What is honest to say of the scatter, if it is of few photos; nothing where there is none."""
    if "network" in about["files"]:
        return ""
    d, photos = about["ledger"]["mean"] // (8 * len(about["classes"])), sum(about["counts"])
    return EXPOSED.format(photos=photos, d=d) if photos < MANY * d else ""


def _facts(about: Mapping[str, Any]) -> str:
    prepared, backbone = about["preparation"], about["backbone"]
    size = f"{prepared['size']} pixels" if prepared else "no photos: it is given features"
    rows = [["method", _text(about["method"])], ["sees", size]]
    if backbone:
        rows.append(["backbone", f"{_text(backbone['name'])}, SHA-256 {backbone['sha256']}"])
    if about["confidence"]:
        note = f" ({AVERAGED})" if about["confidence"]["averaged"] else ""
        for key in ("temperature", "threshold"):
            rows.append([key, f"{about['confidence'][key]:g}{note}"])
    if about["forgettable"]:
        rows.append(["forgetting", "exact: each class's own scatter is kept"])
    if about["forgotten"]:
        rest = "" if about["forgettable"] else "; their spread stays in the scatter"
        rows.append(["forgotten", f"classes, last on {_text(about['forgotten']['date'])}{rest}"])
    return _table(["", ""], rows)


def _states(about: Mapping[str, Any]) -> str:
    """The states; how many photos were of known classes, and who learned it, where that is so."""
    rows = []
    for i, state in enumerate(about["states"]):
        new = sum(of == i for of in about["class_state"])
        more = [f"{_text(name)} {number:,}" for name, number in state["more"].items()]
        row = [str(i + 1), _text(state["date"]), str(new), f"{state['photos']:,}"]
        rows.append([*row, ", ".join(more), _text(state["model"] or "")])
    columns = ["state", "date", "new classes", "photos", "more photos of", "learned by"]
    shown = [i for i in range(len(columns)) if i < 4 or any(row[i] for row in rows)]
    return _table([columns[i] for i in shown], [[row[i] for i in shown] for row in rows])


def _classes(about: Mapping[str, Any]) -> str:
    columns = zip(about["classes"], about["counts"], about["class_state"], strict=True)
    rows = [[_text(name), f"{count:,}", str(state + 1)] for name, count, state in columns]
    return _table(["class", "photos", "state"], rows)


def parts_kept(about: Mapping[str, Any]) -> dict[str, int]:
    """Bytes of what is kept; arrays that belong together, such as held_out.losses, are one part.

    >>> parts_kept({"ledger": {"mean": 8, "held_out.losses": 4, "held_out.count": 1}})
    {'mean': 8, 'held_out': 5}
    """
    parts: dict[str, int] = {}
    for name, size in about["ledger"].items():
        part = name.partition(".")[0]
        parts[part] = parts.get(part, 0) + size
    return parts


def _ledger(about: Mapping[str, Any]) -> str:
    rows = [[_text(name), f"{size:,}"] for name, size in parts_kept(about).items()]
    return _table(["part", "bytes"], [*rows, ["all", f"{sum(about['ledger'].values()):,}"]])


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _number(number: int, one: str, more: str) -> str:
    return f"{number:,} {one if number == 1 else more}"


_text = markdown_text
