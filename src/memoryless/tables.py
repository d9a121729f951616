"""A table, as commands show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Table:
    """Cells for people, and in the laboratory a frame of the full figures for programs."""

    title: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    figures: pd.DataFrame | None = None
