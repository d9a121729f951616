"""memoryless run: an experiment into run folders, and the control that belongs to it."""

from __future__ import annotations

import os
import shlex
import textwrap
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from memoryless.lab.config import Config

if TYPE_CHECKING:
    from memoryless.progress import Display

NARROW = 8  # a width at which threads wait for each other more than they work


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
    from rich.console import Console

    from memoryless.output import say
    from memoryless.progress import Display

    settings = experiment.resolved()
    set_threads(settings)
    with Display(console=Console()) as display:
        averages = _run_both(settings, control, display)
    for average in averages:
        for line in textwrap.wrap(average, 80, subsequent_indent="  ", break_on_hyphens=False):
            say(line)
    say(f"next: memoryless table {shlex.quote(str(experiment.output))}")


def set_threads(config: Config) -> None:
    """Let torch and NumPy use as many CPU threads as resolved settings say, or one for a narrow
    ResNet. Only a command may do so, since all of a program share them.
    """
    import torch
    from threadpoolctl import threadpool_limits

    narrow = config.backbone.startswith("resnet18") and config.width <= NARROW
    number = config.threads or (1 if narrow else None)
    if number:
        number = min(number, os.cpu_count() or 1)
        torch.set_num_threads(number)
        threadpool_limits(number, user_api="blas")


def _run_both(settings: Config, control: bool, display: Display) -> list[str]:
    """Finish an experiment and its control on the same data; gives a line of averages."""
    from memoryless.images import load
    from memoryless.lab import experiment as laboratory
    from memoryless.lab.analysis.comparison import comparisons, main_comparisons
    from memoryless.lab.analysis.conclusion import average_line
    from memoryless.lab.control import control_of
    from memoryless.lab.runs import RunFolder

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
