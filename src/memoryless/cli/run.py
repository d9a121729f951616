"""memoryless run: an experiment into run folders."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from memoryless.lab.config import Config


def run(
    *,
    config: Path | None = None,
    experiment: Annotated[Config, Parameter(name="*")] = Config(),  # noqa: B008 - frozen
) -> None:
    """Learn a stream of classes state by state and score every method after each.

    Killed at any point, the same command goes on from the last finished epoch.

    Parameters
    ----------
    config
        TOML file with any of the settings below; flags win over it.
    experiment
        Every setting of the experiment.
    """
    # Imported here, with torch, so that --help and errors are immediate.
    from memoryless.cli.output import say
    from memoryless.cli.progress import ProgressPrinter, set_threads
    from memoryless.lab.experiment import run as run_experiment

    set_threads(experiment.threads)
    with ProgressPrinter() as observer:
        run_experiment(experiment, observer=observer)
    say(f"done: memoryless table {shlex.quote(str(experiment.output))}")
