"""memoryless figures: the paper's figures from finished runs."""

from __future__ import annotations

from pathlib import Path


def figures(
    *runs: Path,
    output: Path = Path("figures"),
    only: tuple[str, ...] = (),
    formats: tuple[str, ...] = ("png", "svg", "pdf"),
) -> None:
    """Draw weight magnitudes, feature similarity, row histograms, accuracy and confusion.

    Similarity and accuracy show all runs; the other figures the first.

    Parameters
    ----------
    runs
        Run folders, or folders that hold some.
    output
        Folder for the figures.
    only
        Some of magnitudes, similarity, rows, accuracy, confusion; by default all.
    formats
        Some of png, svg, pdf.
    """
    from memoryless.errors import ConfigError, choose
    from memoryless.runs import find_runs

    try:
        from memoryless.analysis.figures import FIGURES, METADATA, save_figures
    except ImportError as error:
        raise ConfigError(
            f"figures need {error.name}: pip install 'memoryless[figures]'"
        ) from error
    for name in only:
        choose("figure", name, FIGURES)
    for form in formats:
        choose("format", form, METADATA)
    if not runs:
        raise ConfigError("name at least one run folder: memoryless figures RUN")
    found = [run for run in find_runs(list(runs)) if run.finished > 1]
    if not found:
        raise ConfigError("the runs there have no second state yet: let memoryless run go on")
    for path in save_figures(found, output, only or tuple(FIGURES), formats):
        print(path)
