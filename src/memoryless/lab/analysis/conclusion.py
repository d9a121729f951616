"""The first sentences about runs: what the reference method reaches, forgets and keeps."""

from __future__ import annotations

import math
from collections.abc import Iterator

from memoryless.lab.analysis.comparison import Comparison, Entry
from memoryless.lab.analysis.tables import cell, kept
from memoryless.names import size
from memoryless.strategies import STRATEGIES


def average_line(comparison: Comparison) -> str:
    """What ends a run: averages of the reference, the control, siw and the strategy itself."""
    few = [e for e in comparison.shown if comparison.role(e) or e.row.head in ("current", "siw")]
    reached = ", ".join(_named(comparison, entry) for entry in few)
    last = comparison.row.finished - 1
    return f"Average of states 1-{last}: {reached}" if last > 1 else f"Accuracy: {reached}"


def _named(comparison: Comparison, entry: Entry) -> str:
    role = comparison.role(entry)
    return f"{entry.label} {cell(entry.row.top1)}{f' ({role})' if role else ''}"


def sentences(comparison: Comparison) -> Iterator[str]:
    """What a reader can act on; code stands between backticks."""
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
    which = "The reference method, fixed in advance," if entry.row.memoryless else "The method"
    average = "" if comparison.main.one_state else " (top-1, average of states 1 and later)"
    return (
        f"{comparison.title}: {which} is {entry.label}. It gets {_percent(entry)} of the "
        f"{entry.row.images} images right{average}; chance is {entry.row.chance_top1:.1f} %."
    )


def _percent(entry: Entry) -> str:
    return f"{cell(entry.row.top1, entry.row.top1_std)} %"


def _forgets(comparison: Comparison) -> str:
    entry, own = comparison.reference, comparison.before_and_after[0]
    text = f"It forgets {entry.row.forgetting:.1f} points of the accuracy that it had on a state"
    if own is entry or not own.is_strategy:
        return f"{text}."
    return f"{text}; the trained layer alone ({own.label}) forgets {own.row.forgetting:.1f}."


def _keeps(entry: Entry) -> str:
    images = size(entry.row.bytes_of_images)
    if not entry.row.memoryless:
        return f"It keeps images of the past, up to {images}."
    return f"It keeps {kept(entry.row)} of the past and no image; the images would take {images}."


def _against_control(entry: Entry, control: Entry) -> str:
    """What training adds to an untrained network, as far as seeds allow to say it."""
    gain = entry.row.top1 - control.row.top1
    deviations = [row.top1_std for row in (entry.row, control.row) if not math.isnan(row.top1_std)]
    outcome = f"training adds {gain:.1f} points" if gain > 0 else f"that is {-gain:.1f} points more"
    if abs(gain) <= max(deviations, default=0.05):
        outcome = "the difference is within the deviation over seeds" if deviations else "no more"
    seeds = "" if deviations else " (one seed)"
    return (
        f"The control, an untrained network with {control.label}, gets {_percent(control)}: "
        f"{outcome}{seeds}. It keeps {kept(control.row)}."
    )


def _lacks_control(comparison: Comparison) -> bool:
    strategy = STRATEGIES[comparison.main.row.strategy]
    return strategy.memoryless and not comparison.main.one_state and not comparison.main.is_control
