"""memoryless figures draws figures for papers from finished runs."""

from __future__ import annotations

from pathlib import Path
from typing import Literal


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
    from memoryless.lab.analysis import figures as drawing
    from memoryless.lab.runs import find_later_runs
    from memoryless.names import choose
    from memoryless.output import say
    from memoryless.progress import Display

    for name in only:
        choose("figure", name, drawing.FIGURES)
    for form in formats:
        choose("format", form, drawing.METADATA)
    found = find_later_runs(runs)
    names = only or tuple(drawing.FIGURES)
    with Display() as shown:
        paths = drawing.save_figures(
            found, output, names, formats, columns,
            lambda name: shown.reading(found, f"drawing {name}"),
        )  # fmt: skip
    for path in paths:
        say(str(path))
    say(f"the figures are in {output}")
