"""A table as data: what makes one, shows it or writes it stands elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Grid:
    """A table holds cells to read, and the same as entries with full figures for programs."""

    title: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    entries: Sequence[dict[str, Any]]
