"""memoryless figures draws the paper's figures from finished runs."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType


def figures(
    *runs: Path,
    output: Path = Path("figures"),
    only: tuple[str, ...] = (),
    formats: tuple[str, ...] = ("png", "svg", "pdf"),
) -> None:
    """Draw rows, feature similarity, accuracy, confusion between states and bytes kept.

    Similarity, accuracy and pareto show all runs; the other figures the first.

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
    """
    from memoryless.cli.output import say
    from memoryless.errors import ConfigError
    from memoryless.lab.runs import find_runs
    from memoryless.names import choose

    drawing = figures_module()
    for name in only:
        choose("figure", name, drawing.FIGURES)
    for form in formats:
        choose("format", form, drawing.METADATA)
    found = [run for run in find_runs(runs) if run.finished > 1]
    if not found:
        raise ConfigError("the runs there have no second state yet: let memoryless run go on")
    for path in drawing.save_figures(found, output, only or tuple(drawing.FIGURES), formats):
        say(str(path))


def figures_module() -> ModuleType:
    """The module that draws, or an error if its libraries are not installed."""
    from memoryless.errors import ConfigError

    try:
        from memoryless.lab.analysis import figures
    except ImportError as error:
        raise ConfigError(f"figures need {error.name}: pip install matplotlib scipy") from error
    return figures
