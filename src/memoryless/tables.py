"""A table, as commands and pages show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Table:
    """Rows of cells for people, and in the laboratory a frame of the full figures for programs.

    A row begins with its name. A last column without a heading holds remarks about rows, which a
    page shows beside their names. A cell that is a float is a percentage; a page adds a bar.
    """

    title: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    figures: pd.DataFrame | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    """How a page styles a row, by its name: reference, control or bound."""
    sortable: bool = False
    """Whether a reader of the page can sort the rows."""
