"""Trainings of one data set in the same states, side by side; accuracies are in percent.

What is shown first, drawn or called the reference is fixed in advance: no test image decides it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from memoryless.lab.config import CONTROL
from memoryless.lab.frame import TRAINING, averages, in_percent, in_shares, results_frame
from memoryless.lab.runs import RunFolder
from memoryless.names import counted, size
from memoryless.stats.heads import HEADS
from memoryless.stats.methods import headline, parse_method
from memoryless.strategies import STRATEGIES

if TYPE_CHECKING:
    import pandas as pd

MOST_LINES = 6  # in a chart
MOST_FIRST = 8  # methods in a table that is read before all others
# Settings that change what is kept of a training, and nothing of the training itself.
KEPT = ("statistics", "level", "square_roots", "transports", "projection")
# What a training and its control have in common.
SHARED = ("backbone", "width", "image_size", "order", "held_out", "validation")
PREFERRED = ("middle stages, roots", "middle stages", "last stage, roots", "last stage", "")


def shown_first(names: Iterable[str]) -> list[str]:
    """The methods of a run that are shown first; the last of them is the reference."""
    names = list(names)
    return headline(names) or names[:1]


def reads_statistics(method: str) -> bool:
    """Whether a method reads more of the past than rows."""
    parts = parse_method(method)
    head = HEADS[parts.head]
    return head.reads_statistics or head.reads == "projection" or parts.transport != "none"


class Training:
    """Runs that differ only by seed: `results` by state, and the averages of each of `methods`."""

    def __init__(self, runs: list[RunFolder], results: pd.DataFrame, methods: pd.DataFrame):
        self.runs, self.results, self.methods = runs, results, methods
        self.row: Any = next(methods.itertuples(index=False))  # of which most columns are shared
        self.settings: dict[str, Any] = json.loads(self.row.settings)
        self.headline = shown_first(methods["method"])
        self.is_control = self.row.strategy == CONTROL
        self.one_state = self.row.finished == 1

    @property
    def alike(self) -> str:
        """A text that is equal for trainings that differ only in what they kept."""
        settings = {key: value for key, value in self.settings.items() if key not in KEPT}
        return json.dumps([self.row.stream, self.row.finished, settings])

    @property
    def shape(self) -> list[Any]:
        """What a training and its control have in common."""
        return [self.row.network, *(self.settings[name] for name in SHARED)]

    @property
    def preference(self) -> tuple[int, int, int]:
        """Where a training stands among others, whatever it reached."""
        strategy = list(STRATEGIES).index(self.row.strategy)
        return PREFERRED.index(self.row.statistics_of), strategy, -self.row.seeds

    def by_state(self, method: str) -> pd.DataFrame:
        """A method's top-1 accuracy by state: mean and standard deviation over runs."""
        own = self.results[self.results["method"] == method]
        return own.groupby("state")["top1"].agg(["mean", "std"])


