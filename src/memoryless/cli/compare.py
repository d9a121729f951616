"""memoryless compare scores heads, calibrations and transports on finished runs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from memoryless.lab.runs import RunFolder

CANNOT_GIVE = "the runs there can give none of that: "


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

    Nothing is trained. The highest accuracy stands first. Runs that differ only by seed are
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
        Methods by name in place of combinations, such as lwf_kd+lda:0.3+linear.
    by
        The accuracy that orders the methods and makes the front.
    all
        Show every method, not only the best, the front and the reference method.
    write
        Files to write the table to as well: .csv, .json, .md or .tex, and .parquet with pyarrow.
    figure
        File for a figure of accuracy against bytes kept: .png, .svg or .pdf.
    """
    from memoryless.errors import ConfigError
    from memoryless.lab.analysis import rescore
    from memoryless.lab.analysis.comparison import comparisons
    from memoryless.lab.analysis.tables import compare_table
    from memoryless.lab.runs import find_later_runs
    from memoryless.names import choose, counted
    from memoryless.output import check_formats, present, say
    from memoryless.progress import Display
    from memoryless.stats.calibration import CALIBRATIONS
    from memoryless.stats.heads import HEADS
    from memoryless.stats.transports import TRANSPORTS

    k = by.replace("-", "")
    found = find_later_runs(runs)
    calibrations = () if calibrations == ("all",) else calibrations
    for kind, names, table in (
        ("head", heads, HEADS),
        ("calibration", calibrations, CALIBRATIONS),
        ("transport", transports, TRANSPORTS),
    ):
        for name in names:
            choose(kind, name, table)
    chosen = methods or rescore.combinations(found, heads, calibrations, transports)
    wanted = rescore.named_methods(found, chosen)
    if not wanted:
        raise ConfigError(CANNOT_GIVE + _misfit(found, heads, calibrations, transports))
    check_formats(write)
    if figure:
        from memoryless.lab.analysis import figures as drawing

        choose("format", figure.suffix[1:], drawing.METADATA)
    with Display() as display:
        display.reading(found, f"scoring up to {counted(len(wanted), 'method', 'methods')}", True)
        streams = comparisons(found, wanted, leave_out=not methods)
    if not streams:
        raise ConfigError(CANNOT_GIVE + _lack(found, wanted))
    present([compare_table(stream, k, all or bool(methods)) for stream in streams], write)
    if figure:
        rows = {s.title: {entry.label: entry.row for entry in s.entries} for s in streams}
        drawn = drawing.pareto_figure(rows, k)
        say(f"written: {drawing.save_figure(drawn, figure)}")


def _misfit(runs: Sequence[RunFolder], *names: Sequence[str]) -> str:
    """Why no combination of these heads, calibrations and transports means anything."""
    from memoryless.stats.methods import Method, misfit

    strategies = [run.about.config.strategy for run in runs]
    parts = [given or [own] for given, own in zip(names, ("current", "none", "none"), strict=True)]
    reasons = (misfit(Method(*combination)) for combination in product(strategies, *parts))
    return next(filter(None, reasons))


def _lack(runs: Sequence[RunFolder], wanted: Sequence[str]) -> str:
    """What the runs lack for these methods, of the one that needs the least more."""
    from memoryless.lab.analysis.rescore import lacked_by
    from memoryless.stats.methods import parse_method

    lacks = (
        lacked_by(run, method)
        for run in runs
        for method in map(parse_method, wanted)
        if method.strategy == run.about.config.strategy
    )
    return min(filter(None, lacks), key=len)
