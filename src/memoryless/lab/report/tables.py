"""Tables of a report: methods beside each other, by number of states, and classes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from memoryless.lab.analysis.comparison import Comparison, Entry, main_comparisons
from memoryless.lab.analysis.measures import class_accuracies
from memoryless.lab.analysis.tables import COLUMNS, bounds, columns_for, protocol
from memoryless.pages import Row, Table

AT_ONCE = ("all classes at once", "not memoryless")


MORE: dict[str, Callable[[Any], str]] = {
    "multiplications": lambda row: f"{row.multiplications:,}",
    "seeds": lambda row: str(row.seeds),
}


@dataclass(frozen=True)
class Folded:
    """A table of the few rows that are read first, and one of all, if there are more."""

    first: Table
    whole: Table | None


def marks(entry: Entry, comparison: Comparison) -> list[str]:
    """What is said of a row beside its name."""
    found = {
        comparison.role(entry): True,
        "strategy": entry.is_strategy and entry.training is not comparison.control,
        "not memoryless": not entry.row.memoryless,
    }
    return [mark for mark, holds in found.items() if mark and holds]


def method_tables(comparison: Comparison) -> Folded:
    """Methods of one data set and number of states, highest top-1 first, with chance and Full."""
    first, entries = comparison.shown, comparison.entries
    whole = None if len(first) == len(entries) else _methods(comparison, entries)
    return Folded(_methods(comparison, first), whole)


def _methods(comparison: Comparison, entries: Sequence[Entry]) -> Table:
    columns = columns_for(comparison) | MORE
    rows = [
        _row(entry.label, [show(entry.row) for show in columns.values()], marks(entry, comparison))
        for entry in entries
    ]
    rows += _bounds(comparison, columns)
    caption = f"percent of the {comparison.row.images} images; {protocol(comparison.main)}"
    return Table(comparison.title, ["method", *columns], rows, caption)


def _row(label: str, cells: Sequence[str], said: Sequence[str]) -> Row:
    kind = next((k for k in ("reference", "control", "strategy") if k in said), "")
    return Row(label, cells, said, kind)


def _bounds(comparison: Comparison, columns: Iterable[str]) -> list[Row]:
    """Rows of what guessing reaches, and of all classes learned at once, which is of the end."""
    rows = [Row(name, cells, kind="bound") for name, *cells in bounds(comparison, columns)]
    return [replace(row, marks=AT_ONCE) if row.name == "Full" else row for row in rows]


def states_tables(found: Sequence[Comparison]) -> list[Folded]:
    """Each data set that was cut into several numbers of states gets a table of methods by it."""
    leading = main_comparisons(found)
    by_data: dict[tuple[str, ...], list[Comparison]] = {}
    for comparison in found:
        if not comparison.main.one_state and comparison.row.finished == comparison.row.T:
            by_data.setdefault(comparison.row.data_id, []).append(comparison)
    return [
        _by_states(here, next((c for c in here if c in leading), None))
        for here in by_data.values()
        if len(here) > 1
    ]


def _by_states(found: Sequence[Comparison], leading: Comparison | None) -> Folded:
    """Only the leading comparison's reference is marked: the page begins with it."""
    reference = leading.reference.label if leading and leading.main.row.memoryless else ""
    found = sorted(found, key=lambda c: c.row.T)
    first = dict.fromkeys(e.label for c in found for e in c.shown)
    every = dict.fromkeys(e.label for c in found for e in c.entries)
    whole = None if len(first) == len(every) else _states_table(found, every, reference)
    return Folded(_states_table(found, first, reference), whole)


def _states_table(found: Sequence[Comparison], labels: Iterable[str], reference: str) -> Table:
    rows = []
    for label in labels:
        here = [(c, [e for e in c.entries if e.label == label][:1]) for c in found]
        cells = [COLUMNS["top-1"](entries[0].row) if entries else "" for _, entries in here]
        comparison, (entry,) = next(pair for pair in here if pair[1])
        mean = float(np.mean([entries[0].row.top1 for _, entries in here if entries]))
        said = [mark for mark in marks(entry, comparison) if mark != "reference"]
        said = ["reference", *said] if label == reference else said
        rows.append((mean, _row(label, cells, said)))
    chance = [c.row.chance_top1 for c in found]
    rows.append((float(np.mean(chance)), Row("chance", [f"{x:.1f}" for x in chance], kind="bound")))
    ordered = [row for _, row in sorted(rows, key=lambda pair: -pair[0])]
    columns = ["method", *(f"T={c.states}{c.number}" for c in found)]
    title = f"{found[0].row.data}: methods by number of states T"
    return Table(title, columns, ordered, "top-1 in percent, average over states 1 and later")


def class_table(comparison: Comparison) -> Table:
    """Each class's top-1 accuracy at the end by the reference method, mean over seeds."""
    entry = comparison.reference
    training, method = entry.training, entry.row.method
    accuracy = np.mean([class_accuracies(run, method) for run in training.runs], 0)
    about = training.runs[0].about
    states = np.repeat(np.arange(len(about.sizes)), about.sizes)
    rows = [
        Row(about.classes[c], [str(states[c]), f"{accuracy[c]:.1f}"])
        for c in np.argsort(accuracy, kind="stable")
    ]
    caption = "top-1 in percent after the last state, worst first; a heading sorts by its column"
    title = f"{comparison.title}: classes by {entry.label}"
    return Table(title, ["class", "state", "top-1"], rows, caption, sortable=True)
