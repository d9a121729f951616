"""Methods of one data set in the same states, side by side; accuracies are in percent.

The reference method, and the few methods that are shown first or drawn, are fixed in advance: no
test image decides which they are.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from memoryless.lab.config import CONTROL
from memoryless.lab.frame import averages, in_shares, results_frame
from memoryless.lab.runs import RunFolder
from memoryless.names import counted, size
from memoryless.stats.methods import headline
from memoryless.strategies import STRATEGIES

if TYPE_CHECKING:
    import pandas as pd

MOST_LINES = 6  # in a chart
MOST_FIRST = 8  # methods in a short table
# Settings that a training and its control have in common.
SHARED = ("backbone", "width", "image_size", "order", "held_out", "validation")


@dataclass(eq=False)
class Comparison:
    """The methods of all trainings of one data set in the same states."""

    entries: list[Any]
    """A row of averages for each label, highest top-1 first."""
    results: pd.DataFrame
    """Their results by state."""
    full: list[Any]
    """Averages of the trainings that learned all classes at once."""
    folders: Mapping[str, RunFolder]
    """The run folders by path."""
    chosen: bool = False
    """Whether somebody named the methods, so that the reference may not be among them."""

    @property
    def row(self) -> Any:
        """Facts that all entries share."""
        return self.entries[0]

    @property
    def one_state(self) -> bool:
        return bool(self.row.finished == 1)

    @property
    def states(self) -> str:
        """How many states there are, or finished/all of runs that have not ended."""
        row = self.row
        return str(row.T) if row.finished == row.T else f"{row.finished}/{row.T}"

    @property
    def remarks(self) -> str:
        """The sizes of unequal states, and an order that is not the data set's own."""
        sizes = list(map(int, self.row.sizes.split()))
        unequal = f" of {self.row.sizes} classes" if max(sizes) - min(sizes) > 1 else ""
        return unequal + (f", order {self.row.order}" if self.row.order != "natural" else "")

    @property
    def title(self) -> str:
        states = "1 state" if self.states == "1" else f"{self.states} states"
        validation = " (validation)" if self.row.images == "validation" else ""
        return f"{self.row.data}{validation}, {states}{self.remarks}"

    @cached_property
    def by_training(self) -> dict[str, list[Any]]:
        """The main entries of each training, the preferred training first."""
        found: dict[str, list[Any]] = {}
        for entry in sorted(self.entries, key=preference):
            found.setdefault(entry.training, []).append(entry)
        return {training: _first(own) for training, own in found.items()}

    @cached_property
    def main(self) -> list[Any]:
        """The main entries of the training that has the reference, whatever it reached."""
        trained = [own for own in self.by_training.values() if own[0].strategy != CONTROL]
        able = [own for own in trained if own[0].memoryless]
        return next(iter(able or trained or self.by_training.values()))

    @property
    def reference(self) -> Any:
        return self.main[-1]

    @cached_property
    def control(self) -> Any:
        """The strongest entry of the untrained network of the same shape, or None."""
        if self.reference.strategy == CONTROL:
            return None
        able = [own[-1] for own in self.by_training.values() if own[0].strategy == CONTROL]
        return next((e for e in able if _shape(e) == _shape(self.reference)), None)

    @cached_property
    def shown(self) -> list[Any]:
        """The few entries of a short table: one of the control, and, where there are many
        trainings, only the strategy itself, siw and the strongest.
        """
        control = self.control and self.control.training
        first = [own for training, own in self.by_training.items() if training != control]
        few = {e.label for own in first for e in own}
        if len(few) + bool(control) > MOST_FIRST:
            few = {e.label for own in first for e in own if e.head in ("current", "siw")}
            few |= {own[-1].label for own in first}
        return [e for e in self.entries if e.label in few or e is self.control]

    def role(self, entry: Any) -> str:
        """Return the role of an entry, if it has one."""
        if entry is self.control:
            return "control"
        if not entry.memoryless:
            return "not memoryless"
        return "reference" if entry is self.reference and not self.chosen else ""

    @property
    def before_and_after(self) -> list[Any]:
        """The strategy itself and the reference: one entry where they are the same."""
        return list({e.label: e for e in (self.main[0], self.reference)}.values())

    @cached_property
    def lines(self) -> list[Any]:
        """The few entries drawn: the reference, its strategy, others, the control."""
        control = [self.control] if self.control else []
        last = [own[-1] for own in self.by_training.values() if own[0].strategy != CONTROL]
        every = [self.reference, self.main[0], *last, *self.main]
        found = {e.label: e for e in every if e not in control}
        return [*found.values()][: MOST_LINES - len(control)] + control

    def by_state(self, entry: Any) -> pd.DataFrame:
        """Return top-1 accuracy by state: mean and standard deviation over runs."""
        of_training = self.results[self.results["training"] == entry.training]
        own = of_training[of_training["method"] == entry.method]
        return own.groupby("state")["top1"].agg(["mean", "std"])

    def runs(self, training: str) -> list[RunFolder]:
        """Return the runs of a training."""
        own = self.results[self.results["training"] == training]
        return [self.folders[path] for path in own["run"].unique()]


