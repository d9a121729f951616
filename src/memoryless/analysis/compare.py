"""Many methods on the same finished runs: what each reaches and what it keeps for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from memoryless.analysis.grid import Grid
from memoryless.analysis.summary import Row, summarise
from memoryless.analysis.table import cell, stream_title
from memoryless.methods import grid_of
from memoryless.runs import RunFolder


def methods_to_compare(
    runs: Sequence[RunFolder],
    heads: Sequence[str] = (),
    calibrations: Sequence[str] = ("none",),
    transports: Sequence[str] = (),
) -> list[str]:
    """Every combination of these (of all, where none are named) that the runs can give."""
    names: dict[str, None] = {}
    for run in runs:
        config = run.about["config"]
        for name, method in grid_of(config["strategy"], config).items():
            chosen = (
                (not heads or method.head in heads)
                and (not calibrations or method.calibration in calibrations)
                and (not transports or method.transport in transports)
            )
            if chosen:
                names[name] = None
    return list(names)


def compare(runs: Sequence[RunFolder], methods: Sequence[str], k: str = "top1") -> list[Row]:
    """Rows of all methods, the best first."""
    rows = summarise(runs, methods=methods) if methods else []
    return sorted(rows, key=lambda row: -float(getattr(row, k)))


def pareto_front(rows: Sequence[Row], k: str = "top1") -> list[Row]:
    """The rows that no other beats with as few bytes, by bytes.

    A row is on the front if every row that keeps no more is less accurate.
    """
    front: list[Row] = []
    for row in sorted(rows, key=lambda row: (row.bytes_kept, -getattr(row, k))):
        if not front or getattr(row, k) > getattr(front[-1], k):
            front.append(row)
    return front


def compare_grids(rows: Sequence[Row], k: str = "top1") -> list[Grid]:
    """A table for each stream and strategy; methods on its Pareto front are marked."""
    streams: dict[str, list[Row]] = {}
    for row in rows:
        streams.setdefault(stream_title(row), []).append(row)
    return [_grid(title, group, k) for title, group in streams.items()]


def _grid(title: str, rows: Sequence[Row], k: str) -> Grid:
    front = pareto_front(rows, k)
    lines = [
        [
            row.method,
            cell(row.top1, row.top1_std, row.seeds),
            cell(row.top5, row.top5_std, row.seeds),
            f"{row.bytes_kept:,}",
            f"{row.cost:,}",
            "*" if row in front else "",
        ]
        for row in rows
    ]
    columns = ["method", "top-1", "top-5", "bytes kept", "multiplications", "front"]
    caption = f"best {k} first; * no other method is better with as few bytes"
    records = [asdict(row) | {"front": row in front} for row in rows]
    return Grid(title, caption, columns, lines, records)
