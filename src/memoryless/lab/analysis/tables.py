"""Tables of accuracies: methods side by side, in pairs, and by the kind of answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pandas as pd

from memoryless.lab.analysis.comparison import (
    Comparison,
    Entry,
    Training,
    shown_first,
    training_names,
)
from memoryless.lab.analysis.frame import TYPOLOGY, in_percent, in_shares, results_frame
from memoryless.lab.runs import RunFolder
from memoryless.names import size
from memoryless.tables import Table

MEANINGS = {
    "top-1": "first answer right",
    "A_inc": "top-1 with state 0",
    "A_last": "top-1 after the last state",
    "top-5": "right class among five",
    "lost": "forgetting",
    "kept": "bytes of the past that the method needs",
}


def cell(mean: float, std: float = math.nan) -> str:
    """A figure, with its deviation over seeds if there is one."""
    if math.isnan(mean):
        return ""
    return f"{mean:.1f}" if math.isnan(std) else f"{mean:.1f}±{std:.1f}"


def kept(row: Any) -> str:
    """What a method needs of the past."""
    if not row.memoryless:
        return "images"
    return size(row.bytes) if row.bytes else "nothing"


COLUMNS: dict[str, Callable[[Any], str]] = {
    "top-1": lambda row: cell(row.top1, row.top1_std),
    "A_inc": lambda row: cell(row.A_inc),
    "A_last": lambda row: cell(row.A_last),
    "top-5": lambda row: cell(row.top5),
    "lost": lambda row: cell(row.forgetting),
    "kept": kept,
}
ONE_STATE = ("top-1", "top-5", "kept")  # where there is no average, and nothing to forget


def columns_for(comparison: Comparison) -> dict[str, Callable[[Any], str]]:
    """The columns of a table after the method's name."""
    if comparison.main.one_state:
        return {name: COLUMNS[name] for name in ONE_STATE}
    return COLUMNS


def bounds(comparison: Comparison, columns: Iterable[str]) -> Iterator[list[str]]:
    """Rows of what guessing reaches, and of all classes at once, which has a last state only."""
    row = comparison.row
    chance = {"top-1": cell(row.chance_top1), "top-5": cell(row.chance_top5)}
    yield ["chance", *(chance.get(name, "") for name in columns)]
    if comparison.full:
        full = comparison.full.row
        cells = {"A_last": cell(full.A_last, full.A_last_std), "kept": "images"}
        yield ["Full", *(cells.get(name, "") for name in columns)]


def method_table(comparison: Comparison, every: bool = False) -> Table:
    """The methods to look at first, or all of them, with chance and Full below."""
    entries = comparison.entries if every else comparison.shown
    more = len(comparison.entries) - len(entries)
    columns = columns_for(comparison)
    rows = [
        [e.label, *(show(e.row) for show in columns.values()), comparison.role(e)] for e in entries
    ]
    rows += [[*row, ""] for row in bounds(comparison, columns)]
    meanings = [f"{name}: {MEANINGS[name]}" for name in columns if name in MEANINGS]
    notes = ["; ".join(meanings), *_notes(comparison)]
    notes += [f"--all shows {more} more methods"] if more else []
    return Table(
        _title(comparison),
        f"{protocol(comparison.main)}. {'. '.join(notes)}.",
        ["method", *columns, ""],
        rows,
        figures(comparison, entries),
    )


def figures(comparison: Comparison, entries: Sequence[Entry]) -> pd.DataFrame:
    """The averages of entries for programs, in shares from 0 to 1."""
    frame = in_shares(pd.DataFrame([entry.row._asdict() for entry in entries]))
    frame.insert(0, "label", [entry.label for entry in entries])
    return frame.assign(role=[comparison.role(entry) for entry in entries])


def _title(comparison: Comparison) -> str:
    seeds = {t.row.seeds for t in comparison.trainings}
    number = max(seeds)
    counted = f"{number} seed{'s' if number > 1 else ''}"
    last = comparison.row.finished - 1
    average = f", average of states 1-{last}" if last > 1 else ""
    return f"{comparison.title}, {counted}; percent{average}"


def protocol(training: Training) -> str:
    """How a training was done: network, epochs, augmentation, order and seeds."""
    row = training.row
    later = f" (later {row.epochs_later})" if row.finished > 1 else ""
    return (
        f"{row.network}, epochs {row.epochs}{later}, augmentation {row.augmentation or 'none'}, "
        f"order {row.order}, seeds {row.seed}"
    )


def _notes(comparison: Comparison) -> Iterator[str]:
    if comparison.role(comparison.reference):
        yield "The reference method was fixed in advance"
    if comparison.control:
        yield "The control is a network that never learned"
    if images := {t.row.strategy: None for t in comparison.trainings if not t.row.memoryless}:
        yield f"{' and '.join(images)} kept images of the past"
    if comparison.full:
        yield "Full learned all classes at once, from all images"


