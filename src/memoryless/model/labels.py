"""Labels of any one type, and the names of classes that they become in a model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy as np

from memoryless.errors import DataError
from memoryless.names import first_ten

LabelType = Literal["str", "int", "float", "bool"]
READ: dict[LabelType, Callable[[str], Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "bool": {"True": True, "False": False}.__getitem__,
}
"""How a label of each type is read from the name of its class."""


def names_of(labels: Iterable[Any], so_far: str | None = None) -> tuple[list[str], LabelType]:
    """Return a name for each label, and the one type of the labels: the one so far, if any.

    >>> names_of(np.array([3, 1, 3]))
    (['3', '1', '3'], 'int')
    """
    values = [label.item() if isinstance(label, np.generic) else label for label in labels]
    kinds = sorted({type(value).__name__ for value in values})
    if len(kinds) != 1 or kinds[0] not in READ:
        raise DataError(
            "labels must be strings, whole numbers or bools, one or more and all of one type, not "
            f"{' and '.join(kinds) or 'none'}: turn them into strings"
        )
    kind = kinds[0]
    if kind == "float":
        _check_whole(values)
        values = [value + 0.0 for value in values]  # -0.0 becomes 0.0
    if so_far and kind != so_far:
        raise DataError(f"labels had the type {so_far} so far and have {kind} now: choose one")
    return [*map(str, values)], kind


def _check_whole(values: Iterable[float]) -> None:
    if parts := sorted({value for value in values if not value.is_integer()}, key=str):
        raise DataError(
            f"labels name classes, and {first_ten(map(str, parts))} is continuous: "
            "round them, or turn them into strings"
        )


def labels_of(names: Iterable[str], kind: LabelType) -> np.ndarray:
    """Return the labels (N,) with these names.

    >>> labels_of(["3", "1"], "int").tolist(), labels_of(["True"], "bool").tolist()
    ([3, 1], [True])
    """
    return np.array([_label(name, kind) for name in names])


def _label(name: str, kind: LabelType) -> Any:
    try:
        return READ[kind](name)
    except (KeyError, ValueError):
        raise DataError(
            f"labels have the type {kind}, and the class {name!r} is none: rename it"
        ) from None
