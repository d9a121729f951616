"""Traces of forgotten classes: every file of a folder, searched for their names and rows."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load

from memoryless.card import card
from memoryless.model_folder import Saved, files_in
from memoryless.names import markdown_text
from memoryless.store import read_bytes, to_json

ENCODINGS = ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
SHORT = 8  # bytes; shorter names stand in arrays by chance
NEAR = 1e-3  # of the largest entry: rows that are so near are the same
SAME = 1e-6  # likewise, of rows that were computed twice
BACKBONE = "the file of the backbone, which no class changes"
WORDS = "words that the files of every model have"


@dataclass(frozen=True)
class Sought:
    """What is looked for of a class."""

    name: str
    rows: Mapping[str, np.ndarray]  # (k, d) each, by what they were


@dataclass(frozen=True)
class Scan:
    """What was looked through, and what was found."""

    files: int
    bytes: int
    encodings: int
    """In how many ways each name may be written, at most."""
    short: list[str]
    """Names that were only looked for where they would stand alone."""
    found: list[str]
    """Traces, a clause each that names the file."""
    elsewhere: list[str]
    """What else, and rightly, has such a name within it."""


def scan(saved: Saved, sought: Sequence[Sought], rest: np.ndarray) -> Scan:
    """Look through the folder of a state for traces of classes; rows `rest` (m, d) may be there."""
    files = [path for path in files_in(saved.folder) if path.is_file()]
    names, words = _names(saved.about), _words(saved.about)
    found, elsewhere, size = list(_card_differs(saved)), set[str](), 0
    for path in files:
        content = read_bytes(path)
        size += len(content)
        longer = words | names if _is_of(saved, path) else names
        for one in sought:
            traced, within = _search(saved, path, content, one.name, longer)
            elsewhere |= within
            kinds = (["name"] if traced else []) + list(_kinds_found(path, content, one, rest))
            found += [f"{path} holds the {kind} of {one.name}" for kind in kinds]
    encodings = max(len(patterns(one.name)) for one in sought)
    short = [one.name for one in sought if _is_short(one.name)]
    return Scan(len(files), size, encodings, short, found, sorted(elsewhere))


def spellings(name: str) -> set[str]:
    r"""How a name may be spelled: in both forms of Unicode, and escaped as several formats do.

    >>> sorted(spellings("a|b")), sorted(map(ascii, spellings("\xe9")))[-1]
    (['a%7Cb', 'a\\|b', 'a|b'], "'e\\u0301'")
    """
    forms = {name, *(unicodedata.normalize(form, name) for form in ("NFC", "NFD"))}
    ways = (str, markdown_text, escape, _in_json, _in_a_link)
    return {way(form) for form in forms for way in ways}


def _in_json(text: str) -> str:
    return json.dumps(text)[1:-1]


def _in_a_link(text: str) -> str:
    return quote(text, safe="", errors="surrogatepass")


def patterns(name: str) -> set[bytes]:
    """The bytes that a name may be.

    >>> len(patterns("robin")), len(patterns("rot kehlchen")) > 5
    (5, True)
    """
    return {
        spelling.encode(encoding, "surrogatepass")
        for spelling in spellings(name)
        for encoding in ENCODINGS
    }


def _is_short(name: str) -> bool:
    return len(name.encode("utf-8", "surrogatepass")) < SHORT


def _search(
    saved: Saved, path: Path, content: bytes, name: str, longer: Mapping[str, str]
) -> tuple[bool, set[str]]:
    """Whether a file holds a name that nothing accounts for, and what accounts for others."""
    if _is_short(name):
        told = _stands_alone(path, content, name, _is_of(saved, path))
        within = {longer[name]} if told and name in longer else set()
        return told and not within, within
    hits = list(_places(content, patterns(name)))
    if hits and saved.about["backbone"] and path.stem == saved.about["backbone"]["sha256"]:
        return False, {BACKBONE}
    possible = [text for text in longer if _contains(text, name)] if hits else []
    return _account(content, hits, {text: longer[text] for text in possible})


def _stands_alone(path: Path, content: bytes, name: str, of_model: bool) -> bool:
    """Whether a short name stands in a text: of the model as a whole value, elsewhere as a word."""
    if of_model:
        whole = {f'"{spelling}"'.encode("utf-8", "surrogatepass") for spelling in spellings(name)}
        return path.name == "model.json" and any(one in content for one in whole)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return False
    words = (rf"(?<!\w){re.escape(spelling)}(?!\w)" for spelling in spellings(name))
    return path.name != ".lock" and any(re.search(word, text) for word in words)


def _account(
    content: bytes, hits: Sequence[tuple[int, int]], longer: Mapping[str, str]
) -> tuple[bool, set[str]]:
    """Whether some hit lies within no longer text, and what those are that others lie within."""
    spans = [
        (start, end, why)
        for text, why in longer.items()
        for start, end in _places(content, patterns(text))
    ]
    within = [{why for a, b, why in spans if a <= start and end <= b} for start, end in hits]
    return not all(within), set().union(*within)


def _places(content: bytes, sought: Iterable[bytes]) -> Iterator[tuple[int, int]]:
    """Where some bytes stand, also one in another: start and end."""
    for one in sought:
        start = content.find(one)
        while start >= 0:
            yield start, start + len(one)
            start = content.find(one, start + 1)


def _contains(text: str, name: str) -> bool:
    own = spellings(name)
    return any(one in spelling for spelling in spellings(text) for one in own)


def _names(about: Mapping[str, Any]) -> dict[str, str]:
    """Names that a model rightly has, each with what it is."""
    models = dict.fromkeys(state["model"] for state in about["states"] if state["model"])
    classes = {name: f"the class {name}" for name in about["classes"]}
    return {name: f"the model {name}, which was merged" for name in models} | classes


def _words(about: Mapping[str, Any]) -> dict[str, str]:
    """What the files of a state say whatever its classes: words, and lines or cells of the card."""
    state = {"photos": None, "more": {"-": 1}, "model": "-"}
    states = [state | {"date": one["date"]} for one in about["states"]]
    nobody = {"classes": ["-"], "counts": [1], "class_state": [0], "states": states}
    text = card(bare := {**about, **nobody})
    words = re.findall(r"[\w.+-]+", f"{text} {to_json(bare)} __metadata__ data_offsets")
    return dict.fromkeys([*words, *re.split(r" *[|\n] *", text)], WORDS)


def _is_of(saved: Saved, path: Path) -> bool:
    """Whether a file is one that saving a state writes."""
    ours = (saved.folder / "CURRENT", saved.folder / "README.md")
    return path in ours or path.parent == saved.path


def _card_differs(saved: Saved) -> Iterator[str]:
    file = saved.folder / "README.md"
    if read_bytes(file) != card(saved.about).encode():
        yield f"{file} is not as the model has it now"


def _kinds_found(path: Path, content: bytes, one: Sought, rest: np.ndarray) -> Iterator[str]:
    """Of what kind are the rows of a class that stand in a file."""
    arrays = _arrays(content) if path.suffix == ".safetensors" else []
    for kind, rows in one.rows.items():
        if any(_has(array, row, rest) for array in arrays for row in rows if row.any()):
            yield kind


def _arrays(content: bytes) -> list[np.ndarray]:
    """Arrays of rows; none of a file that cannot be read as such."""
    try:
        return [array for array in load(content).values() if array.ndim == 2]
    except (SafetensorError, KeyError, ValueError, TypeError):
        return []


def _has(array: np.ndarray, row: np.ndarray, rest: np.ndarray) -> bool:
    """Whether an array has this row, and no class that is left has it too."""
    if array.shape[1] != len(row):
        return False
    near = array[_alike(array, row, NEAR)]
    return any(not _alike(rest, other, SAME).any() for other in near)


def _alike(array: np.ndarray, row: np.ndarray, share: float) -> np.ndarray:
    """Which rows of an array are so near to one."""
    largest = int(np.abs(row).argmax())  # most rows differ there already
    far = share * abs(row[largest])
    alike = np.abs(array[:, largest] - row[largest]) <= far
    alike[alike] = np.abs(array[alike] - row).max(1) <= far
    return alike
