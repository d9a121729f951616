"""Summary rows as tables, one for each stream and strategy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict

from memoryless.lab.analysis.grid import Grid
from memoryless.lab.analysis.summary import Row

COLUMNS: dict[str, Callable[[Row], str]] = {
    "method": lambda row: row.method,
    "top-1": lambda row: cell(row.top1, row.top1_std, row.seeds),
    "top-5": lambda row: cell(row.top5, row.top5_std, row.seeds),
    "last top-1": lambda row: cell(row.last_top1, row.last_top1_std, row.seeds),
    "last top-5": lambda row: cell(row.last_top5, row.last_top5_std, row.seeds),
    "forgetting": lambda row: f"{row.forgetting:.1f}",
    "bytes kept": lambda row: f"{row.bytes_kept:,}" if row.memoryless else "images",
}


def cell(mean: float, std: float, seeds: int) -> str:
    """A figure to read, with its deviation over several seeds; empty where there is none."""
    if math.isnan(mean):
        return ""
    return f"{mean:.1f}±{std:.1f}" if seeds > 1 else f"{mean:.1f}"


def by_stream(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows by the stream, strategy and folder they are of."""
    streams: dict[str, list[Row]] = {}
    for row in rows:
        seeds = f"{row.seeds} seeds" if row.seeds > 1 else "1 seed"
        free = "" if row.memoryless else " (not memoryless)"
        stream = f"{row.data}, {row.states} states, order {row.order}"
        title = f"{row.run}: {stream}, {row.strategy}{free}, {seeds}"
        streams.setdefault(title, []).append(row)
    return streams


def grids(rows: Sequence[Row]) -> list[Grid]:
    """A table for each stream, strategy and folder."""
    return [
        Grid(
            title=title,
            caption=_chance(group[0]),
            columns=list(COLUMNS),
            rows=[[show(row) for show in COLUMNS.values()] for row in group],
            records=[asdict(row) for row in group],
        )
        for title, group in by_stream(rows).items()
    ]


def _chance(row: Row) -> str:
    if math.isnan(row.chance_top1):
        return "one state: there is no average over later ones"
    return f"chance: top-1 {row.chance_top1:.1f}, top-5 {row.chance_top5:.1f}"