@dataclass(frozen=True, eq=False)
class Comparison:
    """All trainings of one data set in the same states, and what learned all classes at once."""

    trainings: list[Training]
    full: Training | None
    named: frozenset[str]
    """Strategies that kept statistics of several kinds, so that labels must name the kind."""
    chosen: bool = False
    """Whether somebody named the methods, so that the reference may not be among them."""
    number: str = ""
    """What distinguishes comparisons of equal data and states: their class order, or a number."""

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
    def title(self) -> str:
        states = "1 state" if self.states == "1" else f"{self.states} states"
        validation = " (validation)" if self.row.images == "validation" else ""
        return f"{self.row.data}{validation}, {states}{self.number}"

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
        """A row for each method of each training, highest top-1 first; what they share once.

        Beside the averages a row has its `training`, and a `label` that no other row has.
        """
        import pandas as pd

        rows = pd.concat([t.methods.assign(training=t, alike=t.alike) for t in self.trainings])
        rows = rows.reset_index(drop=True)
        # Rows of a classifier read no statistics: trainings that kept different ones share them.
        own = rows["method"].map(reads_statistics)
        most_seeds = rows.sort_values("seeds", ascending=False, kind="stable")
        shared = most_seeds.drop_duplicates(["alike", "method"]).index
        rows = rows[own | rows.index.isin(shared)]
        kinds = rows["statistics_of"].where(own & rows["strategy"].isin(self.named), "")
        labels = [
            f"{m} ({kind})" if kind else m for m, kind in zip(rows["method"], kinds, strict=True)
        ]
        rows = rows.assign(label=distinguished(labels, list(rows["training"])))
        by_top1 = rows.sort_values("top1", ascending=False, kind="stable")
        return list(by_top1.itertuples(index=False))

    def entry(self, training: Training, method: str) -> Any:
        """The row of a training's method, which may stand under a training that shares it."""
        same = [e for e in self.entries if (e.method, e.alike) == (method, training.alike)]
        return next((e for e in same if e.training is training), same[0])

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
        few = [entry for entry in self.entries if self._is_shown(entry)]
        if len(few) <= MOST_FIRST:
            return few
        last = [entry for entry in few if entry.method == entry.training.headline[-1]]
        return [e for e in few if e.head in ("current", "siw") or e in last]

    def _is_shown(self, entry: Any) -> bool:
        if entry.training is self.control:
            return entry is self.control_entry
        return entry.method in entry.training.headline

    def role(self, entry: Any) -> str:
        """What a row is for the reader, if it stands out."""
        if entry is self.control_entry:
            return "control"
        is_reference = entry is self.reference and entry.memoryless and not self.chosen
        return "reference" if is_reference else ""

    @cached_property
    def before_and_after(self) -> list[Any]:
        """The strategy itself and the reference: one row where they are the same."""
        first = self.entry(self.main, self.main.headline[0])
        return [first] if first is self.reference else [first, self.reference]

    @cached_property
    def lines(self) -> list[Any]:
        """The few rows drawn: the reference, its strategy, others, the control."""
        control = [self.control_entry] if self.control_entry else []
        found = {entry.label: entry for entry in self._candidates() if entry not in control}
        return list(found.values())[: MOST_LINES - len(control)] + control

    def _candidates(self) -> Iterator[Any]:
        yield from reversed(self.before_and_after)
        others = sorted((t for t in self.trainings if not t.is_control), key=lambda t: t.preference)
        first = {training.row.strategy: training for training in reversed(others)}
        for training in sorted(others, key=lambda t: t is not first[t.row.strategy]):
            yield self.entry(training, training.headline[-1])
        for method in self.main.headline:
            yield self.entry(self.main, method)


def distinguished(labels: Sequence[str], trainings: Sequence[Training]) -> list[str]:
    """Labels; those that several rows have get differing settings behind them, or else numbers."""
    found = list(labels)
    for words in (_differing_settings, _numbers):
        for label in {*found}:
            same = [i for i, other in enumerate(found) if other == label]
            if len(same) > 1:
                for i, word in zip(same, words([trainings[i] for i in same]), strict=True):
                    found[i] = f"{label} ({word})" if word else label
    return found


def _differing_settings(trainings: Sequence[Training]) -> list[str]:
    every = [training.settings for training in trainings]
    differing = [
        key
        for key in every[0]
        if key not in KEPT and len({json.dumps(settings.get(key)) for settings in every}) > 1
    ]
    return [", ".join(f"{key} {settings.get(key)}" for key in differing) for settings in every]


def _numbers(trainings: Sequence[Training]) -> list[str]:
    return [str(i + 1) for i in range(len(trainings))]


def comparisons(
    runs: Sequence[RunFolder], methods: Sequence[str] = (), leave_out: bool = False
) -> list[Comparison]:
    """Each data set and number of states gets one, in the order of the runs.

    `methods` and `leave_out` are those of `results_frame`. What learned a data set at once stands
    beside its other trainings.
    """
    trainings = _trainings(runs, results_frame(runs, methods, leave_out))
    at_once = {t.row.data_id: t for t in reversed(trainings) if t.row.strategy == "joint"}
    places: dict[str, dict[Any, list[Training]]] = {}
    for training in trainings:
        row = training.row
        if training is not at_once.get(row.data_id):
            cut = row.sizes, row.finished, row.order
            places.setdefault(row.data_id, {}).setdefault(cut, []).append(training)
    for data_id, full in at_once.items():
        places.setdefault(data_id, {(): [full]})  # there is nothing else of the data
    named, chosen = _several_kinds(trainings), bool(methods) and not leave_out
    return _numbered([
        Comparison(here, _beside(here[0], at_once.get(data_id)), named, chosen)
        for data_id, cuts in places.items()
        for here in sorted(cuts.values(), key=lambda cut: (cut[0].row.T, cut[0].row.finished))
    ])  # fmt: skip


