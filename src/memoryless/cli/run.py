"""memoryless run: an experiment into run folders, and the control that belongs to it."""

from __future__ import annotations

import shlex
import textwrap
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from memoryless.lab.config import Config

if TYPE_CHECKING:
    from memoryless.cli.progress import ProgressPrinter


def run(
    *,
    config: Path | None = None,
    control: bool = True,
    experiment: Annotated[Config, Parameter(name="*")] = Config(),  # noqa: B008 - frozen
) -> None:
    """Learn a stream of classes state by state and score every method after each.

    Killed at any point, the same command goes on from the last finished epoch.

    Parameters
    ----------
    config
        TOML file with any of the settings below; flags win over it.
    control
        Run the same stream through a network that never learns too, into OUTPUT/untrained: a
        method over the same statistics that does not beat it has gained nothing by training.
    experiment
        Every setting of the experiment.
    """
    # Imported here, with torch, so that --help and errors are immediate.
    from memoryless.cli.output import say
    from memoryless.cli.progress import ProgressPrinter, set_threads

    settings = experiment.resolved()
    set_threads(settings)
    with ProgressPrinter() as observer:
        averages = _run_both(settings, control, observer)
    for average in averages:
        for line in textwrap.wrap(average, 80, subsequent_indent="  ", break_on_hyphens=False):
            say(line)
    say(f"next: memoryless table {shlex.quote(str(experiment.output))}")


def _run_both(settings: Config, control: bool, observer: ProgressPrinter) -> list[str]:
    """Finish an experiment and its control on the same data; gives a line of averages."""
    from memoryless.data import load
    from memoryless.lab import experiment as laboratory
    from memoryless.lab.analysis.comparison import comparisons, main_comparisons
    from memoryless.lab.analysis.conclusion import average_line
    from memoryless.lab.control import control_of
    from memoryless.lab.runs import RunFolder

    observer.working("reading data", 0, 0)
    dataset = load(settings, partial(observer.working, "checking images"))
    never_learns = control_of(settings) if control else None
    both = [config for config in (settings, never_learns) if config]
    observer.expected = [work for config in both for work in laboratory.work_of(config, dataset)]
    folders = [
        RunFolder(folder)
        for config in both
        for folder in laboratory.run(config, dataset, None, observer)
    ]
    return [average_line(found) for found in main_comparisons(comparisons(folders))]
