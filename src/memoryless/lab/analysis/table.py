"""Accuracy tables: the few methods to look at first of each stream, or every summary row."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from memoryless.lab.analysis.grid import Grid
from memoryless.lab.analysis.summary import Summary, states_of
from memoryless.lab.runs import RunFolder
from memoryless.names import size

if TYPE_CHECKING:
    from memoryless.lab.analysis.side_by_side import Comparison


def cell(mean: float, std: float, seeds: int) -> str:
    """A cell shows a figure with its deviation over several seeds, or nothing where it is nan."""
    if math.isnan(mean):
        return ""
    return f"{mean:.1f}±{std:.1f}" if seeds > 1 else f"{mean:.1f}"


def kept(row: Summary) -> str:
    """What a method itself needs of the past, as a person says it."""
    if not row.memoryless:
        return "images"
    return size(row.bytes_kept) if row.bytes_kept else "nothing"


Column = Callable[[Summary], str]

COLUMNS: dict[str, Column] = {
    "method": lambda row: row.method,
    "top-1": lambda row: cell(row.top1, row.top1_std, row.seeds),
    "top-5": lambda row: cell(row.top5, row.top5_std, row.seeds),
    "forgetting": lambda row: f"{row.forgetting:.1f}",
    "kept": kept,
    "last top-1": lambda row: cell(row.last_top1, row.last_top1_std, row.seeds),
    "last top-5": lambda row: cell(row.last_top5, row.last_top5_std, row.seeds),
}
ONE_STATE = {
    "method": COLUMNS["method"],
    "top-1": COLUMNS["last top-1"],
    "top-5": COLUMNS["last top-5"],
    "kept": COLUMNS["kept"],
}
AVERAGED = "percent, average over states 1 and later"
KEPT = "kept: what the method itself needs of the past"


def columns_for(row: Summary) -> dict[str, Column]:
    """The columns of a table: of a single state there is no average, and nothing to forget."""
    return ONE_STATE if math.isnan(row.top1) else COLUMNS


def by_stream(rows: Sequence[Summary]) -> dict[str, list[Summary]]:
    """Rows by their stream, strategy and folder."""
    streams: dict[str, list[Summary]] = {}
    for row in rows:
        streams.setdefault(f"{row.run}: {stream_name(row)}", []).append(row)
    return streams


def stream_name(row: Summary) -> str:
    """The name tells the stream and strategy, but not the folder."""
    seeds = f"{row.seeds} seeds" if row.seeds > 1 else "1 seed"
    free = "" if row.memoryless else " (not memoryless)"
    of = f", statistics of {row.statistics_of}" if row.statistics_of else ""
    return f"{row.data}, {count_states(row)}, order {row.order}, {row.strategy}{free}{of}, {seeds}"


def count_states(row: Summary) -> str:
    """The words say how many states a row is of."""
    return _in_words(row.states)


def _in_words(states: str) -> str:
    return "1 state" if states == "1" else f"{states} states"


def run_name(run: RunFolder) -> str:
    """The name tells a run's strategy, number of states and seed."""
    about = run.about
    states = _in_words(states_of(run))
    return f"{about.config.strategy}, {states}, seed {about.seed}"


def run_names(runs: Sequence[RunFolder]) -> list[str]:
    """Names of runs, with the data set if there are several, and the folder of namesakes."""
    several = len({run.about.dataset for run in runs}) > 1
    names = [f"{run.about.dataset}: " * several + run_name(run) for run in runs]
    return [
        name if names.count(name) == 1 else f"{name} ({run.path})"
        for name, run in zip(names, runs, strict=True)
    ]


def first_grids(found: Sequence[Comparison]) -> list[Grid]:
    """Each data set and number of states gets a table of the methods to look at first, with the
    control, chance and Full, highest top-1 first.
    """
    return [_first_grid(comparison) for comparison in found]


def _first_grid(comparison: Comparison) -> Grid:
    entries, row = comparison.shown, comparison.trainings[0].rows[0]
    columns = columns_for(row)
    lines = [[e.label, *(show(e.row) for show in [*columns.values()][1:])] for e in entries]
    more = len(comparison.entries) - len(entries)
    return Grid(
        title=f"{row.data}, {count_states(row)}{comparison.number}",
        caption="; ".join([*_remarks(comparison), *([f"--all shows {more} more"] if more else [])]),
        columns=list(columns),
        rows=[*lines, *bounds(comparison, columns)],
        entries=[asdict(entry.row) for entry in entries],
    )


def bounds(comparison: Comparison, columns: Iterable[str]) -> Iterator[list[str]]:
    """Rows of what guessing reaches, and of all classes at once, which is of the end alone."""
    row, full = comparison.trainings[0].rows[0], comparison.full
    columns = [name for name in columns if name != "method"]
    if not math.isnan(row.chance_top1):
        cells = {"top-1": f"{row.chance_top1:.1f}", "top-5": f"{row.chance_top5:.1f}"}
        yield ["chance", *(cells.get(name, "") for name in columns)]
    if full:
        yield full_row(columns, full.rows[0].last_top1, full.rows[0].last_top5)


def full_row(columns: Iterable[str], top1: float, top5: float) -> list[str]:
    """The row of what learned all classes at once: its accuracies are those of a last state."""
    cells = {"kept": "images", "last top-1": f"{top1:.1f}", "last top-5": f"{top5:.1f}"}
    return ["Full", *(cells.get(name, "") for name in columns if name != "method")]


def _remarks(comparison: Comparison) -> Iterator[str]:
    if not math.isnan(comparison.trainings[0].rows[0].top1):
        yield AVERAGED
    yield f"{comparison.recommended.label} is recommended, whatever it reaches here"
    if comparison.control:
        control = comparison.entry(comparison.control, comparison.control.headline[-1])
        yield f"{control.label} is the control, a network that never learned"
    if images := {t.strategy: None for t in comparison.trainings if not t.rows[0].memoryless}:
        yield f"{' and '.join(images)}: not memoryless, images of the past are kept"
    if comparison.full:
        yield "Full learned all classes at once, and is not memoryless"
    yield KEPT


def grids(rows: Sequence[Summary]) -> list[Grid]:
    """Each stream, strategy and folder gets a table of all its methods."""
    return [
        Grid(
            title=title,
            caption=f"{_chance(group[0])}; {_kept(group[0])}",
            columns=list(columns_for(group[0])),
            rows=[[show(row) for show in columns_for(row).values()] for row in group],
            entries=[asdict(row) for row in group],
        )
        for title, group in by_stream(rows).items()
    ]


def _chance(row: Summary) -> str:
    if math.isnan(row.chance_top1):
        return "percent, in the only state"
    return f"{AVERAGED}; chance: top-1 {row.chance_top1:.1f}, top-5 {row.chance_top5:.1f}"


def _kept(row: Summary) -> str:
    if not row.memoryless:
        return "images of the past are kept"
    return f"{KEPT}; the run kept {size(row.bytes_of_run)} for all methods together"
