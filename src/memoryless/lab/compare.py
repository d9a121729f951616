"""memoryless compare: any combinations of head, calibration and transport on finished runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Literal

from memoryless.errors import ConfigError
from memoryless.lab.comparison import Comparison, comparisons, pareto_front
from memoryless.lab.frame import lacked_by, named_methods
from memoryless.lab.runs import RunFolder, find_later_runs
from memoryless.lab.table import table_of
from memoryless.names import choose
from memoryless.output import check_formats, present, say
from memoryless.progress import Display
from memoryless.stats.calibration import CALIBRATIONS
from memoryless.stats.heads import HEADS
from memoryless.stats.methods import Method, grid_of, misfit, parse_method
from memoryless.stats.transports import TRANSPORTS
from memoryless.tables import Table

MOST_COMPARED = 10
COLUMNS = ("top-1", "kept", "top-5", "products")


def compare(
    *runs: Path,
    heads: tuple[str, ...] = (),
    calibrations: tuple[str, ...] = ("none",),
    transports: tuple[str, ...] = (),
    methods: tuple[str, ...] = (),
    by: Literal["top-1", "top-5"] = "top-1",
    all: bool = False,
    write: tuple[Path, ...] = (),
    figure: Path | None = None,
) -> None:
    """Score any combinations of head, calibration and transport on finished runs.

    Nothing is trained. The highest accuracy comes first. Runs that differ only by seed are
    averaged.

    Parameters
    ----------
    runs
        Run folders, or folders that hold some; most heads need runs made with --statistics.
    heads
        Heads to combine; by default all that the runs can give.
    calibrations
        Calibrations to combine; "all" for all that the runs can give.
    transports
        Transports to combine; by default all that the runs have.
    methods
        Methods by name in place of combinations, for example lwf_kd+lda:0.3+linear.
    by
        The accuracy that orders the methods and makes the front.
    all
        Show every method, not only the best, the front and the reference method.
    write
        Files to write the table to as well: .csv, .json, .md or .tex, and .parquet with pyarrow.
    figure
        File for a figure of accuracy against bytes kept: .png, .svg or .pdf.
    """
    k = by.replace("-", "")
    found = find_later_runs(runs)
    calibrations = () if calibrations == ("all",) else calibrations
    for name in heads:
        choose("head", name, HEADS)
    for name in calibrations:
        choose("calibration", name, CALIBRATIONS)
    for name in transports:
        choose("transport", name, TRANSPORTS)
    wanted = named_methods(found, methods or combinations(found, heads, calibrations, transports))
    check_formats(write)
    if figure:
        from memoryless.lab import charts  # with matplotlib, which nothing else here needs

        choose("format", figure.suffix[1:], charts.METADATA)
    with Display() as display:
        display.reading(found, "scoring", True)
        streams = comparisons(found, wanted, leave_out=not methods) if wanted else []
    if not streams:
        named = heads, calibrations, transports
        reason = _lack(found, wanted) if wanted else _misfit(found, *named)
        raise ConfigError(f"these runs can give none of that: {reason}")
    present([compare_table(stream, k, all or bool(methods)) for stream in streams], write)
    if figure:
        drawn = charts.pareto_figure({s.title: s.entries for s in streams}, k)
        say(f"written: {charts.save_figure(drawn, figure)}")


def _misfit(runs: Sequence[RunFolder], *names: Sequence[str]) -> str:
    """Return why no combination of these heads, calibrations and transports means anything."""
    strategies = [run.about.config.strategy for run in runs]
    parts = [given or [own] for given, own in zip(names, ("current", "none", "none"), strict=True)]
    reasons = (misfit(Method(*combination)) for combination in product(strategies, *parts))
    return next(filter(None, reasons))


def _lack(runs: Sequence[RunFolder], wanted: Sequence[str]) -> str:
    """Return the settings that the runs lack for one of these methods: the fewest."""
    methods = list(map(parse_method, wanted))
    strategies = {run: run.about.config.strategy for run in runs}
    lacks = (lacked_by(r, m) for r, own in strategies.items() for m in methods if m.strategy == own)
    return min(filter(None, lacks), key=len)


def combinations(
    runs: Sequence[RunFolder],
    heads: Sequence[str] = (),
    calibrations: Sequence[str] = ("none",),
    transports: Sequence[str] = (),
) -> list[str]:
    """Return all combinations of these names that mean something; no names stand for all."""
    return [
        name
        for strategy in dict.fromkeys(run.about.config.strategy for run in runs)
        for name, method in grid_of(strategy).items()
        if (not heads or method.head in heads)
        and (not calibrations or method.calibration in calibrations)
        and (not transports or method.transport in transports)
    ]


def compare_table(comparison: Comparison, k: str = "top1", every: bool = False) -> Table:
    """Return methods by accuracy, with those on the Pareto front marked; few of them, or all."""
    entries = sorted(comparison.entries, key=lambda entry: -getattr(entry, k))
    front = pareto_front(entries, k)
    if not every:
        best = entries[: MOST_COMPARED - len(front)]
        entries = [e for e in entries if e in best or e in front or e is comparison.reference]
    remarks = {e.label: " ".join([comparison.role(e), "*" * (e in front)]).strip() for e in entries}
    on_front = [entry in front for entry in entries]
    notes = _notes(comparison, k)
    return table_of(comparison, entries, COLUMNS, remarks, notes, {}, front=on_front)


def _notes(comparison: Comparison, k: str) -> Iterator[str]:
    yield f"Highest {k.replace('top', 'top-')} first"
    if comparison.row.images == "test":
        yield "These are test images: to choose a method, run with --validation 0.2"
    yield "*: on the Pareto front of accuracy and bytes"
