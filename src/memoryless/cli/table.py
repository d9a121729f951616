"""memoryless table shows accuracies of finished runs; without `--methods` it needs no torch."""

from __future__ import annotations

from pathlib import Path
from typing import Literal


def table(
    *runs: Path,
    show: Literal["accuracy", "paired", "typology", "data"] = "accuracy",
    methods: tuple[str, ...] = (),
    by: Literal["top1", "top5"] = "top5",
    write: tuple[Path, ...] = (),
    include_first: bool = False,
) -> None:
    """Show the average incremental accuracy of every method in these runs.

    Runs that differ only by seed are averaged: mean ± standard deviation.

    Parameters
    ----------
    runs
        Run folders, or folders that hold some.
    show
        accuracy; paired, each method against the first on the same checkpoints; typology, where
        past and new images go by state; or data, the sizes of the data sets.
    methods
        Methods to score anew from the runs, without training: names of the paper, or any
        strategy+head+calibration+transport such as lwf_kd+lda+linear; by default those each run
        has scored.
    by
        For --show paired: the accuracy that is compared.
    write
        Files to write the table to as well; .csv, .json, .md or .tex says the format.
    include_first
        Count the first state in the averages, as newer papers do; the paper leaves it out.
    """
    from memoryless.cli.output import check_formats, present
    from memoryless.errors import ConfigError
    from memoryless.lab.analysis.paired import paired_grids
    from memoryless.lab.analysis.summary import summarise
    from memoryless.lab.analysis.table import grids
    from memoryless.lab.analysis.typology import data_grid, typology_grids
    from memoryless.lab.runs import find_runs

    found = [run for run in find_runs(runs) if run.finished]
    check_formats(write)
    names: list[str] = []
    if methods:
        from memoryless.lab.analysis.compare import named_methods

        names = named_methods(found, methods)
    tables = {
        "accuracy": lambda: grids(summarise(found, include_first, names)),
        "paired": lambda: paired_grids(found, names, by),
        "typology": lambda: typology_grids(found, names),
        "data": lambda: [data_grid(found)] if found else [],
    }[show]()
    if not tables:
        raise ConfigError("the runs there have nothing of that yet: let memoryless run go on")
    present(tables, write)
