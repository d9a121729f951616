"""Trainings of one data set in the same states, side by side; accuracies are in percent.

What is shown first, drawn or called the reference is fixed in advance: no test image decides it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pandas as pd

from memoryless.lab.analysis.frame import TRAINING, averages, in_percent, results_frame
from memoryless.lab.config import CONTROL
from memoryless.lab.runs import RunFolder
from memoryless.stats.heads import HEADS
from memoryless.stats.methods import headline, parse_method
from memoryless.strategies import STRATEGIES

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


@dataclass(frozen=True, eq=False)
class Training:
    """Runs that differ only by seed; `row` has what they share, `methods` each one's averages."""

    runs: list[RunFolder]
    results: pd.DataFrame
    methods: pd.DataFrame

    @cached_property
    def row(self) -> Any:
        return next(self.methods.itertuples(index=False))

    @cached_property
    def settings(self) -> dict[str, Any]:
        return json.loads(self.row.settings)

    @cached_property
    def headline(self) -> list[str]:
        return shown_first(self.methods["method"])

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
    def is_control(self) -> bool:
        return self.row.strategy == CONTROL

    @property
    def one_state(self) -> bool:
        return self.row.finished == 1

    def by_state(self, method: str, k: str = "top1") -> list[float]:
        """A method's accuracy by state, mean over runs."""
        return list(self._each_state(method, k).mean())

    def deviations(self, method: str, k: str = "top1") -> list[float]:
        """The standard deviation over runs of a method's accuracy by state; none of one run."""
        return list(self._each_state(method, k).std()) if len(self.runs) > 1 else []

    def _each_state(self, method: str, k: str) -> Any:
        return self.results[self.results["method"] == method].groupby("state")[k]


def _preference(training: Training) -> tuple[int, int, int]:
    """Where a training stands among others, whatever it reached."""
    row = training.row
    return (
        PREFERRED.index(row.statistics_of),
        list(STRATEGIES).index(row.strategy),
        -row.seeds,
    )


@dataclass(frozen=True, eq=False)
class Entry:
    """One method of one training, under a name that no other entry beside it has."""

    training: Training
    row: Any
    label: str

    @property
    def is_strategy(self) -> bool:
        """Whether the method is the training's own classification layer."""
        return self.row.head == "current" and self.row.calibration == "none"


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
        return min(able or trained or self.trainings, key=_preference)

    @cached_property
    def control(self) -> Training | None:
        """The untrained network of the same shape, unless there is nothing but it."""
        able = [t for t in self.trainings if t.is_control and not self.main.is_control]
        able = [t for t in able if t.shape == self.main.shape]
        return min(able, key=_preference, default=None)

    @cached_property
    def entries(self) -> list[Entry]:
        """Every method of every training, highest top-1 first; what two trainings share once."""
        rows = [
            (training, row)
            for training in self.trainings
            for row in training.methods.itertuples(index=False)
            if self._is_first(training, row.method)
        ]
        entries = [Entry(*row, label) for row, label in zip(rows, self._labels(rows), strict=True)]
        return sorted(entries, key=lambda entry: -entry.row.top1)

    def _is_first(self, training: Training, method: str) -> bool:
        """Rows read no statistics: trainings that kept different ones share them."""
        if reads_statistics(method):
            return True
        alike = [t for t in self.trainings if t.alike == training.alike]
        alike = [t for t in alike if method in set(t.methods["method"])]
        return max(alike, key=lambda t: t.row.seeds) is training

    def _labels(self, rows: Sequence[tuple[Training, Any]]) -> list[str]:
        """Names with what distinguishes equal ones: statistics, settings, or a number."""
        labels = [
            f"{row.method} ({row.statistics_of})"
            if row.strategy in self.named and reads_statistics(row.method)
            else row.method
            for _, row in rows
        ]
        for words in (_differing_settings, _numbers):
            labels = _distinguished(labels, [training for training, _ in rows], words)
        return labels

    def entry(self, training: Training, method: str) -> Entry:
        """The entry of a training's method, which may stand under a training that shares it."""
        same = [e for e in self.entries if e.row.method == method]
        own = [e for e in same if e.training is training]
        return (own or [e for e in same if e.training.alike == training.alike])[0]

    @cached_property
    def reference(self) -> Entry:
        return self.entry(self.main, self.main.headline[-1])

    @cached_property
    def control_entry(self) -> Entry | None:
        return self.entry(self.control, self.control.headline[-1]) if self.control else None

    @cached_property
    def shown(self) -> list[Entry]:
        """The few entries to look at first: of the control one method, and of many trainings only
        the strategy itself, siw and the last of the headline.
        """
        few = [entry for entry in self.entries if self._is_shown(entry)]
        if len(few) <= MOST_FIRST:
            return few
        return [e for e in few if e.row.head in ("current", "siw") or self._is_last(e)]

    def _is_shown(self, entry: Entry) -> bool:
        if entry.training is self.control:
            return entry is self.control_entry
        return entry.row.method in entry.training.headline

    def _is_last(self, entry: Entry) -> bool:
        return entry.row.method == entry.training.headline[-1]

    def role(self, entry: Entry) -> str:
        """What an entry is for the reader, if it stands out."""
        if entry is self.control_entry:
            return "control"
        is_reference = entry is self.reference and entry.row.memoryless and not self.chosen
        return "reference" if is_reference else ""

    @cached_property
    def before_and_after(self) -> list[Entry]:
        """The strategy itself and the reference: one entry where they are the same."""
        return list(dict.fromkeys([self.entry(self.main, self.main.headline[0]), self.reference]))

    @cached_property
    def lines(self) -> list[Entry]:
        """The few entries drawn: the reference, its strategy, others, the control."""
        control = [self.control_entry] if self.control_entry else []
        others = [entry for entry in dict.fromkeys(self._candidates()) if entry not in control]
        return others[: MOST_LINES - len(control)] + control

    def _candidates(self) -> Iterator[Entry]:
        yield from reversed(self.before_and_after)
        others = sorted((t for t in self.trainings if not t.is_control), key=_preference)
        first = {training.row.strategy: training for training in reversed(others)}
        for training in sorted(others, key=lambda t: t is not first[t.row.strategy]):
            yield self.entry(training, training.headline[-1])
        for method in self.main.headline:
            yield self.entry(self.main, method)


def _distinguished(
    labels: Sequence[str],
    trainings: Sequence[Training],
    words: Callable[[Sequence[Training]], list[str]],
) -> list[str]:
    """Labels with words behind those that stand there several times."""
    found = list(labels)
    for label in {*labels}:
        same = [i for i, other in enumerate(labels) if other == label]
        behind = words([trainings[i] for i in same]) if len(same) > 1 else [""]
        for i, word in zip(same, behind, strict=True):
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
    of_training = dict(iter(in_percent(averages(results)).groupby(TRAINING, sort=False)))
    return [
        Training([folders[path] for path in own["run"].unique()], own, of_training[key])
        for key, own in in_percent(results).groupby(TRAINING, sort=False)
        if key in of_training
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
    names = [_strategy_name(training) for training in first]
    for words in (_differing_settings, _numbers):
        names = _distinguished(names, first, words)
    return dict(zip(names, first, strict=True))


def _strategy_name(training: Training) -> str:
    memory = f" {training.settings['memory']:.0%}" if training.row.strategy == "replay" else ""
    free = "" if training.row.memoryless else " (not memoryless)"
    return f"{training.row.strategy}{memory}{free}"
