"""Accuracy tables show summary rows, one table for each stream and strategy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict

from memoryless.lab.analysis.grid import Grid
from memoryless.lab.analysis.summary import Summary, states_of
from memoryless.lab.runs import RunFolder

COLUMNS: dict[str, Callable[[Summary], str]] = {
    "method": lambda row: row.method,
    "top-1": lambda row: cell(row.top1, row.top1_std, row.seeds),
    "top-5": lambda row: cell(row.top5, row.top5_std, row.seeds),
    "last top-1": lambda row: cell(row.last_top1, row.last_top1_std, row.seeds),
    "last top-5": lambda row: cell(row.last_top5, row.last_top5_std, row.seeds),
    "forgetting": lambda row: f"{row.forgetting:.1f}",
    "bytes kept": lambda row: f"{row.bytes_kept:,}" if row.memoryless else "images",
}


def cell(mean: float, std: float, seeds: int) -> str:
    """A cell shows a figure with its deviation over several seeds, or nothing where it is nan."""
    if math.isnan(mean):
        return ""
    return f"{mean:.1f}±{std:.1f}" if seeds > 1 else f"{mean:.1f}"


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
    return f"{about['config']['strategy']}, {states}, seed {about['seed']}"


def run_names(runs: Sequence[RunFolder]) -> list[str]:
    """Names of runs, with the data set if there are several, and the folder of namesakes."""
    several = len({run.about["dataset"] for run in runs}) > 1
    names = [f"{run.about['dataset']}: " * several + run_name(run) for run in runs]
    return [
        name if names.count(name) == 1 else f"{name} ({run.path})"
        for name, run in zip(names, runs, strict=True)
    ]


def grids(rows: Sequence[Summary]) -> list[Grid]:
    """Each stream, strategy and folder gets a table."""
    return [
        Grid(
            title=title,
            caption=f"{_chance(group[0])}; {_kept(group[0])}",
            columns=list(COLUMNS),
            rows=[[show(row) for show in COLUMNS.values()] for row in group],
            entries=[asdict(row) for row in group],
        )
        for title, group in by_stream(rows).items()
    ]


def _chance(row: Summary) -> str:
    if math.isnan(row.chance_top1):
        return "one state: there is no average over later ones"
    return f"chance: top-1 {row.chance_top1:.1f}, top-5 {row.chance_top5:.1f}"


def _kept(row: Summary) -> str:
    if not row.memoryless:
        return "images of the past are kept"
    return (
        f"bytes kept: what the method itself needs; the run kept {row.bytes_of_run:,} for all "
        "methods together"
    )
