"""memoryless table: the accuracies of methods in finished runs; it needs no torch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from memoryless.errors import ConfigError
from memoryless.lab.comparison import (
    Comparison,
    averages_title,
    cell,
    comparisons,
    figures_of,
    kept,
    protocol,
)
from memoryless.lab.evaluate import score
from memoryless.lab.frame import TYPOLOGY, in_shares, named_methods, results_frame
from memoryless.lab.runs import RunFolder, find_runs, read_test, states_of
from memoryless.output import check_formats, present
from memoryless.progress import Display
from memoryless.stats.methods import headline, parse_method
from memoryless.tables import Table

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["accuracy", "paired", "typology", "data"]
QUANTILE = 1.96  # of the normal distribution, for an interval of 95 %


def table(
    *runs: Path,
    show: Kind = "accuracy",
    all: bool = False,
    methods: tuple[str, ...] = (),
    by: Literal["top-1", "top-5"] = "top-1",
    write: tuple[Path, ...] = (),
) -> None:
    """Show the accuracies of finished runs, with the control, chance and Full.

    Runs that differ only by seed are averaged: mean ± standard deviation. Files hold accuracies as
    shares from 0 to 1. In Python, memoryless.lab.results(RUN) has every state.

    Parameters
    ----------
    runs
        Run folders, or folders that hold some.
    show
        accuracy; paired: differences to the first method, with 95 % intervals; typology: how past
        and new classes are confused; or data: the sizes of the data sets.
    all
        Show every method that the runs scored, not only the reference methods.
    methods
        Methods to score again without training, for example finetune+siw+mc (or the paper's name,
        inFT_siw_mc) and lwf_kd+lda+linear. By default, those that each run scored.
    by
        For --show paired: the accuracy to compare.
    write
        Files to write the table to as well: .csv, .json, .md or .tex, and .parquet with pyarrow.
    """
    found = [run for run in find_runs(runs) if run.finished]
    check_formats(write)
    names = named_methods(found, methods)
    with Display() as display:
        if names or show == "paired":
            display.reading(found, "scoring", True)
        tables = _tables(found, show, names, all or bool(names), int(by[-1]))
    if not tables:
        raise ConfigError("these runs have not finished enough states: start memoryless run again")
    present(tables, write)


def _tables(
    runs: Sequence[RunFolder], show: Kind, names: Sequence[str], every: bool, k: int
) -> list[Table]:
    """Return the tables of a kind."""
    if show == "data":
        return [data_table(runs)] if runs else []
    if show == "typology":
        return typology_tables(runs, names, every)
    found = comparisons(runs, names)
    if show == "paired":
        return paired_tables(found, k, every)
    return [method_table(comparison, every) for comparison in found]


MEANINGS = {
    "top-1": "first answer correct",
    "A_inc": "top-1 with state 0",
    "A_last": "top-1 after the last state",
    "top-5": "correct class among five answers",
    "lost": "forgetting, in points",
    "kept": "bytes that the method needs of the past",
    "products": "multiplications for one image",
}
COLUMNS: dict[str, Callable[[Any], str]] = {
    "top-1": lambda row: cell(row.top1, row.top1_std),
    "A_inc": lambda row: cell(row.A_inc),
    "A_last": lambda row: cell(row.A_last),
    "top-5": lambda row: cell(row.top5),
    "lost": lambda row: cell(row.forgetting),
    "kept": kept,
    "products": lambda row: f"{row.multiplications:,}",
}
SHOWN = ("top-1", "kept", "A_inc", "A_last", "top-5", "lost")  # a phone shows the first
ONE_STATE = ("top-1", "kept", "top-5")  # where there is no average, and nothing to forget


def method_table(comparison: Comparison, every: bool = False) -> Table:
    """Return the main methods, or all of them, with chance and Full below."""
    columns = ONE_STATE if comparison.one_state else SHOWN
    entries = comparison.entries if every else comparison.shown
    remarks = {entry.label: comparison.role(entry) for entry in entries}
    return table_of(comparison, entries, columns, remarks, _notes(comparison), _bounds(comparison))


def table_of(
    comparison: Comparison,
    entries: Sequence[Any],
    columns: Sequence[str],
    remarks: Mapping[str, str],
    notes: Iterable[str],
    bounds: Mapping[str, Mapping[str, str]],
    **figures: Sequence[Any],
) -> Table:
    """Return a table of averages: some entries with their remarks, and bounds below.

    `figures` are more columns for programs.
    """
    roles = {entry.label: comparison.role(entry) for entry in entries}
    rows = [[e.label, *(COLUMNS[name](e) for name in columns), remarks[e.label]] for e in entries]
    rows += [
        [name, *(cells.get(column, "") for column in (*columns, ""))]
        for name, cells in bounds.items()
    ]
    meanings = "; ".join(f"{name}: {MEANINGS[name]}" for name in columns)
    caption = [protocol(comparison.reference), meanings, *notes]
    if more := len(comparison.entries) - len(entries):
        caption.append(f"--all shows {more} more methods")
    return Table(
        averages_title(comparison),
        ". ".join(caption) + ".",
        ["method", *columns, ""],
        rows,
        figures_of(entries).assign(role=list(roles.values()), **figures),
        kinds={label: role for label, role in roles.items() if role in ("reference", "control")}
        | dict.fromkeys(bounds, "bound"),
    )


def _bounds(comparison: Comparison) -> dict[str, dict[str, str]]:
    """Return the accuracies of guessing, and of learning all classes at once (Full)."""
    row = comparison.row
    found = {"chance": {"top-1": cell(row.chance_top1), "top-5": cell(row.chance_top5)}}
    for full in comparison.full:
        last = cell(full.A_last, full.A_last_std)
        name = full.label.replace("joint", "Full", 1)
        found[name] = {"A_last": last, "kept": "images", "": "not memoryless"}
    return found


def _notes(comparison: Comparison) -> Iterator[str]:
    if comparison.role(comparison.reference) == "reference":
        yield "The reference method was fixed in advance"
    if comparison.control:
        yield "The control is a network that never learned"
    if images := {entry.strategy: None for entry in comparison.entries if not entry.memoryless}:
        yield f"{' and '.join(images)} kept images of past classes"
    if comparison.full:
        yield "Full learned all classes at once, from all images"


KINDS = ("c(p)", "e(p,p)", "e(p,n)", "c(n)", "e(n,n)", "e(n,p)")


def typology_tables(
    runs: Sequence[RunFolder], methods: Sequence[str] = (), every: bool = False
) -> list[Table]:
    """Return how each run confuses past and new classes, as in the supplement."""
    results = results_frame(runs, methods)
    later = results[results["state"] > 0] if len(results) else results
    return [_typology(run, own, every) for run, own in later.groupby("run", sort=False)]


def _typology(run: str, own: pd.DataFrame, every: bool) -> Table:
    """Return the table of one run after its last state; its figures have every state."""
    names = own["method"].unique()
    shown = own if every else own[own["method"].isin(headline(names) or names[:1])]
    last = shown[shown["state"] == shown["state"].max()]
    rows = [
        [row.method, *(cell(getattr(row, kind)) for kind in TYPOLOGY)] for row in last.itertuples()
    ]
    caption = (
        "Percent of the images of past classes (p), then of new ones (n). c: correct; e(p,n): an "
        "image of a past class was taken for a new one, and so on."
    )
    columns = ["run", "data", "T", "seed", "method", "state", *TYPOLOGY]
    title = f"{run}: answers after state {last['state'].iloc[0]}"
    return Table(title, caption, ["method", *KINDS], rows, in_shares(shown[columns]))


def data_table(runs: Sequence[RunFolder]) -> Table:
    """Return the images of each data set, as in the supplement's first table."""
    import pandas as pd

    train = {run.about.dataset: np.array(run.about.train_images) for run in runs}
    test = {run.about.dataset: sum(run.about.test_images) for run in runs}
    figures = pd.DataFrame(
        {"data": data, "classes": len(own), "train": own.sum(), "test": test[data],
         "mean": own.mean(), "std": own.std()}
        for data, own in train.items()
    )  # fmt: skip
    rows = [
        [r.data, f"{r.classes}", f"{r.train:,}", f"{r.test:,}", f"{r.mean:.2f}", f"{r.std:.2f}"]
        for r in figures.itertuples()
    ]
    caption = "Images; mean and standard deviation of the training images of a class."
    return Table("data sets", caption, list(figures.columns), rows, figures)


