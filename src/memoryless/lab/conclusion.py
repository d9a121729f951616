"""The first sentences about runs: what the reference method reaches, forgets and keeps."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from memoryless.lab.comparison import Comparison, cell, kept
from memoryless.names import size
from memoryless.strategies import STRATEGIES


def average_line(comparison: Comparison) -> str:
    """Return the averages of the reference, the control, siw and the strategy itself."""
    named = (comparison.reference, comparison.control_entry)
    few = [e for e in comparison.shown if e in named or e.head in ("current", "siw")]
    reached = ", ".join(_named(comparison, entry) for entry in few)
    last = comparison.row.finished - 1
    return f"Average of states 1-{last}: {reached}" if last > 1 else f"Accuracy: {reached}"


def _named(comparison: Comparison, entry: Any) -> str:
    role = comparison.role(entry)
    return f"{entry.label} {cell(entry.top1)}{f' ({role})' if role else ''}"


def sentences(comparison: Comparison) -> Iterator[str]:
    """Yield what a reader can act on; code stands between backticks."""
    yield _reaches(comparison)
    if not comparison.main.one_state:
        yield _forgets(comparison)
    yield _keeps(comparison.reference)
    if comparison.control_entry:
        yield _against_control(comparison.reference, comparison.control_entry)
    elif _lacks_control(comparison):
        yield "There is no untrained control to compare with: `memoryless run` adds one by default."


def _reaches(comparison: Comparison) -> str:
    entry = comparison.reference
    which = "The reference method, fixed in advance," if entry.memoryless else "The method"
    average = "" if comparison.main.one_state else " (top-1, average of states 1 and later)"
    return (
        f"{comparison.title}: {which} is {entry.label}. It gets {_percent(entry)} of the "
        f"{entry.images} images right{average}; chance is {entry.chance_top1:.1f} %."
    )


def _percent(entry: Any) -> str:
    return f"{cell(entry.top1, entry.top1_std)} %"


def _forgets(comparison: Comparison) -> str:
    entry, own = comparison.reference, comparison.before_and_after[0]
    text = f"It forgets {entry.forgetting:.1f} points of the accuracy that it had on a state"
    if own is entry or own.method != own.strategy:
        return f"{text}."
    return f"{text}; the trained layer alone ({own.label}) forgets {own.forgetting:.1f}."


def _keeps(entry: Any) -> str:
    images = size(entry.bytes_of_images)
    if not entry.memoryless:
        return f"It keeps images of the past, up to {images}."
    return f"It keeps {kept(entry)} of the past and no image; the images would take {images}."


def _against_control(entry: Any, control: Any) -> str:
    """Return what training adds to an untrained network, as far as seeds allow to say it."""
    gain = entry.top1 - control.top1
    deviations = [row.top1_std for row in (entry, control) if not math.isnan(row.top1_std)]
    outcome = f"training adds {gain:.1f} points" if gain > 0 else f"that is {-gain:.1f} points more"
    if abs(gain) <= max(deviations, default=0.05):
        outcome = "the difference is within the deviation over seeds" if deviations else "no more"
    seeds = "" if deviations else " (one seed)"
    return (
        f"The control, an untrained network with {control.label}, gets {_percent(control)}: "
        f"{outcome}{seeds}. It keeps {kept(control)}."
    )


def _lacks_control(comparison: Comparison) -> bool:
    strategy = STRATEGIES[comparison.main.row.strategy]
    return strategy.memoryless and not comparison.main.one_state and not comparison.main.is_control
