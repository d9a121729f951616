"""Summary rows average every method's accuracies over states, and over runs that differ by seed."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from memoryless.lab.run_format import Results, Scored
from memoryless.lab.runs import RunFolder, compared
from memoryless.stats.metrics import average_incremental_accuracy, chance_level, forgetting
from memoryless.train.settings import RecordSettings

VALIDATION = " (validation)"  # behind the name of data of which training images were scored


@dataclass(frozen=True)
class Summary:
    """A row is one method on one stream: accuracies in percent, std over seeds (0 for one)."""

    run: str
    """The folder that holds the runs."""
    data: str
    states: str
    """How many states, or "finished/all" of a run that has not ended."""
    order: str
    strategy: str
    statistics_of: str
    """What class statistics were computed from, such as "middle stages, roots"; empty without."""
    memoryless: bool
    method: str
    seeds: int
    top1: float
    top1_std: float
    top5: float
    top5_std: float
    last_top1: float
    last_top1_std: float
    last_top5: float
    last_top5_std: float
    forgetting: float
    chance_top1: float
    chance_top5: float
    bytes_kept: int
    """Bytes of the parts of the last state's record that the method itself needs."""
    bytes_of_run: int
    """Bytes of that whole record: what the run kept for all methods together."""
    bytes_of_images: int
    """Bytes that the training images would have taken."""
    cost: int | None
    """Multiplications to score one image's features in the last state, if known."""


def summarise(
    runs: Sequence[RunFolder],
    include_first: bool = False,
    methods: Sequence[str] = (),
    leave_out: bool = False,
) -> list[Summary]:
    """A row for each method of each group of runs; runs without a finished state have none.

    `methods` and `leave_out` are those of `results_of`.
    """
    return [
        row
        for group in by_seed(runs)
        for row in rows_of(
            group, [results_of(run, methods, leave_out) for run in group], include_first
        )
    ]


def by_seed(runs: Sequence[RunFolder]) -> list[list[RunFolder]]:
    """Runs with a finished state, each once, in groups that differ only by seed."""
    groups: dict[str, list[RunFolder]] = defaultdict(list)
    for run in without_repeats([run for run in runs if run.finished]):
        groups[_group(run)].append(run)
    return list(groups.values())


def without_repeats(runs: Sequence[RunFolder]) -> list[RunFolder]:
    """Each run once: of several folders that hold it, the first with the most states."""
    found: dict[str, RunFolder] = {}
    for run in runs:
        if run.id not in found or run.finished > found[run.id].finished:
            found[run.id] = run
    return list(found.values())


def results_of(
    run: RunFolder, methods: Sequence[str] = (), leave_out: bool = False
) -> list[Results]:
    """A run's results by state: the stored ones, or those of `methods`, scored anew.

    With `leave_out`, methods that the run cannot give are left out; else they are an error.
    """
    if not methods:
        return run.results()
    from memoryless.lab.analysis.rescore import results_with  # stored results need no torch

    return results_with(run, methods, leave_out)


def images_of(row: Summary) -> str:
    """Which images a row's accuracies are of: test images, or those that training left out."""
    return "validation" if row.data.endswith(VALIDATION) else "test"


def _group(run: RunFolder) -> str:
    """A text that is equal for runs that differ only by seed."""
    about = run.about
    facts = [compared(about.config), about.dataset, about.classes, about.sizes, run.finished]
    return json.dumps(facts)


def statistics_of(config: RecordSettings) -> str:
    """What a run computed class statistics from, in words; nothing where it gathered none.

    >>> statistics_of(RecordSettings(statistics="full"))
    'last stage'
    """
    if config.statistics == "none" and not config.projection:
        return ""
    stages = "middle stages" if config.level == "middle" else "last stage"
    return f"{stages}, roots" if config.square_roots else stages


def states_of(run: RunFolder) -> str:
    """How many states a run has, or "finished/all" of one that has not ended."""
    finished, total = run.finished, len(run.about.sizes)
    return str(total) if finished == total else f"{finished}/{total}"


def rows_of(
    runs: Sequence[RunFolder], results: Sequence[list[Results]], include_first: bool = False
) -> list[Summary]:
    """A row for each method that all of these runs scored; `results` has each run's by state."""
    about = runs[0].about
    sizes = about.sizes[: runs[0].finished]
    last = results[0][-1]
    scored = [state.methods for states in results for state in states]
    common = [method for method in scored[0] if all(method in other for other in scored)]
    return [
        Summary(
            run=_place(runs),
            data=about.dataset + (VALIDATION if about.config.validation else ""),
            states=states_of(runs[0]),
            order=about.config.order,
            strategy=about.config.strategy,
            statistics_of=statistics_of(about.config),
            memoryless=about.memoryless,
            method=method,
            seeds=len({run.about.seed for run in runs}),
            **_accuracies([[s.methods[method] for s in states] for states in results],
                          include_first),
            chance_top1=chance_level(sizes, 1, include_first),
            chance_top5=chance_level(sizes, 5, include_first),
            bytes_kept=last.methods[method].bytes,
            bytes_of_run=sum(last.bytes.record.values()),
            bytes_of_images=last.bytes.images_not_kept,
            cost=last.methods[method].cost,
        )
        for method in common
    ]  # fmt: skip


def _place(runs: Sequence[RunFolder]) -> str:
    """The path leads from the working folder to the runs, if they lie in it."""
    folder = Path(os.path.commonpath([run.path.parent for run in runs]))
    return str(folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder)


def _accuracies(seeds: list[list[Scored]], include_first: bool) -> dict[str, float]:
    """The figures are means over `seeds`, each a list of one method's figures by state."""
    figures: dict[str, float] = {}
    for k in ("top1", "top5"):
        by_state = [[getattr(state, k) for state in states] for states in seeds]
        averages = [average_incremental_accuracy(a, include_first) for a in by_state]
        last = [a[-1] for a in by_state]
        figures |= {k: float(np.mean(averages)), f"{k}_std": _std(averages)}
        figures |= {f"last_{k}": float(np.mean(last)), f"last_{k}_std": _std(last)}
    lost = [forgetting([state.by_state for state in states]) for states in seeds]
    return figures | {"forgetting": float(np.mean(lost))}


def _std(values: list[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
