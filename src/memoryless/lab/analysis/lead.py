"""The first sentences about runs: which method to use, what it forgets, what it keeps."""

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
from memoryless.lab.analysis.summary import Summary, images_of
from memoryless.lab.analysis.table import cell, count_states, kept
from memoryless.names import size
from memoryless.strategies import STRATEGIES

RUNNING = ("run", "paper", "demo")  # commands that also run the control


def sentences(comparison: Comparison) -> Iterator[str]:
    """What a reader can act on; code stands between backticks."""
    entry, control = comparison.recommended, _control(comparison)
    is_ahead = control is not None and _gain(entry, control) < 0
    yield _behind(comparison, control) if control and is_ahead else _reaches(comparison)
    forgotten = [] if entry.training.one_state else [_forgets(comparison)]
    first, *others = [*forgotten, _keeps(entry.row)]
    yield f"{entry.label if is_ahead else 'It'} {first}."
    yield from (f"It {other}." for other in others)
    if control:
        yield _of_the_control(entry, control)
    elif _lacks_control(comparison.main):
        yield (
            "No untrained control is among these runs, so nothing shows whether training "
            f"pays: {_adding(comparison.main)} adds one."
        )


def _control(comparison: Comparison) -> Entry | None:
    control = comparison.control
    return comparison.entry(control, control.headline[-1]) if control else None


def _lacks_control(training: Training) -> bool:
    learns = STRATEGIES[training.strategy].backbone_learns
    memoryless = STRATEGIES[training.strategy].memoryless
    return learns and memoryless and not training.one_state


def _gain(entry: Entry, control: Entry) -> float:
    """Points that an entry is ahead of the control; 0 if seeds differ as much, or by rounding."""
    gain = entry.top1 - control.top1
    spread = max(entry.top1_std, control.top1_std)
    return 0.0 if f"{abs(gain):.1f}" == "0.0" or abs(gain) <= spread else gain


def _reaches(comparison: Comparison) -> str:
    entry = comparison.recommended
    if not entry.row.memoryless:
        text = f"No run of {entry.row.data} is memoryless: in {_states(comparison)}, {entry.label}"
        return f"{text} gets {_right(entry)}."
    chance = entry.row.chance_top1
    guessing = "" if math.isnan(chance) else f", where guessing gets {chance:.1f} %"
    where = f"on {entry.row.data} in {_states(comparison)}"
    return f"Use {entry.label}: {where} it gets {_right(entry)}{guessing}."


def _behind(comparison: Comparison, control: Entry) -> str:
    """The first sentence where the control is ahead: what is recommended is not what to use."""
    entry = comparison.recommended
    where = f"on {entry.row.data} in {_states(comparison)},"
    verdict = f"An untrained network is ahead here: {where} {control.label}"
    if _alike(entry, control):
        verdict = f"Training does not pay here: {where} an untrained network with {control.label}"
    return (
        f"{verdict} gets {_right(control)}, {entry.label} gets {_percent(entry)}"
        f"{_one_seed(entry, control)}."
    )


def _states(comparison: Comparison) -> str:
    return f"{count_states(comparison.recommended.row)}{comparison.number}"


def _right(entry: Entry) -> str:
    average = "" if math.isnan(entry.row.top1) else ", average over states 1 and later"
    return f"{_percent(entry)} of the {images_of(entry.row)} images right (top-1{average})"


def _percent(entry: Entry) -> str:
    return f"{cell(entry.top1, entry.top1_std, entry.row.seeds)} %"


def _one_seed(entry: Entry, control: Entry) -> str:
    return " (one seed)" if min(entry.row.seeds, control.row.seeds) == 1 else ""


def _forgets(comparison: Comparison) -> str:
    entry = comparison.recommended
    text = f"forgets {_points(entry.row.forgetting)} of the accuracy that it once had on a state"
    own = comparison.before_and_after[0]
    if own is entry or not own.is_strategy:
        return text
    alone = f"the trained layer alone ({own.label})"
    return f"{text}; {alone} forgets {_points(own.row.forgetting)}"


def _points(value: float) -> str:
    return f"{value:.1f} points"


def _keeps(row: Summary) -> str:
    images = size(row.bytes_of_images)
    if not row.memoryless:
        return f"keeps images of the past, up to {images}"
    if row.bytes_kept > row.bytes_of_images:
        return (
            f"keeps {kept(row)} of the past and no image: more than the {images} that the "
            "images themselves would take"
        )
    return f"keeps {kept(row)} of the past and no image; the images would take {images}"


def _of_the_control(entry: Entry, control: Entry) -> str:
    """What the control keeps where it is ahead, else what training adds to what it reaches."""
    if _gain(entry, control) < 0:
        return f"The untrained network {_keeping(control)}{_unlike(entry, control)}."
    text = f"An untrained network of the same shape gets {_percent(control)} ({control.label})"
    if _alike(entry, control):
        return f"{text}: {_added(entry, control)}{_one_seed(entry, control)}."
    return f"{text}; it {_keeping(control)}{_unlike(entry, control)}{_one_seed(entry, control)}."


def _added(entry: Entry, control: Entry) -> str:
    gain = _gain(entry, control)
    if gain:
        return f"training adds {_points(gain)}"
    if f"{abs(entry.top1 - control.top1):.1f}" == "0.0":
        return "training adds nothing on these data"
    return "training makes no difference beyond that of seeds"


def _alike(entry: Entry, control: Entry) -> bool:
    """Whether both read statistics of one kind, so that their difference is that of training."""
    return _read(entry) == _read(control)


def _unlike(entry: Entry, control: Entry) -> str:
    """What would show whether training pays, where it cannot be told."""
    if _alike(entry, control):
        return ""
    read = _read(control)
    roots = " --square-roots" if read["square_roots"] else ""
    flags = f"--statistics {read['statistics']} --level {read['level']}{roots}"
    return f", so a run with `{flags}` would show whether training pays"


def _read(entry: Entry) -> dict[str, Any]:
    """The kind of class statistics that a method reads."""
    if not reads_statistics(entry.row.method):
        return {}
    return {
        key: getattr(entry.training.config, key) for key in ("statistics", "level", "square_roots")
    }


def _keeping(control: Entry) -> str:
    form = _read(control).get("statistics")
    of = f": {form} statistics of {control.row.statistics_of}" if form else ""
    return f"keeps {kept(control.row)} of the past{of}"


def _adding(training: Training) -> str:
    """The command that runs the control beside a training."""
    command = training.runs[0].about.command
    if command[:1] == ["memoryless"] and command[1:2] and command[1] in RUNNING:
        words = [word for word in command if word != "--no-control"]
        return f"`{shlex.join(words)}`, typed again,"
    return "in Python, `run(control_of(config, dataset), dataset)`"
