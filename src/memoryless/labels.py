"""Labels of one type become names of classes, and these become labels again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


def names_of(labels: np.ndarray) -> tuple[list[str], str]:
    """A name for each label (n,), and of which type the labels are.

    >>> names_of(np.array([3, 1, 3]))
    (['3', '1', '3'], 'int')
    """
    kind = type_of(labels)
    if kind == "str":
        return [*map(str, labels.tolist())], kind
    found = np.array(labels.tolist())
    if kind == "float":
        _check_whole(found)
        found = found + 0.0  # -0.0 becomes 0.0
    values, places = np.unique(found, return_inverse=True)
    return np.array([*map(str, values.tolist())], dtype=object)[places].tolist(), kind


def type_of(labels: np.ndarray) -> str:
    """The one type that labels have, or an error that names them all."""
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