def preference(entry: Any) -> tuple[Any, ...]:
    """Return a key that puts preferred trainings first and controls last, whatever they reached."""
    settings = json.loads(entry.settings)
    return (
        entry.strategy == CONTROL,
        settings["statistics"] == "none",
        settings.get("level") != "middle",
        not settings.get("square_roots"),
        list(STRATEGIES).index(entry.strategy),
        -entry.seeds,
        entry.Index,
    )


def _first(entries: Sequence[Any]) -> list[Any]:
    """Return the main entries of a training."""
    by_name = {entry.method: entry for entry in entries}
    return [by_name[name] for name in headline(by_name) or list(by_name)[:1]]


def _shape(entry: Any) -> list[Any]:
    """Return the facts that a training and its control have in common."""
    settings = json.loads(entry.settings)
    return [settings[name] for name in SHARED]


def comparisons(
    runs: Sequence[RunFolder], methods: Sequence[str] = (), leave_out: bool = False
) -> list[Comparison]:
    """Return a comparison for each data set in the same states, in the order of the runs.

    `methods` and `leave_out` are those of `results_frame`. Training on all classes at once is put
    beside the other trainings of the data set.
    """
    results = results_frame(runs, methods, leave_out)
    if results.empty:
        return []
    rows = averages(results)
    at_once = rows["strategy"] == "joint"
    beside = at_once & rows["data_id"].isin(rows[~at_once]["data_id"])
    full = rows[beside]
    folders = {str(run.path): run for run in runs}
    data = list(rows["data_id"].unique())
    found = []
    for stream, own in rows[~beside].groupby("stream", sort=False):
        entries = sorted(own.itertuples(), key=preference)
        # One entry for each label: methods that read rows alone do not depend on statistics.
        entries = [*{e.label: e for e in reversed(entries)}.values()]
        entries.sort(key=lambda e: (-e.top1, preference(e)))
        row = entries[0]
        at_end = full[(full["data_id"] == row.data_id) & (row.finished == row.T)]
        found.append(
            Comparison(
                entries,
                results[results["stream"] == stream],
                list(at_end.itertuples()),
                folders,
                bool(methods) and not leave_out,
            )
        )
    return sorted(found, key=lambda c: (data.index(c.row.data_id), c.row.T, c.row.finished))


def main_comparisons(found: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparison of each data set with the most trainings, the first of several."""
    chosen: dict[str, Comparison] = {}
    best = sorted(found, key=lambda c: (c.reference.strategy == CONTROL, -len(c.by_training)))
    for comparison in best:
        chosen.setdefault(comparison.row.data_id, comparison)
    return [comparison for comparison in found if comparison in chosen.values()]


def figures_of(entries: Sequence[Any]) -> pd.DataFrame:
    """Return the averages of rows for programs, in shares from 0 to 1."""
    import pandas as pd

    frame = in_shares(pd.DataFrame(entries)).drop(columns=["Index", "name"])
    frame.insert(0, "label", frame.pop("label"))
    return frame


def pareto_front(rows: Sequence[Any], k: str = "top1") -> list[Any]:
    """Return the memoryless rows that keep something and beat all that keep less, by their bytes.

    A row that keeps nothing is not among them, though they must beat it too.
    """
    front: list[Any] = []
    for row in sorted(rows, key=lambda row: (row.bytes, -getattr(row, k))):
        if row.memoryless and (not front or getattr(row, k) > getattr(front[-1], k)):
            front.append(row)
    return [row for row in front if row.bytes]


def cell(mean: float, std: float = math.nan) -> str:
    """Return a figure, with its deviation over seeds if there is one."""
    if math.isnan(mean):
        return ""
    return f"{mean:.1f}" if math.isnan(std) else f"{mean:.1f}±{std:.1f}"


def kept(row: Any) -> str:
    """Return the bytes that a method needs of the past, in words."""
    if not row.memoryless:
        return "images"
    return size(row.bytes) if row.bytes else "nothing"


def protocol(row: Any) -> str:
    """Return the protocol of a training: network, epochs, augmentation, order and seeds."""
    return f"{row.protocol}, seeds {row.seed}"


def averages_title(comparison: Comparison) -> str:
    """Return the title of a table of averages."""
    number = max(entry.seeds for entry in comparison.entries)
    last = comparison.row.finished - 1
    average = f", average of states 1-{last}" if last > 1 else ""
    return f"{comparison.title}, {counted(number, 'seed', 'seeds')}; percent{average}"
