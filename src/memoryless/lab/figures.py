"""memoryless figures: figures for papers from finished runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from memoryless.lab.runs import RunFolder, find_later_runs
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
        Some of magnitudes, similarity, rows, accuracy, confusion, pareto; by default
        all.
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
        paths = save_figures(
            found, output, only or tuple(charts.FIGURES), formats, columns,
            lambda name: display.reading(found, f"drawing {name}"),
        )  # fmt: skip
    for path in paths:
        say(str(path))
    say(f"the figures are in {output}")


def save_figures(
    runs: Sequence[RunFolder],
    folder: Path,
    names: Sequence[str],
    formats: Sequence[str],
    columns: int = 1,
    working: Callable[[str], None] = lambda name: None,
) -> list[Path]:
    """Draw each figure named into files, one for each format; call `working` with its name."""
    from memoryless.lab import charts

    comparison, paths = charts.shown(runs), []
    for name in names:
        working(name)
        figure = charts.FIGURES[name](comparison, columns)
        paths += [charts.save_figure(figure, folder / f"{name}.{form}") for form in formats]
    return paths
