"""A comparison scores many methods on the same finished runs: what each reaches and keeps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from memoryless.errors import ConfigError
from memoryless.lab.analysis.grid import Grid
from memoryless.lab.analysis.published import paper_name
from memoryless.lab.analysis.summary import Summary, images_of, summarise
from memoryless.lab.analysis.table import COLUMNS, by_stream, count_states
from memoryless.lab.runs import RunFolder
from memoryless.stats.methods import grid_of, parse_method


def combinations(
    runs: Sequence[RunFolder],
    heads: Sequence[str] = (),
    calibrations: Sequence[str] = ("none",),
    transports: Sequence[str] = (),
) -> list[str]:
    """All combinations of these names (of all, where none are given) that mean something."""
    return [
        name
        for strategy in _strategies(runs)
        for name, method in grid_of(strategy).items()
        if (not heads or method.head in heads)
        and (not calibrations or method.calibration in calibrations)
        and (not transports or method.transport in transports)
    ]


def named_methods(runs: Sequence[RunFolder], names: Sequence[str]) -> list[str]:
    """The methods under the paper's names; one of a strategy that no run has is an error."""
    there = _strategies(runs)
    for name in names:
        strategy = parse_method(name).strategy
        if runs and strategy not in there:
            raise ConfigError(
                f"the runs there are of the strategy {' and '.join(there)}, and the method {name} "
                f"is of {strategy}: name methods of {' or '.join(there)}, or runs of {strategy}"
            )
    return list(dict.fromkeys(map(paper_name, names)))


def _strategies(runs: Sequence[RunFolder]) -> list[str]:
    return list(dict.fromkeys(run.about.config.strategy for run in runs))


def compare(
    runs: Sequence[RunFolder], methods: Sequence[str], k: str = "top1", leave_out: bool = False
) -> list[Summary]:
    """Rows of all methods, the highest accuracy first."""
    rows = summarise(runs, methods=methods, leave_out=leave_out) if methods else []
    return sorted(rows, key=lambda row: -float(getattr(row, k)))


def pareto_front(rows: Sequence[Summary], k: str = "top1") -> list[Summary]:
    """The memoryless rows that keep something and beat all that keep less, by their bytes.

    A row that keeps nothing is not among them, though they must beat it too.
    """
    front: list[Summary] = []
    for row in sorted(rows, key=lambda row: (row.bytes_kept, -getattr(row, k))):
        if row.memoryless and (not front or getattr(row, k) > getattr(front[-1], k)):
            front.append(row)
    return [row for row in front if row.bytes_kept]


def labelled_streams(rows: Sequence[Summary]) -> dict[str, dict[str, Summary]]:
    """Rows by their data set and number of states, and there by a name that no other row has."""
    streams: dict[str, dict[str, Summary]] = {}
    for row in rows:
        stream = streams.setdefault(f"{row.data}, {count_states(row)}", {})
        details = [row.statistics_of, str(len(stream))]
        names = [row.method, *(f"{row.method} ({detail})" for detail in details if detail)]
        stream[next(name for name in names if name not in stream)] = row
    return streams


def compare_grids(rows: Sequence[Summary], k: str = "top1") -> list[Grid]:
    """Each stream and strategy gets a table that marks the methods on its Pareto front."""
    return [_grid(title, group, k) for title, group in by_stream(rows).items()]


def _choosing(row: Summary) -> str:
    """What one must not do with test images."""
    if images_of(row) == "validation":
        return ""
    return ", on the test images: to choose a method, run with --validation 0.2"


def _grid(title: str, rows: Sequence[Summary], k: str) -> Grid:
    front = pareto_front(rows, k)
    shown = ("method", "top-1", "top-5", "kept")
    lines = [
        [
            *(COLUMNS[name](row) for name in shown),
            "" if row.cost is None else f"{row.cost:,}",
            "*" if row in front else "",
        ]
        for row in rows
    ]
    caption = (
        f"highest {k.replace('top', 'top-')} first{_choosing(rows[0])}; * beats all that keep less"
    )
    entries = [asdict(row) | {"front": row in front} for row in rows]
    return Grid(title, caption, [*shown, "multiplications", "front"], lines, entries)
