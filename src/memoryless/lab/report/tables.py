"""Tables of a report: methods beside each other, by number of states, and classes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from memoryless.lab.analysis.measures import class_accuracies
from memoryless.lab.analysis.side_by_side import Comparison, Entry, main_comparisons
from memoryless.lab.analysis.summary import Summary, images_of
from memoryless.lab.analysis.table import COLUMNS, Column, bounds, columns_for, count_states
from memoryless.pages import Row, Table

AT_ONCE = ("all classes at once", "not memoryless")


MORE = {
    "multiplications": lambda row: "" if row.cost is None else f"{row.cost:,}",
    "seeds": lambda row: str(row.seeds),
}


def page_columns(row: Summary) -> dict[str, Column]:
    """The columns of a page's table after the method's name."""
    return {name: show for name, show in columns_for(row).items() if name != "method"} | MORE


@dataclass(frozen=True)
class Folded:
    """A table of the few rows that are read first, and one of all, if there are more."""

    first: Table
    whole: Table | None


def marks(entry: Entry, comparison: Comparison) -> list[str]:
    """What is said of a row beside its name."""
    found = {
        "recommended": entry is comparison.recommended and entry.row.memoryless,
        "control": entry.training is comparison.control,
        "strategy": entry.is_strategy and entry.training is not comparison.control,
        "not memoryless": not entry.row.memoryless,
    }
    return [mark for mark, holds in found.items() if holds]


def method_tables(comparison: Comparison) -> Folded:
    """Methods of one data set and number of states, highest top-1 first, with chance and Full."""
    first, entries = comparison.shown, comparison.entries
    whole = None if len(first) == len(entries) else _methods(comparison, entries)
    return Folded(_methods(comparison, first), whole)


def _methods(comparison: Comparison, entries: Sequence[Entry]) -> Table:
    row = entries[0].row
    columns = page_columns(row)
    rows = [
        _row(entry.label, [show(entry.row) for show in columns.values()], marks(entry, comparison))
        for entry in entries
    ]
    bounds = [] if math.isnan(row.top1) else _bounds(comparison, columns)
    title = f"{row.data}, {count_states(row)}{comparison.number}"
    return Table(title, ["method", *columns], [*rows, *bounds], _caption(entries))


def _row(label: str, cells: Sequence[str], said: Sequence[str]) -> Row:
    kind = next((k for k in ("recommended", "control", "strategy") if k in said), "")
    return Row(label, cells, said, kind)


def _bounds(comparison: Comparison, columns: Iterable[str]) -> list[Row]:
    """Rows of what guessing reaches, and of all classes learned at once, which is of the end."""
    rows = [Row(name, cells, kind="bound") for name, *cells in bounds(comparison, columns)]
    return [replace(row, marks=AT_ONCE) if row.name == "Full" else row for row in rows]


def _caption(entries: Sequence[Entry]) -> str:
    if math.isnan(entries[0].row.top1):
        return f"percent of the {images_of(entries[0].row)} images, in the only state"
    several = any(entry.row.seeds > 1 for entry in entries)
    spread = "; ± standard deviation over seeds" if several else ""
    images = images_of(entries[0].row)
    return f"percent of the {images} images, average over states 1 and later{spread}"


def states_tables(found: Sequence[Comparison]) -> list[Folded]:
    """Each data set that was cut into several numbers of states gets a table of methods by it."""
    leading = main_comparisons(found)
    by_data: dict[tuple[str, ...], list[Comparison]] = {}
    for comparison in found:
        if not comparison.main.one_state and "/" not in comparison.states:
            by_data.setdefault(comparison.main.dataset, []).append(comparison)
    return [
        _by_states(here, next((c for c in here if c in leading), None))
        for here in by_data.values()
        if len(here) > 1
    ]


def _by_states(found: Sequence[Comparison], leading: Comparison | None) -> Folded:
    """Only what the leading comparison recommends is marked: the page begins with it."""
    recommended = leading.recommended.label if leading and leading.main.rows[0].memoryless else ""
    found = sorted(found, key=lambda c: (len(c.states), c.states))
    first = dict.fromkeys(e.label for c in found for e in c.shown)
    every = dict.fromkeys(e.label for c in found for e in c.entries)
    whole = None if len(first) == len(every) else _states_table(found, every, recommended)
    return Folded(_states_table(found, first, recommended), whole)


def _states_table(found: Sequence[Comparison], labels: Iterable[str], recommended: str) -> Table:
    rows = []
    for label in labels:
        here = [(c, [e for e in c.entries if e.label == label][:1]) for c in found]
        cells = [COLUMNS["top-1"](entries[0].row) if entries else "" for _, entries in here]
        comparison, (entry,) = next(pair for pair in here if pair[1])
        mean = float(np.mean([entries[0].top1 for _, entries in here if entries]))
        said = [mark for mark in marks(entry, comparison) if mark != "recommended"]
        said = ["recommended", *said] if label == recommended else said
        rows.append((mean, _row(label, cells, said)))
    chance = [c.trainings[0].rows[0].chance_top1 for c in found]
    rows.append((float(np.mean(chance)), Row("chance", [f"{x:.1f}" for x in chance], kind="bound")))
    ordered = [row for _, row in sorted(rows, key=lambda pair: -pair[0])]
    columns = ["method", *(f"T={c.states}{c.number}" for c in found)]
    title = f"{found[0].data}: methods by number of states T"
    return Table(title, columns, ordered, "top-1 in percent, average over states 1 and later")


def class_table(comparison: Comparison) -> Table:
    """Each class's top-1 accuracy at the end by the recommended method, mean over seeds."""
    entry = comparison.recommended
    training, method = entry.training, entry.row.method
    accuracy = np.mean([class_accuracies(run, method) for run in training.runs], 0)
    about = training.runs[0].about
    states = np.repeat(np.arange(len(about.sizes)), about.sizes)
    rows = [
        Row(about.classes[c], [str(states[c]), f"{accuracy[c]:.1f}"])
        for c in np.argsort(accuracy, kind="stable")
    ]
    stream = f"{entry.row.data}, {count_states(entry.row)}{comparison.number}"
    caption = "top-1 in percent after the last state, worst first; a heading sorts by its column"
    title = f"{stream}: classes by {entry.label}"
    return Table(title, ["class", "state", "top-1"], rows, caption, sortable=True)
