"""memoryless run: an experiment into run folders, and the control that belongs to it."""

from __future__ import annotations

import math
import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from memoryless.lab.config import Config

if TYPE_CHECKING:
    from memoryless.cli.progress import ProgressPrinter
    from memoryless.data import Dataset
    from memoryless.lab.analysis.summary import Summary


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
        lines = _run_both(settings, control, observer)
    for line in lines:
        say(line)
    say(f"done: memoryless table {shlex.quote(str(experiment.output))}")


def _run_both(settings: Config, control: bool, observer: ProgressPrinter) -> list[str]:
    """Finish an experiment and its control on the same data; the lines say what they reached."""
    from memoryless.data import load
    from memoryless.lab.control import control_of
    from memoryless.lab.experiment import work_of

    observer.working("reading data", 0, 0)
    dataset = load(settings, partial(observer.working, "checking images"))
    never_learns = control_of(settings) if control else None
    both = filter(None, (settings, never_learns))
    observer.expected = [work for config in both for work in work_of(config, dataset)]
    reached = _finish(settings, dataset, observer)
    if never_learns is None:
        return outcome(reached)
    beside = _finish(never_learns, dataset, observer)
    return outcome(reached, beside, flags_of_control(settings, never_learns))


def _finish(config: Config, dataset: Dataset, observer: ProgressPrinter) -> Summary | None:
    """What the recommended method reaches in runs that are finished here; None without a run."""
    from memoryless.lab import experiment as laboratory
    from memoryless.lab.analysis.summary import summarise
    from memoryless.lab.runs import RunFolder
    from memoryless.methods import headline

    folders = laboratory.run(config, dataset, None, observer)
    rows = {row.method: row for row in summarise([RunFolder(folder) for folder in folders])}
    return rows[headline(rows)[-1]] if rows else None


def flags_of_control(settings: Config, control: Config) -> str:
    """Flags with which a run keeps the class statistics of its control; empty where it does."""
    read = ("statistics", "level", "square_roots")
    if all(getattr(settings, name) == getattr(control, name) for name in read):
        return ""
    return f"--statistics {control.statistics} --level {control.level} --square-roots"


def outcome(reached: Summary | None, control: Summary | None = None, flags: str = "") -> list[str]:
    """What the recommended method and the control reached, and which of them is ahead.

    `flags` are those without which they read different statistics: then nothing tells whether it
    is the training that makes the difference.
    """
    lines = []
    if reached:
        lines.append(f"{reached.method}, the recommended method: {_numbers(reached)}")
    if reached and control:
        told = f"{control.method}, the control that never learned: {_numbers(control)}"
        lines.append(told if flags else f"{told}; {_ahead(reached, control)}")
        if flags:
            lines.append(
                "the control's method reads other class statistics than this run keeps; a run "
                f"keeps the same with {flags}"
            )
    return lines


def _ahead(reached: Summary, control: Summary) -> str:
    gain = round(_top1(reached) - _top1(control), 1)
    seeds = " (one seed)" if min(reached.seeds, control.seeds) == 1 else ""
    if gain == 0:
        return f"as many{seeds}"
    if gain > 0:
        return f"{gain:.1f} points fewer{seeds}"
    return f"{-gain:.1f} points more, so training gained nothing for this method{seeds}"


def _top1(row: Summary) -> float:
    return row.last_top1 if math.isnan(row.top1) else row.top1


def _numbers(row: Summary) -> str:
    """Accuracies, as means over all states but the first where there are several."""
    if math.isnan(row.top1):
        return f"top-1 {row.last_top1:.1f}, top-5 {row.last_top5:.1f}"
    chance = f"chance {row.chance_top1:.1f} and {row.chance_top5:.1f}"
    return f"top-1 {row.top1:.1f}, top-5 {row.top5:.1f} (mean of states 1 and later; {chance})"
