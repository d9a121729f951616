"""Labels of one type become names of classes, and these become labels again."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from memoryless.errors import DataError
from memoryless.names import first_ten

LETTERS = {"U": "str", "i": "int", "u": "int", "f": "float", "b": "bool"}
"""NumPy's letters for the types that labels may have."""
READ: dict[str, Callable[[str], Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": {"True": True, "False": False}.__getitem__,
}
"""How a label of each type is read from the name of its class."""
LONGEST_NAME = 255  # bytes, as of a file's name


def class_names(labels: Iterable[str]) -> Mapping[str, str]:
    """Each label in Unicode's composed form, or an error if it cannot name a class."""
    names: dict[str, str] = {}
    labels_of: dict[str, str] = {}
    for label in sorted(set(labels)):
        name = unicodedata.normalize("NFC", label)
        why = _unfit(name)
        if why:
            short = label if len(label) <= 40 else f"{label[:40]}..."
            raise DataError(f"the class name {short!a} {why}: rename the class")
        twin = labels_of.setdefault(name, label)
        if twin != label:
            raise DataError(
                f"the class names {twin!a} and {label!a} are the same to Unicode: rename "
                "one, or put their photos together"
            )
        names[label] = name
    return names


def _unfit(name: str) -> str:
    kinds = {unicodedata.category(sign) for sign in name}
    if "Cs" in kinds:  # how Python keeps bytes of a file's name that are no text
        return "is not valid UTF-8"
    if kinds & {"Cc", "Zl", "Zp"}:
        return "has control characters"
    if "/" in name or "\\" in name:
        return "has a slash"
    if not name.strip():
        return "is blank"
    size = len(name.encode())
    return f"has {size:,} bytes, more than {LONGEST_NAME}" if size > LONGEST_NAME else ""


def names_of(labels: np.ndarray, so_far: str | None = None) -> tuple[list[str], str]:
    """A name for each label (n,), and of which type the labels are: the one so far, if any.

    >>> names_of(np.array([3, 1, 3]))
    (['3', '1', '3'], 'int')
    """
    kind = type_of(labels)
    names = [*map(str, labels)] if kind == "str" else _names_of_numbers(labels, kind)
    if so_far and kind != so_far:
        raise DataError(
            f"labels were of the type {so_far} so far and are of {kind} now: choose one"
        )
    return names, kind


def _names_of_numbers(labels: np.ndarray, kind: str) -> list[str]:
    found = labels
    if labels.dtype == object:  # whole numbers may be larger than NumPy's
        found = np.array(labels.tolist(), dtype=object if kind == "int" else None)
    if kind == "float":
        _check_whole(found)
        found = found + 0.0  # -0.0 becomes 0.0
    values, places = np.unique(found, return_inverse=True)
    return np.array([*map(str, values.tolist())], dtype=object)[places].tolist()


def type_of(labels: np.ndarray) -> str:
    """The one type that labels have, or an error that names them all."""
    if not len(labels):
        raise DataError("there is no label: give one or more")
    kinds = {labels.dtype.type} if labels.dtype != object else set(map(type, labels.tolist()))
    found = {LETTERS.get(np.dtype(kind).kind, kind.__name__) for kind in kinds}
    if len(found) > 1:
        raise DataError(
            f"labels must be of one type, not of {len(found)} ({', '.join(sorted(found))}): turn "
            "them all into strings, or into whole numbers"
        )
    (kind,) = found
    if kind not in READ:
        raise DataError(f"labels must be strings, numbers or bools, not {kind}: turn them into one")
    return kind


def _check_whole(labels: np.ndarray) -> None:
    parts = labels[~np.isfinite(labels) | (np.rint(labels) != labels)]
    if len(parts):
        raise DataError(
            f"labels name classes, and {first_ten(map(str, np.unique(parts).tolist()))} is of "
            "something continuous: round them, or turn them into strings"
        )


def listed(labels: Sequence[Any]) -> np.ndarray:
    """Labels that were given one by one, as an array (n,) that keeps their types."""
    for label in labels:
        if hasattr(label, "__len__") and not isinstance(label, str | bytes):
            kind = type(label).__name__
            raise DataError(f"give labels one by one, not in a {kind}: write forget(*labels)")
    return np.array(labels, dtype=object)


def check_among(names: Iterable[str], classes: Iterable[str], otherwise: str) -> None:
    """Raise if labels' names are not among those of classes; the sentence says what else to do."""
    known = set(classes)
    odd = sorted(set(names) - known)
    if odd:
        raise DataError(
            f"labels must be among the classes {first_ten(sorted(known))}, not {first_ten(odd)}: "
            f"leave these out, or {otherwise}"
        )


def labels_of(names: Sequence[str], kind: str) -> np.ndarray:
    """The labels (N,) whose names these are.

    >>> labels_of(["3", "1"], "int").tolist(), labels_of(["True"], "bool").tolist()
    ([3, 1], [True])
    """
    return np.array([_label(name, kind) for name in names])


def _label(name: str, kind: str) -> Any:
    try:
        return READ[kind](name)
    except (KeyError, ValueError):
        raise DataError(
            f"labels are of the type {kind}, and the class {name!r} is none: rename it"
        ) from None
