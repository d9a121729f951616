"""memoryless run: an experiment into run folders, and the control that belongs to it."""

from __future__ import annotations

import shlex
import textwrap
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console

from memoryless.images.sources import load
from memoryless.lab.comparison import Comparison, cell, comparisons, main_comparisons
from memoryless.lab.config import Config, control_of
from memoryless.lab.runs import RunFolder
from memoryless.output import say
from memoryless.progress import Display


def run(
    *,
    config: Path | None = None,  # noqa: ARG001 - read before, in cli/arguments.py
    control: bool = True,
    experiment: Annotated[Config, Parameter(name="*")] = Config(),  # noqa: B008 - frozen
) -> None:
    """Learn a stream of classes state by state and score every method after each.

    A state is also called a task, an experience or a session. The strategy joint learns all
    classes at once: this is also called offline training, or Full. Killed at any point, the same
    command continues after the last finished epoch.

    Parameters
    ----------
    config
        TOML file with any of the settings below; flags win over it.
    control
        Also run the stream through a network that never learns, into OUTPUT/untrained. A method
        that does not beat this control has gained nothing by training.
    experiment
        Every setting of the experiment.
    """
    settings = experiment.resolved()
    # Imported here, with torch, so that --help and errors are immediate.
    from memoryless.lab.experiment import set_threads

    set_threads(settings)
    with Display(console=Console()) as display:
        averages = _run_both(settings, control, display)
    for average in averages:
        for line in textwrap.wrap(average, 80, subsequent_indent="  ", break_on_hyphens=False):
            say(line)
    say(f"next: memoryless table {shlex.quote(str(experiment.output))}")


def _run_both(settings: Config, control: bool, display: Display) -> list[str]:
    """Finish an experiment and its control on the same data; return lines of averages."""
    from memoryless.lab import experiment as laboratory

    display.working("reading data")
    dataset = load(settings, partial(display.working, "checking images"))
    never_learns = control_of(settings) if control else None
    both = [config for config in (settings, never_learns) if config]
    display.expect(sum(laboratory.passes_left(config, dataset) for config in both))
    folders = [
        RunFolder(folder)
        for config in both
        for folder in laboratory.run(config, dataset, None, display)
    ]
    return [average_line(found) for found in main_comparisons(comparisons(folders))]


def average_line(comparison: Comparison) -> str:
    """Return the averages of the reference, the control, siw and the strategy itself."""
    named = (comparison.reference, comparison.control)
    few = [e for e in comparison.shown if e in named or e.head in ("current", "siw")]
    reached = ", ".join(_named(comparison, entry) for entry in few)
    last = comparison.row.finished - 1
    return f"Average of states 1-{last}: {reached}" if last > 1 else f"Accuracy: {reached}"


def _named(comparison: Comparison, entry: Any) -> str:
    role = comparison.role(entry)
    return f"{entry.label} {cell(entry.top1)}{f' ({role})' if role else ''}"
