"""memoryless table: accuracies of finished runs."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console


def table(*runs: Path, write: tuple[Path, ...] = (), include_first: bool = False) -> None:
    """Show the average incremental accuracy of every method in these runs.

    Runs that differ only by seed are averaged: mean ± standard deviation.

    Parameters
    ----------
    runs
        Run folders, or folders that hold some.
    write
        Files to write the table to as well; .csv, .json, .md or .tex says the format.
    include_first
        Count the first state in the averages, as newer papers do; the paper leaves it out.
    """
    from memoryless.analysis.grid import check_format, write_grids
    from memoryless.analysis.summary import summarise
    from memoryless.analysis.table import grids
    from memoryless.errors import ConfigError
    from memoryless.runs import find_runs

    if not runs:
        raise ConfigError("name at least one run folder: memoryless table RUN")
    for path in write:
        check_format(path)
    rows = summarise(find_runs(list(runs)), include_first)
    if not rows:
        raise ConfigError("no state is finished there yet: let memoryless run go on")
    tables = grids(rows)
    for one in tables:
        Console().print(one.for_terminal())
    for path in write:
        write_grids(tables, path)
        print(f"written: {path}")