def paired_tables(found: Sequence[Comparison], k: int = 1, every: bool = False) -> list[Table]:
    """Return the differences of other methods of each training to its first one."""
    tables = []
    for comparison in found:
        for training, first in comparison.by_training.items():
            own = [e for e in comparison.entries if e.training == training] if every else first
            if len(own) > 1:
                tables.append(_paired(comparison, sorted(own, key=lambda e: e.Index), k))
    return tables


def _paired(comparison: Comparison, entries: Sequence[Any], k: int) -> Table:
    import pandas as pd

    reference, *others = entries
    first = reference.method
    names = [entry.method for entry in entries]
    shares = [image_shares(run, names, k) for run in comparison.runs(reference.training)]
    later = comparison.results.query("state > 0 and training == @reference.training")
    by_state = later.pivot_table(f"top{k}", ["run", "state"], "method")
    lines = []
    for other in others:
        low, high = interval(np.array([run[other.method] - run[first] for run in shares]))
        gains = by_state[other.method] - by_state[first]
        lines.append({
            "method": other.method, "against": first, "difference": (low + high) / 2, "low": low,
            "high": high, "better": int((gains > 0).sum()), "pairs": len(gains),
        })  # fmt: skip
    figures = pd.DataFrame(lines)
    rows = [
        [row.method, _signed(row.difference), f"{_signed(row.low)} to {_signed(row.high)}",
         f"{row.better}/{row.pairs}"]
        for row in figures.itertuples()
    ]  # fmt: skip
    caption = (
        f"{protocol(reference)}. Points of the average accuracy; 95 % interval over test images "
        "and seeds; better: in how many states after the first."
    )
    title = f"{comparison.title}: top-{k} against {first}"
    columns = ["method", "difference", "95 % interval", "better"]
    return Table(title, caption, columns, rows, in_shares(figures))


