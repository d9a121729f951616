"""memoryless compare scores heads, calibrations and transports on finished runs."""

from __future__ import annotations

from pathlib import Path
from typing import Literal


def compare(
    *runs: Path,
    heads: tuple[str, ...] = (),
    calibrations: tuple[str, ...] = ("none",),
    transports: tuple[str, ...] = (),
    methods: tuple[str, ...] = (),
    by: Literal["top1", "top5"] = "top1",
    write: tuple[Path, ...] = (),
    figure: Path | None = None,
) -> None:
    """Score any combinations of head, calibration and transport on finished runs.

    The highest accuracy stands first. Nothing is trained. Runs that differ only by seed are
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
        What the order and the front go by.
    write
        Files to write the table to as well; .csv, .json, .md or .tex says the format.
    figure
        File for accuracy against bytes kept; .png, .svg or .pdf says the format.
    """
    from rich.console import Console

    from memoryless.calibration import CALIBRATIONS
    from memoryless.cli.figures import figures_module
    from memoryless.cli.output import check_formats, present, say
    from memoryless.errors import ConfigError
    from memoryless.heads import HEADS
    from memoryless.lab.analysis import compare as comparison
    from memoryless.lab.runs import find_later_runs
    from memoryless.names import choose
    from memoryless.transports import TRANSPORTS

    found = find_later_runs(runs)
    calibrations = () if calibrations == ("all",) else calibrations
    for kind, names, table in (
        ("head", heads, HEADS),
        ("calibration", calibrations, CALIBRATIONS),
        ("transport", transports, TRANSPORTS),
    ):
        for name in names:
            choose(kind, name, table)
    chosen = methods or comparison.combinations(found, heads, calibrations, transports)
    wanted = comparison.named_methods(found, chosen)
    check_formats(write)
    drawing = figures_module() if figure else None
    if figure and drawing:
        choose("format", figure.suffix[1:], drawing.METADATA)
    what = f"scoring up to {len(wanted)} methods on {len(found)} runs"
    with Console(stderr=True).status(what):
        rows = comparison.compare(found, wanted, by, leave_out=not methods)
    if not rows:
        raise ConfigError(
            "the runs there can give none of that: train with --statistics full, or name methods "
            "of their strategy"
        )
    present(comparison.compare_grids(rows, by), write)
    if figure and drawing:
        drawn = drawing.pareto_figure(comparison.labelled_streams(rows), by)
        say(f"written: {drawing.save_figure(drawn, figure)}")
