"""Trainings of one data set in the same states, side by side; accuracies are in percent.

What is shown first, drawn or called the reference is fixed in advance: no test image decides it.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from memoryless.lab.config import CONTROL
from memoryless.lab.frame import TRAINING, averages, in_shares, results_frame
from memoryless.lab.runs import RunFolder
from memoryless.names import counted, in_words, size
from memoryless.stats.heads import HEADS
from memoryless.stats.methods import headline, parse_method
from memoryless.strategies import STRATEGIES

if TYPE_CHECKING:
    import pandas as pd

MOST_LINES = 6  # in a chart
MOST_FIRST = 8  # methods in a table that is read before all others
# What a training and its control have in common.
SHARED = ("backbone", "width", "image_size", "order", "held_out", "validation")
# Settings that change what is kept of a training, and nothing of the training itself.
KEPT = ("statistics", "level", "square_roots", "transports", "projection")
PREFERRED = ("middle stages, roots", "middle stages", "last stage, roots", "last stage", "")


def reads_statistics(method: str) -> bool:
    """Return whether a method reads more of the past than rows."""
    parts = parse_method(method)
    head = HEADS[parts.head]
    return head.reads_statistics or head.reads == "projection" or parts.transport != "none"


@dataclass(eq=False)
class Training:
    """Runs that differ only by seed."""

    runs: list[RunFolder]
    results: pd.DataFrame
    """The results of each method by state."""
    methods: pd.DataFrame
    """The averages of each method."""
    kind: str = ""
    """The kind of its statistics, where trainings with its strategy gathered several."""
    settings: str = ""
    """The settings that distinguish it from other trainings with its strategy."""

    def __post_init__(self) -> None:
        self.row: Any = next(self.methods.itertuples(index=False))  # facts that all methods share
        self.config: dict[str, Any] = json.loads(self.row.settings)
        names = list(self.methods["method"])
        self.headline = headline(names) or names[:1]
        self.is_control = self.row.strategy == CONTROL
        self.one_state = self.row.finished == 1

    @property
    def name(self) -> str:
        free = "" if self.row.memoryless else " (not memoryless)"
        return f"{self._labelled(self.row.strategy, self.kind)}{free}"

    def label(self, method: str) -> str:
        """Return a method's name with what distinguishes the training, if the method reads it."""
        return self._labelled(method, self.kind if reads_statistics(method) else "")

    def _labelled(self, name: str, kind: str) -> str:
        words = ", ".join(filter(None, (kind, self.settings)))
        return f"{name} ({words})" if words else name

    @property
    def plain_name(self) -> tuple[str, str, str]:
        """What distinguishes it, but for details of what is kept."""
        return self.row.strategy, self.settings, self.row.statistics_of

    def differing(self, others: Sequence[Training], kept: bool) -> str:
        """Return the settings that others have otherwise: those of what is kept, or the rest."""
        return ", ".join(
            f"{key} {in_words(value)}"
            for key, value in self.config.items()
            if (key in KEPT) == kept and any(other.config.get(key) != value for other in others)
        )

    @property
    def shape(self) -> list[Any]:
        """What a training and its control have in common."""
        return [self.row.network, *(self.config[name] for name in SHARED)]

    @property
    def preference(self) -> tuple[int, int, int]:
        """Where a training stands among others, whatever it reached."""
        strategy = list(STRATEGIES).index(self.row.strategy)
        return PREFERRED.index(self.row.statistics_of), strategy, -self.row.seeds

    def by_state(self, method: str) -> pd.DataFrame:
        """Return a method's top-1 accuracy by state: mean and standard deviation over runs."""
        own = self.results[self.results["method"] == method]
        return own.groupby("state")["top1"].agg(["mean", "std"])


@dataclass(eq=False)
class Comparison:
    """All trainings of one data set in the same states, and what learned all classes at once."""

    trainings: list[Training]
    full: Training | None
    chosen: bool = False
    """Whether somebody named the methods, so that the reference may not be among them."""

    @property
    def row(self) -> Any:
        """What all trainings share."""
        return self.trainings[0].row

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
    def main(self) -> Training:
        """The training that the reference method belongs to: a default, never the best here."""
        trained = [t for t in self.trainings if not t.is_control]
        able = [t for t in trained if t.row.memoryless]
        return min(able or trained or self.trainings, key=lambda t: t.preference)

    @cached_property
    def control(self) -> Training | None:
        """The untrained network of the same shape, unless there is nothing but it."""
        able = [t for t in self.trainings if t.is_control and not self.main.is_control]
        able = [t for t in able if t.shape == self.main.shape]
        return min(able, key=lambda t: t.preference, default=None)

    @cached_property
    def entries(self) -> list[Any]:
        """A row for each method of each training, highest top-1 first.

        Beside the averages a row has its `training`, and a `label` that no other row has: methods
        that read no statistics stand once for all trainings that differ in these alone.
        """
        import pandas as pd

        rows = pd.concat([
            t.methods.assign(training=t, label=t.methods["method"].map(t.label))
            for t in sorted(self.trainings, key=lambda t: t.preference)
        ]).drop_duplicates("label")  # fmt: skip
        rows = rows.sort_values("top1", ascending=False, kind="stable")
        return list(rows.itertuples(index=False))

    def entry(self, training: Training, method: str) -> Any:
        """Return the row of a training's method."""
        return next(e for e in self.entries if e.label == training.label(method))

    @cached_property
    def reference(self) -> Any:
        return self.entry(self.main, self.main.headline[-1])

    @cached_property
    def control_entry(self) -> Any:
        return self.entry(self.control, self.control.headline[-1]) if self.control else None

    @cached_property
    def shown(self) -> list[Any]:
        """The few rows to look at first: of the control one method, and of many trainings only
        the strategy itself, siw and the last of the headline.
        """
        few = [e for e in self.entries if e.method in e.training.headline]
        few = [e for e in few if e.training is not self.control or e is self.control_entry]
        if len(few) <= MOST_FIRST:
            return few
        last = [e for e in few if e.method == e.training.headline[-1]]
        return [e for e in few if e.head in ("current", "siw") or e in last]

    def role(self, entry: Any) -> str:
        """Return the role of a row, if it has one."""
        if entry is self.control_entry:
            return "control"
        if not entry.memoryless:
            return "not memoryless"
        return "reference" if entry is self.reference and not self.chosen else ""

    @cached_property
    def before_and_after(self) -> list[Any]:
        """The strategy itself and the reference: one row where they are the same."""
        first = self.entry(self.main, self.main.headline[0])
        return [first] if first is self.reference else [first, self.reference]

    @cached_property
    def lines(self) -> list[Any]:
        """The few rows drawn: the reference, its strategy, others, the control."""
        control = [self.control_entry] if self.control_entry else []
        others = sorted(self.trainings, key=lambda t: t.preference)
        last = [self.entry(t, t.headline[-1]) for t in others if not t.is_control]
        more = [self.entry(self.main, method) for method in self.main.headline]
        found = {e.label: e for e in [*reversed(self.before_and_after), *last, *more]}
        own = [entry for entry in found.values() if entry not in control]
        return own[: MOST_LINES - len(control)] + control


