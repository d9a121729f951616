"""memoryless table shows accuracies of finished runs; with `--all` it needs no torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from memoryless.lab.analysis.grid import Grid
    from memoryless.lab.runs import RunFolder


def table(
    *runs: Path,
    show: Literal["accuracy", "paired", "typology", "data"] = "accuracy",
    all: bool = False,
    methods: tuple[str, ...] = (),
    by: Literal["top-1", "top-5"] = "top-1",
    write: tuple[Path, ...] = (),
    include_first: bool = False,
) -> None:
    """Show what methods reach in these runs: those to look at first, beside control and chance.

    Accuracies are averages over states 1 and later. Runs that differ only by seed are averaged:
    mean ± standard deviation.

    Parameters
    ----------
    runs
        Run folders, or folders that hold some.
    show
        accuracy; paired, each method against the first on the same checkpoints; typology, where
        past and new images go by state; or data, the sizes of the data sets.
    all
        Show every method that the runs have scored, in a table for each strategy and folder.
    methods
        Methods to score anew from the runs, without training: names of the paper, or any
        strategy+head+calibration+transport such as lwf_kd+lda+linear; by default those each run
        has scored.
    by
        For --show paired: the accuracy that is compared.
    write
        Files to write the table to as well; .csv, .json, .md or .tex says the format.
    include_first
        Count state 0 in the averages, as newer papers do; the paper leaves it out.
    """
    from memoryless.errors import ConfigError
    from memoryless.lab.analysis.paired import paired_grids
    from memoryless.lab.analysis.typology import data_grid, typology_grids
    from memoryless.lab.runs import find_runs
    from memoryless.output import check_formats, present

    found = [run for run in find_runs(runs) if run.finished]
    check_formats(write)
    names: list[str] = []
    if methods:
        from memoryless.lab.analysis.compare import named_methods

        names = named_methods(found, methods)
    make = {
        "accuracy": lambda: _accuracies(found, names, all or bool(names), include_first),
        "paired": lambda: paired_grids(found, names, by.replace("-", "")),
        "typology": lambda: typology_grids(found, names),
        "data": lambda: [data_grid(found)] if found else [],
    }[show]
    tables = _telling(found, names, make) if names else make()
    if not tables:
        raise ConfigError("the runs there have nothing of that yet: let memoryless run go on")
    present(tables, write)


def _telling(
    runs: Sequence[RunFolder], names: Sequence[str], make: Callable[[], list[Grid]]
) -> list[Grid]:
    """Tables whose methods are scored anew, with progress, which needs torch."""
    from memoryless.images.dataset import counted
    from memoryless.progress import Display

    with Display() as shown:
        shown.reading(runs, f"scoring up to {counted(len(names), 'method', 'methods')}", True)
        return make()


def _accuracies(
    runs: Sequence[RunFolder], names: Sequence[str], every: bool, include_first: bool
) -> list[Grid]:
    """Tables of every method, or of those to look at first, for which methods must be known."""
    from memoryless.lab.analysis.summary import summarise
    from memoryless.lab.analysis.table import first_grids, grids

    if every:
        return grids(summarise(runs, include_first, names))
    from memoryless.lab.analysis.side_by_side import comparisons

    return first_grids(comparisons(runs, include_first=include_first))
