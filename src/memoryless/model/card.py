"""The model card, in Markdown, and what is honest to say of privacy."""

from __future__ import annotations

from collections.abc import Mapping

from memoryless.model.file import State
from memoryless.names import markdown_text

HONEST = (
    "Keeps no photo, thumbnail, file name or per-photo feature. Keeps averages; averages over few "
    "photos can reveal whether a photo was used; smallest class: {smallest} photos. Not anonymous "
    "unless you show it: `memoryless audit`."
)
ONE = (
    "Keeps no photo, thumbnail or file name. Keeps averages; {name} had a single photo, and the "
    "average of one photo is its feature. Not anonymous unless you show it: `memoryless audit`."
)
EXPOSED = (
    "The scatter of {photos:,} photos over {d:,} features tells whoever has this file almost for "
    "certain whether a given photo was used; the ONNX file that `memoryless export` writes "
    "does not hold it."
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


def card(state: State) -> str:
    """The card of a model, in Markdown."""
    return "\n".join(
        [
            f"# A model of {_number(len(state.classes.names), 'class', 'classes')}\n",
            "It tells photos of the classes below apart. This page was written by memoryless "
            f"{_text(state.description.memoryless)}.\n",
            *(f"{sentence}\n" for sentence in privacy(state)),
            f"MODEL is the file of the model:\n\n{USE}",
            f"## How it works\n\n{_facts(state)}",
            f"## States\n\n{_states(state)}",
            f"## Classes\n\n{_classes(state)}",
            f"## What is kept of past photos\n\n{_ledger(state.description.record)}",
        ]
    )


def honest(state: State) -> str:
    """What is honest to say about privacy."""
    count, name = min(zip(state.classes.counts, state.classes.names, strict=True), default=(0, ""))
    return (ONE if count == 1 else HONEST).format(smallest=count, name=name)


def privacy(state: State) -> list[str]:
    """The same, and what is honest to say of the whole file; nothing of a model without classes."""
    sentences = (honest(state), _exposed(state)) if state.classes.names else ()
    return [sentence for sentence in sentences if sentence]


def _exposed(state: State) -> str:
    """What is honest to say of the scatter, if it is of few photos; nothing where there is none."""
    if state.description.train:
        return ""
    d = state.description.record["mean"] // (8 * len(state.classes.names))
    photos = sum(state.classes.counts)
    return EXPOSED.format(photos=photos, d=d) if photos < MANY * d else ""


def _facts(state: State) -> str:
    about = state.description
    prepared, sure = about.preparation, about.confidence
    size = f"{prepared.size} pixels" if prepared else "no photos: it is given features"
    rows = [["method", _text(about.method)], ["sees", size]]
    if about.backbone:
        rows.append(["backbone", f"{_text(about.backbone.name)}, SHA-256 {about.backbone.sha256}"])
    if sure:
        note = f" ({AVERAGED})" if sure.averaged else ""
        rows.append(["temperature", f"{sure.temperature:g}{note}"])
        rows.append(["threshold", f"{sure.threshold:g}{note}"])
    if about.forgettable:
        rows.append(["forgetting", "exact: each class's own scatter is kept"])
    if about.forgotten:
        rest = "" if about.forgettable else "; their spread stays in the scatter"
        rows.append(["forgotten", f"classes, last on {about.forgotten}{rest}"])
    return _table(["", ""], rows)


def _states(state: State) -> str:
    """The states; how many photos were of known classes, and who learned it, where that is so."""
    rows = []
    for i, learned in enumerate(state.classes.learned):
        new = state.classes.first.count(i)
        more = [f"{_text(name)} {number:,}" for name, number in learned.more.items()]
        row = [str(i + 1), learned.date, str(new), f"{learned.photos:,}"]
        rows.append([*row, ", ".join(more), _text(learned.model or "")])
    columns = ["state", "date", "new classes", "photos", "more photos of", "learned by"]
    shown = [i for i in range(len(columns)) if i < 4 or any(row[i] for row in rows)]
    return _table([columns[i] for i in shown], [[row[i] for i in shown] for row in rows])


def _classes(state: State) -> str:
    of = state.classes
    columns = zip(of.names, of.counts, of.first, strict=True)
    rows = [[_text(name), f"{count:,}", str(first + 1)] for name, count, first in columns]
    return _table(["class", "photos", "state"], rows)


def parts_kept(record: Mapping[str, int]) -> dict[str, int]:
    """Bytes of what is kept; arrays that belong together, such as held_out.losses, are one part.

    >>> parts_kept({"mean": 8, "held_out.losses": 4, "held_out.count": 1})
    {'mean': 8, 'held_out': 5}
    """
    parts: dict[str, int] = {}
    for name, size in record.items():
        part = name.partition(".")[0]
        parts[part] = parts.get(part, 0) + size
    return parts


def _ledger(record: Mapping[str, int]) -> str:
    rows = [[_text(name), f"{size:,}"] for name, size in parts_kept(record).items()]
    return _table(["part", "bytes"], [*rows, ["all", f"{sum(record.values()):,}"]])


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _number(number: int, one: str, more: str) -> str:
    return f"{number:,} {one if number == 1 else more}"


_text = markdown_text