def comparisons(
    runs: Sequence[RunFolder], methods: Sequence[str] = (), leave_out: bool = False
) -> list[Comparison]:
    """Return the trainings of each data set in the same states, in the order of the runs.

    `methods` and `leave_out` are those of `results_frame`. What learned a data set at once stands
    beside its other trainings.
    """
    trainings = _trainings(runs, results_frame(runs, methods, leave_out))
    full = {t.row.data_id: t for t in reversed(trainings) if t.row.strategy == "joint"}
    trained = {t.row.data_id for t in trainings if t is not full.get(t.row.data_id)}
    data = list(dict.fromkeys(t.row.data_id for t in trainings))
    streams: dict[tuple[int, int, int, str], list[Training]] = {}
    for training in trainings:
        row = training.row
        if training is not full.get(row.data_id) or row.data_id not in trained:
            stream = data.index(row.data_id), row.T, row.finished, row.stream
            streams.setdefault(stream, []).append(training)
    for here in streams.values():
        _set_apart(here)
    return [
        Comparison(
            here,
            full.get(data[which]) if finished == T and data[which] in trained else None,
            bool(methods) and not leave_out,
        )
        for (which, T, finished, _), here in sorted(streams.items(), key=lambda pair: pair[0][:3])
    ]


def _trainings(runs: Sequence[RunFolder], results: pd.DataFrame) -> list[Training]:
    if results.empty:
        return []
    folders = {str(run.path): run for run in runs}
    by_training = dict(iter(results.groupby(TRAINING, sort=False)))
    found = [
        Training(
            [folders[path] for path in by_training[key]["run"].unique()], by_training[key], own
        )
        for key, own in averages(results).groupby(TRAINING, sort=False)
    ]
    kinds = {(t.row.data_id, t.row.strategy, t.row.statistics_of) for t in found}
    several = Counter((data_id, strategy) for data_id, strategy, _ in kinds)
    for training in found:
        row = training.row
        training.kind = row.statistics_of if several[row.data_id, row.strategy] > 1 else ""
    return found


def _set_apart(trainings: Sequence[Training]) -> None:
    """Name the settings in which trainings with the same strategy differ."""
    for training in trainings:
        kin = [t for t in trainings if t.row.strategy == training.row.strategy]
        training.settings = training.differing(kin, kept=False)
    for training in trainings:
        twins = [t for t in trainings if t.plain_name == training.plain_name]
        more = training.differing(twins, kept=True)
        training.kind = ", ".join(filter(None, (training.kind, more)))


def main_comparisons(found: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparison of each data set with the most trainings, the first of several."""
    chosen: dict[str, Comparison] = {}
    for comparison in sorted(found, key=lambda c: (c.main.is_control, -len(c.trainings))):
        chosen.setdefault(comparison.row.data_id, comparison)
    return [comparison for comparison in found if comparison in chosen.values()]


def figures_of(entries: Sequence[Any]) -> pd.DataFrame:
    """Return the averages of rows for programs, in shares from 0 to 1."""
    import pandas as pd

    frame = in_shares(pd.DataFrame(entries)).drop(columns="training")
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
    """Return what a method needs of the past."""
    if not row.memoryless:
        return "images"
    return size(row.bytes) if row.bytes else "nothing"


def protocol(training: Training) -> str:
    """Return how a training was done: network, epochs, augmentation, order and seeds."""
    row = training.row
    later = f" (later {row.epochs_later})" if row.finished > 1 else ""
    return (
        f"{row.network}, epochs {row.epochs}{later}, augmentation {row.augmentation or 'none'}, "
        f"order {row.order}, seeds {row.seed}"
    )


def averages_title(comparison: Comparison) -> str:
    """Return the title of a table of averages."""
    number = max(t.row.seeds for t in comparison.trainings)
    last = comparison.row.finished - 1
    average = f", average of states 1-{last}" if last > 1 else ""
    return f"{comparison.title}, {counted(number, 'seed', 'seeds')}; percent{average}"
