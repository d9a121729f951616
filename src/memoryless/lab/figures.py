"""memoryless figures: figures for papers from finished runs."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from memoryless.lab.runs import find_later_runs
from memoryless.names import choose
from memoryless.output import say
from memoryless.progress import Display


def figures(
    *runs: Path,
    output: Path = Path("figures"),
    only: tuple[str, ...] = (),
    formats: tuple[str, ...] = ("png", "svg", "pdf"),
    columns: Literal[1, 2] = 1,
) -> None:
    """Draw rows, feature similarity, accuracy, confusion between states and bytes kept.

    Of several data sets or numbers of states, the one with the most trainings is drawn.

    Parameters
    ----------
    runs
        Run folders, or folders that hold some.
    output
        Folder for the figures.
    only
        Some of magnitudes, similarity, rows, accuracy, confusion, pareto; by default all.
    formats
        Some of png, svg, pdf.
    columns
        Width: one column of a paper (3.3 inches), or two (6.9 inches).
    """
    from memoryless.lab import charts  # with matplotlib, so that --help is immediate

    for name in only:
        choose("figure", name, charts.FIGURES)
    for form in formats:
        choose("format", form, charts.METADATA)
    found = find_later_runs(runs)
    with Display() as display:
        comparison = charts.shown(found)
        for name in only or charts.FIGURES:
            display.reading(found, f"drawing {name}")
            figure = charts.FIGURES[name](comparison, columns)
            for form in formats:
                say(str(charts.save_figure(figure, output / f"{name}.{form}")))
    say(f"the figures are in {output}")