def pareto_front(rows: Sequence[Any], k: str = "top1") -> list[Any]:
    """The memoryless rows that keep something and beat all that keep less, by their bytes.

    A row that keeps nothing is not among them, though they must beat it too.
    """
    front: list[Any] = []
    for row in sorted(rows, key=lambda row: (row.bytes, -getattr(row, k))):
        if row.memoryless and (not front or getattr(row, k) > getattr(front[-1], k)):
            front.append(row)
    return [row for row in front if row.bytes]


MOST_COMPARED = 10


def compare_table(comparison: Comparison, k: str = "top1", every: bool = False) -> Table:
    """Methods by accuracy, with those on the Pareto front marked; few of them, or all."""
    entries = sorted(comparison.entries, key=lambda entry: -getattr(entry.row, k))
    front = pareto_front([entry.row for entry in entries], k)
    first = entries if every else _first(comparison, entries, front)
    rows = [
        [e.label, cell(e.row.top1, e.row.top1_std), cell(e.row.top5, e.row.top5_std), kept(e.row),
         f"{e.row.multiplications:,}", "*" if e.row in front else ""]
        for e in first
    ]  # fmt: skip
    more = len(entries) - len(first)
    notes = [f"{protocol(comparison.main)}", f"Highest {k.replace('top', 'top-')} first"]
    if comparison.row.images == "test":
        notes.append("These are test images: to choose a method, run with --validation 0.2")
    notes.append("*: on the Pareto front of accuracy and bytes")
    notes += [f"--all shows {more} more methods"] if more else []
    return Table(
        _title(comparison),
        ". ".join(notes) + ".",
        ["method", "top-1", "top-5", "kept", "products", "front"],
        rows,
        figures(comparison, first).assign(front=[entry.row in front for entry in first]),
    )


def _first(comparison: Comparison, entries: Sequence[Entry], front: Sequence[Any]) -> list[Entry]:
    """The best entries, the front and the reference."""
    best = entries[: MOST_COMPARED - len(front)]
    return [e for e in entries if e in best or e.row in front or e is comparison.reference]


KINDS = ("c(p)", "e(p,p)", "e(p,n)", "c(n)", "e(n,n)", "e(n,p)")


def typology_tables(
    runs: Sequence[RunFolder], methods: Sequence[str] = (), every: bool = False
) -> list[Table]:
    """The supplement's error analysis: where the images of past and new classes go in each run."""
    results = results_frame(runs, methods)
    later = results[results["state"] > 0] if len(results) else results
    return [_typology(run, own, every) for run, own in later.groupby("run", sort=False)]


def _typology(run: str, own: pd.DataFrame, every: bool) -> Table:
    """One run after its last state; the figures have every state."""
    names = own["method"].unique()
    shown = own if every else own[own["method"].isin(shown_first(names))]
    last = in_percent(shown[shown["state"] == shown["state"].max()])
    rows = [
        [row.method, *(cell(getattr(row, kind)) for kind in TYPOLOGY)] for row in last.itertuples()
    ]
    caption = (
        "Percent of past images (p), then of new ones (n). c: right; e(p,n): an image of a past "
        "class that was taken for a new class, and so on."
    )
    columns = ["run", "data", "T", "seed", "method", "state", *TYPOLOGY]
    title = f"{run}: answers after state {last['state'].iloc[0]}"
    return Table(title, caption, ["method", *KINDS], rows, shown[columns])


def data_table(runs: Sequence[RunFolder]) -> Table:
    """The images of each data set, as in the supplement's first table."""
    images = pd.DataFrame(
        {"data": run.about.dataset, "train": train, "test": test}
        for run in {run.about.dataset: run for run in runs}.values()
        for train, test in zip(run.about.train_images, run.about.test_images, strict=True)
    )
    found = images.groupby("data", sort=False).agg(
        classes=("train", "size"),
        train=("train", "sum"),
        test=("test", "sum"),
        mean=("train", "mean"),
        std=("train", lambda counts: counts.std(ddof=0)),
    )
    rows = [
        [str(data), f"{r.classes}", f"{r.train:,}", f"{r.test:,}", f"{r.mean:.2f}", f"{r.std:.2f}"]
        for data, r in zip(found.index, found.itertuples(), strict=True)
    ]
    columns = ["data", "classes", "train", "test", "mean", "std"]
    caption = "Images; mean and standard deviation of the training images of a class."
    return Table("data sets", caption, columns, rows, found.reset_index())


def run_names(runs: Sequence[RunFolder], found: Sequence[Comparison]) -> dict[str, str]:
    """A distinct name for each run, by its path: data, states, training and seed."""
    names = {
        str(run.path): f"{comparison.title}: {name}, seed {run.about.seed}"
        for comparison in found
        for name, training in training_names(comparison.trainings).items()
        for run in training.runs
    }
    return {str(run.path): names.get(str(run.path), str(run.path)) for run in runs}
