"""memoryless table shows what methods reached in finished runs; it needs no torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from memoryless.lab.runs import RunFolder
    from memoryless.tables import Table

Kind = Literal["accuracy", "paired", "typology", "data"]


def table(
    *runs: Path,
    show: Kind = "accuracy",
    all: bool = False,
    methods: tuple[str, ...] = (),
    by: Literal["top-1", "top-5"] = "top-1",
    write: tuple[Path, ...] = (),
) -> None:
    """Show what methods reach in these runs, with the control, chance and Full.

    Runs that differ only by seed are averaged: mean ± standard deviation. Files have every figure,
    accuracies as shares from 0 to 1; memoryless.lab.results(RUN) in Python has every state.

    Parameters
    ----------
    runs
        Run folders, or folders that hold some.
    show
        accuracy; paired, differences to the first method with 95 % intervals; typology, which
        answers past and new images get; or data, the sizes of the data sets.
    all
        Show every method that the runs scored, not only the reference methods.
    methods
        Methods to score again from the runs, without training, such as finetune+siw+mc, the
        paper's inFT_siw_mc, or lwf_kd+lda+linear; by default those that each run scored.
    by
        For --show paired: the accuracy to compare.
    write
        Files to write the table to as well: .csv, .json, .md or .tex, and .parquet with pyarrow.
    """
    from memoryless.errors import ConfigError
    from memoryless.lab.runs import find_runs
    from memoryless.output import check_formats, present

    found = [run for run in find_runs(runs) if run.finished]
    check_formats(write)
    names: list[str] = []
    if methods:
        from memoryless.lab.analysis.rescore import named_methods

        names = named_methods(found, methods)
    make = partial(_tables, found, show, names, all or bool(names), int(by[-1]))
    tables = _scored(found, names, make) if names or show == "paired" else make()
    if not tables:
        raise ConfigError("the runs there have nothing of that yet: let memoryless run go on")
    present(tables, write)


def _tables(
    runs: Sequence[RunFolder], show: Kind, names: Sequence[str], every: bool, k: int
) -> list[Table]:
    """The tables of a kind."""
    from memoryless.lab.analysis import tables
    from memoryless.lab.analysis.comparison import comparisons

    if show == "data":
        return [tables.data_table(runs)] if runs else []
    if show == "typology":
        return tables.typology_tables(runs, names, every)
    if show == "paired":
        from memoryless.lab.analysis.paired import paired_tables

        return paired_tables(runs, names, k, every)
    return [tables.method_table(comparison, every) for comparison in comparisons(runs, names)]


def _scored(
    runs: Sequence[RunFolder], names: Sequence[str], make: Callable[[], list[Table]]
) -> list[Table]:
    """Tables whose methods are scored now, with progress."""
    from memoryless.names import counted
    from memoryless.progress import Display

    what = f"scoring up to {counted(len(names), 'method', 'methods')}" if names else "scoring"
    with Display() as display:
        display.reading(runs, what, True)
        return make()