def _signed(points: float) -> str:
    return f"{round(points, 1) + 0.0:+.1f}"  # which is never -0.0


def image_shares(run: RunFolder, names: Sequence[str], k: int) -> dict[str, np.ndarray]:
    """Return how much each test image adds to the average top-k accuracy of methods, in percent.

    Images are sorted by class. The average is over the states after the first.
    """
    wanted = {name: parse_method(name) for name in names}
    shares = {name: np.zeros(sum(run.about.test_images)) for name in names}
    first = min(1, run.finished - 1)
    for t, end in enumerate(states_of(run)):
        if t < first:
            continue
        features, labels = read_test(run, t)
        by_class = np.argsort(labels, kind="stable")
        weight = 100 / len(labels) / (run.finished - first)
        for name, outcome in score(features, labels, wanted, end).items():
            shares[name][: len(labels)] += weight * (outcome.ranks[by_class] < k)
    return shares


def interval(differences: np.ndarray) -> tuple[float, float]:
    """Return the 95 % interval of a sum over images, from the part of each in each run (S, n).

    Images and seeds are both samples: their variances add up. One seed has no variance.

    >>> interval(np.array([[1.0, 1.0], [1.0, 1.0]]))
    (2.0, 2.0)
    """
    runs, images = differences.shape
    of_images = images * differences.mean(0).var(ddof=1)
    of_seeds = differences.sum(1).var(ddof=1) / runs if runs > 1 else 0.0
    mean, width = differences.sum(1).mean(), QUANTILE * np.sqrt(of_images + of_seeds)
    return float(mean - width), float(mean + width)