def _trainings(runs: Sequence[RunFolder], results: pd.DataFrame) -> list[Training]:
    if results.empty:
        return []
    folders = {str(run.path): run for run in runs}
    by_training = dict(iter(in_percent(results).groupby(TRAINING, sort=False)))
    return [
        Training(
            [folders[path] for path in by_training[key]["run"].unique()], by_training[key], own
        )
        for key, own in in_percent(averages(results)).groupby(TRAINING, sort=False)
    ]


def _beside(training: Training, full: Training | None) -> Training | None:
    """What learned all at once, unless runs have not ended."""
    row = training.row
    return full if row.finished == row.T and training is not full else None


def _numbered(found: Sequence[Comparison]) -> list[Comparison]:
    """Comparisons with their orders or numbers, where data and states are equal."""
    same = [[c for c in found if c.title == comparison.title] for comparison in found]
    return [
        replace(c, number=_number(c, equal)) if len(equal) > 1 else c
        for c, equal in zip(found, same, strict=True)
    ]


def _number(comparison: Comparison, same: Sequence[Comparison]) -> str:
    if len({c.row.order for c in same}) == len(same):
        return f", order {comparison.row.order}"
    return f" ({same.index(comparison) + 1})"


def _several_kinds(trainings: Sequence[Training]) -> frozenset[str]:
    kinds = {(t.row.strategy, t.row.statistics_of) for t in trainings if t.row.statistics_of}
    strategies = [strategy for strategy, _ in kinds]
    return frozenset(s for s in strategies if strategies.count(s) > 1)


def main_comparisons(found: Sequence[Comparison]) -> list[Comparison]:
    """Of each data set the comparison with the most trainings, the first of several."""
    chosen: dict[str, Comparison] = {}
    for comparison in sorted(found, key=lambda c: (c.main.is_control, -len(c.trainings))):
        chosen.setdefault(comparison.row.data_id, comparison)
    return [comparison for comparison in found if comparison in chosen.values()]


def training_names(trainings: Sequence[Training]) -> dict[str, Training]:
    """Trainings by distinct names; those that differ only in what they kept are one."""
    first = list({training.alike: training for training in reversed(trainings)}.values())[::-1]
    names = distinguished([_strategy_name(training) for training in first], first)
    return dict(zip(names, first, strict=True))


def _strategy_name(training: Training) -> str:
    memory = f" {training.settings['memory']:.0%}" if training.row.strategy == "replay" else ""
    free = "" if training.row.memoryless else " (not memoryless)"
    return f"{training.row.strategy}{memory}{free}"


def figures_of(entries: Sequence[Any]) -> pd.DataFrame:
    """The averages of rows for programs, in shares from 0 to 1."""
    import pandas as pd

    frame = in_shares(pd.DataFrame(entries)).drop(columns=["training", "alike"])
    frame.insert(0, "label", frame.pop("label"))
    return frame


def pareto_front(rows: Sequence[Any], k: str = "top1") -> list[Any]:
    """The memoryless rows that keep something and beat all that keep less, by their bytes.

    A row that keeps nothing is not among them, though they must beat it too.
    """
    front: list[Any] = []
    for row in sorted(rows, key=lambda row: (row.bytes, -getattr(row, k))):
        if row.memoryless and (not front or getattr(row, k) > getattr(front[-1], k)):
            front.append(row)
    return [row for row in front if row.bytes]


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


def protocol(training: Training) -> str:
    """How a training was done: network, epochs, augmentation, order and seeds."""
    row = training.row
    later = f" (later {row.epochs_later})" if row.finished > 1 else ""
    return (
        f"{row.network}, epochs {row.epochs}{later}, augmentation {row.augmentation or 'none'}, "
        f"order {row.order}, seeds {row.seed}"
    )


def averages_title(comparison: Comparison) -> str:
    """The title of a table of averages."""
    number = max(t.row.seeds for t in comparison.trainings)
    last = comparison.row.finished - 1
    average = f", average of states 1-{last}" if last > 1 else ""
    return f"{comparison.title}, {counted(number, 'seed', 'seeds')}; percent{average}"
