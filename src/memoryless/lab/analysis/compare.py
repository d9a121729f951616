"""Many methods on the same finished runs: what each reaches and what it keeps for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from memoryless.lab.analysis.grid import Grid
from memoryless.lab.analysis.summary import Row, summarise
from memoryless.lab.analysis.table import COLUMNS, by_stream
from memoryless.lab.runs import RunFolder
from memoryless.methods import grid_of


def combinations(
    runs: Sequence[RunFolder],
    heads: Sequence[str] = (),
    calibrations: Sequence[str] = ("none",),
    transports: Sequence[str] = (),
) -> list[str]:
    """Every combination of these (of all, where none are named) that means something."""
    return [
        name
        for strategy in dict.fromkeys(run.about["config"]["strategy"] for run in runs)
        for name, method in grid_of(strategy).items()
        if (not heads or method.head in heads)
        and (not calibrations or method.calibration in calibrations)
        and (not transports or method.transport in transports)
    ]


def compare(
    runs: Sequence[RunFolder], methods: Sequence[str], k: str = "top1", leave_out: bool = False
) -> list[Row]:
    """Rows of all methods, the best first."""
    rows = summarise(runs, methods=methods, leave_out=leave_out) if methods else []
    return sorted(rows, key=lambda row: -float(getattr(row, k)))


def pareto_front(rows: Sequence[Row], k: str = "top1") -> list[Row]:
    """The memoryless rows that no other beats with as few bytes, by bytes."""
    front: list[Row] = []
    for row in sorted(rows, key=lambda row: (row.bytes_kept, -getattr(row, k))):
        if row.memoryless and (not front or getattr(row, k) > getattr(front[-1], k)):
            front.append(row)
    return front


def compare_grids(rows: Sequence[Row], k: str = "top1") -> list[Grid]:
    """A table for each stream and strategy; methods on its Pareto front are marked."""
    return [_grid(title, group, k) for title, group in by_stream(rows).items()]


def _grid(title: str, rows: Sequence[Row], k: str) -> Grid:
    front = pareto_front(rows, k)
    shown = [name for name in COLUMNS if name in ("method", "top-1", "top-5", "bytes kept")]
    lines = [
        [
            *(COLUMNS[name](row) for name in shown),
            "" if row.cost is None else f"{row.cost:,}",
            "*" if row in front else "",
        ]
        for row in rows
    ]
    caption = (
        f"best {k} first; * no other method is better with as few bytes; lda and ridge would do "
        "with --statistics tied"
    )
    records = [asdict(row) | {"front": row in front} for row in rows]
    return Grid(title, caption, [*shown, "multiplications", "front"], lines, records)
