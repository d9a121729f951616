"""The data that a model stores about photos, and what these reveal."""

from __future__ import annotations

from collections.abc import Mapping

from memoryless.model.description import State, given_back
from memoryless.names import first_ten, size
from memoryless.output import print_line, print_lines

HONEST = (
    "Keeps no photo, thumbnail, file name or per-photo feature. Keeps averages; averages over few "
    "photos can reveal whether a photo was used; smallest class: {smallest} photos. Not anonymous "
    "unless you show it: `memoryless audit`."
)
ONE = (
    "Keeps no photo, thumbnail or file name. Keeps averages; {name} had a single photo, and the "
    "average of one photo is its feature. Not anonymous unless you show it: `memoryless audit`."
)
TWO = (
    "Keeps no photo, thumbnail or file name. Keeps averages, and how far photos lie from them; "
    "{name} had two photos, and both of their features follow from that. Not anonymous unless you "
    "show it: `memoryless audit`."
)
EXPOSED = (
    "The scatter of {photos:,} photos over {d:,} features shows anyone with this file almost for "
    "certain whether a given photo was used. The ONNX file that `memoryless export` writes does "
    "not contain it."
)
# By the scatter over 1,280 features: AUROC 100 up to 2,000 photos, 98.5 at 4,000, 82.9 at 8,000.
MANY = 4
"""Photos for each feature from which on the scatter reveals less."""


def honest(*states: State) -> str:
    """Return the sentence on privacy for a file that holds these states."""
    every, few = [], []
    for state in states:
        known = [*zip(state.classes.counts, state.classes.names, strict=True)]
        every += known
        few += [known[i] for i in given_back(state.description, state.classes.counts)]
    if few:
        count, name = min(few)
        return (ONE if count == 1 else TWO).format(name=name)
    return HONEST.format(smallest=min(every)[0] if every else 0)


def privacy(state: State, *others: State) -> list[str]:
    """Return sentences on privacy for a file with several states; none without classes."""
    sentences = (honest(state, *others), _exposed(state)) if state.classes.names else ()
    return [sentence for sentence in sentences if sentence]


def _exposed(state: State) -> str:
    """Return a sentence on what the scatter over few photos reveals."""
    if state.description.train:
        return ""
    each = [n for name, n in state.description.record.items() if name.endswith("mean")]
    d = max(each) // (8 * len(state.classes.names))
    photos = sum(state.classes.counts)
    return EXPOSED.format(photos=photos, d=d) if photos < MANY * d else ""


def privacy_line(state: State) -> str:
    """Return one line on what the file reveals about photos."""
    few = [state.classes.names[i] for i in given_back(state.description, state.classes.counts)]
    if few:
        return f"the features of photos of {first_ten(few)} can be computed from the file"
    if _exposed(state):
        return "the file can reveal which photos were used"
    smallest = min(state.classes.counts)
    return f"no photo is stored, but averages over {smallest:,} photos of a class or more"


def print_privacy(state: State, explain: bool = False) -> None:
    """Print one line on privacy, or all that there is to say; nothing without classes."""
    if not state.classes.names:
        return
    if not explain:
        print_line("privacy", f"{privacy_line(state)} (show --explain)")
        return
    print_line("stored", kept_bytes(state.description.record))
    print_lines("privacy", privacy(state))


def parts_kept(record: Mapping[str, int]) -> dict[str, int]:
    """Return the bytes of each part; arrays such as check.losses and check.count are one part.

    >>> parts_kept({"mean": 8, "check.losses": 4, "check.count": 1})
    {'mean': 8, 'check': 5}
    """
    parts: dict[str, int] = {}
    for name, number in record.items():
        part = name.lstrip("0123456789.").partition(".")[0]  # groups after the first have numbers
        parts[part] = parts.get(part, 0) + number
    return parts


def kept_bytes(record: Mapping[str, int]) -> str:
    """Return how many bytes are stored, in all and for each part.

    >>> kept_bytes({"mean": 8, "scatter": 4})
    '12 bytes (mean 8 bytes, scatter 4 bytes)'
    """
    parts = ", ".join(f"{part} {size(number)}" for part, number in parts_kept(record).items())
    return f"{size(sum(record.values()))} ({parts})"
