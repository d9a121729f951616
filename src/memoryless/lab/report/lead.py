"""The sentences on top of a report: which method to use, what it forgets, what it keeps."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from typing import Any

from memoryless.lab.analysis.side_by_side import (
    Comparison,
    Entry,
    Training,
    reads_statistics,
)
from memoryless.lab.analysis.summary import Summary
from memoryless.lab.analysis.table import cell, count_states
from memoryless.names import size
from memoryless.strategies import STRATEGIES

RUNNING = ("run", "paper", "demo")  # commands that also run the control


def sentences(comparison: Comparison) -> Iterator[str]:
    """What a reader can act on; code stands between backticks."""
    entry = comparison.recommended
    yield _reaches(entry, comparison.number)
    if not entry.training.one_state:
        yield _forgets(comparison)
    yield _keeps(entry.row)
    yield from _control(comparison)


def _reaches(entry: Entry, number: str) -> str:
    row, states = entry.row, f"{count_states(entry.row)}{number}"
    where = f"Use {entry.label}: on {row.data} in {states} it gets"
    if not row.memoryless:
        where = f"No run of {row.data} is memoryless: in {states}, {entry.label} gets"
    if math.isnan(row.top1):
        top1 = cell(row.last_top1, row.last_top1_std, row.seeds)
        top5 = cell(row.last_top5, row.last_top5_std, row.seeds)
        return f"{where} {top1} % of the test images right (top-1; top-5 {top5} %)."
    top1 = cell(row.top1, row.top1_std, row.seeds)
    top5 = cell(row.top5, row.top5_std, row.seeds)
    return (
        f"{where} {top1} % of the test images right on average over later states (top-1; top-5 "
        f"{top5} %), where guessing gets {row.chance_top1:.1f} % (top-5 {row.chance_top5:.1f} %)."
    )


def _forgets(comparison: Comparison) -> str:
    entry = comparison.recommended
    text = f"It forgets {_points(entry.row.forgetting)} of what it once got right of a state"
    own = comparison.entry(entry.training, entry.training.headline[0])
    if own is entry or not own.is_strategy:
        return f"{text}."
    reached = cell(own.row.top1, own.row.top1_std, own.row.seeds)
    return (
        f"{text}; the strategy itself, without it ({own.label}), forgets "
        f"{_points(own.row.forgetting)} and gets {reached} % (top-1)."
    )


def _points(value: float) -> str:
    return f"{value:.1f} points"


def _keeps(row: Summary) -> str:
    if not row.memoryless:
        return f"It keeps images of the past, up to {size(row.bytes_of_images)}."
    return (
        f"It needs {_needed(row)} of the past and no image: the images would have taken "
        f"{size(row.bytes_of_images)} (the run kept {size(row.bytes_of_run)} for all methods "
        "together)."
    )


def _needed(row: Summary) -> str:
    return size(row.bytes_kept) if row.bytes_kept else "nothing"


def _control(comparison: Comparison) -> Iterator[str]:
    main, control = comparison.main, comparison.control
    strategy = STRATEGIES[main.strategy]
    if control is not None:
        yield _against(comparison.recommended, comparison.entry(control, control.headline[-1]))
    elif strategy.backbone_learns and strategy.memoryless and not main.one_state:
        yield (
            "No untrained control is among these runs, so this page cannot say whether training "
            f"pays: {_adding(main)} adds one."
        )


def _against(entry: Entry, control: Entry) -> str:
    """What the control reaches, and what training adds where both read statistics of one kind."""
    reached = cell(control.top1, control.top1_std, control.row.seeds)
    text = f"An untrained network of the same shape reaches {reached} % (top-1, {control.label})"
    alike = _read(entry) == _read(control)
    seeds = min(control.row.seeds, entry.row.seeds) if alike else control.row.seeds
    told = _gain(entry, control) if alike else _keeping(control)
    return f"{text}{told}{' (one seed)' if seeds == 1 else ''}."


def _read(entry: Entry) -> dict[str, Any]:
    """The kind of class statistics that a method reads."""
    if not reads_statistics(entry.row.method):
        return {}
    return {key: entry.training.config[key] for key in ("statistics", "level", "square_roots")}


def _keeping(control: Entry) -> str:
    form = _read(control).get("statistics")
    of = f": {form} statistics of {control.row.statistics_of}" if form else ""
    return f"; it needs {_needed(control.row)} of the past{of}"


def _gain(entry: Entry, control: Entry) -> str:
    gain = entry.top1 - control.top1
    if f"{abs(gain):.1f}" == "0.0":
        return ", as many: training this network adds nothing on these data"
    if abs(gain) <= max(entry.top1_std, control.top1_std):
        return ": training makes no difference beyond that of seeds"
    if gain > 0:
        return f": training adds {_points(gain)}"
    return f", {_points(-gain)} more: training this network does not pay on these data"


def _adding(training: Training) -> str:
    """The command that runs the control beside a training."""
    command = training.runs[0].about["command"]
    if command[0] == "memoryless" and command[1:2] and command[1] in RUNNING:
        words = [word for word in command if word != "--no-control"]
        return f"`{shlex.join(words)}`, typed again,"
    return "in Python, `run(control_of(config, dataset), dataset)`"
