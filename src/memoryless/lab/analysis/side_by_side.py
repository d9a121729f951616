"""Trainings side by side: runs of one data set in the same states, their methods as entries.

What is shown first, recommended or drawn is fixed in advance: no test image has a part in it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from memoryless.lab.analysis.summary import Summary, by_seed, results_of, rows_of
from memoryless.lab.config import Config
from memoryless.lab.control import CONTROL
from memoryless.lab.run_format import Results
from memoryless.lab.runs import RunFolder, compared
from memoryless.stats.heads import HEADS
from memoryless.stats.methods import headline, parse_method
from memoryless.strategies import STRATEGIES

MOST_LINES = 6
MOST_FIRST = 12  # rows of a table that is read before all others
# Settings that change what is kept of a training, and nothing of the training itself.
KEPT = ("statistics", "level", "square_roots", "transports", "projection")
# What a training and its control have in common.
SHARED = ("backbone", "width", "image_size", "order", "held_out", "validation")
PREFERRED = ("middle stages, roots", "middle stages", "last stage, roots", "last stage", "")


def shown_first(names: Iterable[str]) -> list[str]:
    """The methods of a run that are shown first; the last of them is recommended."""
    names = list(names)
    return headline(names) or names[:1]


def reads_statistics(method: str) -> bool:
    """Whether a method reads more of the past than rows."""
    parts = parse_method(method)
    head = HEADS[parts.head]
    return head.reads_statistics or head.reads == "projection" or parts.transport != "none"


@dataclass(frozen=True, eq=False)
class Training:
    """A training is a group of runs that differ only by seed, with a row for each method."""

    runs: list[RunFolder]
    results: list[list[Results]]
    include_first: bool = False
    """Whether averages count state 0."""

    @cached_property
    def rows(self) -> list[Summary]:
        return rows_of(self.runs, self.results, self.include_first)

    @cached_property
    def headline(self) -> list[str]:
        return shown_first(row.method for row in self.rows)

    @cached_property
    def alike(self) -> str:
        """A text that is equal for trainings that differ only in what they kept."""
        about = self.runs[0].about
        config = {k: v for k, v in compared(about.config).items() if k not in KEPT}
        return json.dumps([config, about.classes, about.sizes, self.runs[0].finished])

    @property
    def dataset(self) -> tuple[str, ...]:
        """The data set's name and classes: others of the same name are another data set."""
        return self.rows[0].data, *sorted({*self.runs[0].about.classes})

    @property
    def config(self) -> Config:
        return self.runs[0].about.config

    @property
    def strategy(self) -> str:
        return self.config.strategy

    @property
    def shape(self) -> tuple[Any, ...]:
        """What a training and its control have in common."""
        about = self.runs[0].about
        return about.backbone_class, *(getattr(self.config, name) for name in SHARED)

    @property
    def is_control(self) -> bool:
        return self.strategy == CONTROL

    @property
    def one_state(self) -> bool:
        return len(self.results[0]) == 1

    def row(self, method: str) -> Summary:
        return next(row for row in self.rows if row.method == method)

    def by_state(self, method: str, k: str = "top1") -> list[float]:
        """A method's accuracy by state, mean over seeds."""
        return [float(value) for value in np.mean(self._by_seed(method, k), 0)]

    def deviations(self, method: str, k: str = "top1") -> list[float]:
        """The standard deviation over seeds of a method's accuracy by state; none of one seed."""
        if len(self.results) == 1:
            return []
        return [float(value) for value in np.std(self._by_seed(method, k), 0, ddof=1)]

    def _by_seed(self, method: str, k: str) -> list[list[float]]:
        return [[getattr(state.methods[method], k) for state in states] for states in self.results]


def _place(training: Training) -> tuple[int, int, int]:
    """Where a training stands among others, whatever it reached."""
    row = training.rows[0]
    strategies = list(STRATEGIES)
    return PREFERRED.index(row.statistics_of), strategies.index(row.strategy), -row.seeds


@dataclass(frozen=True, eq=False)
class Entry:
    """An entry is one method of one training, under a name that no other entry beside it has."""

    training: Training
    row: Summary
    label: str

    @property
    def top1(self) -> float:
        """The average over later states, or what the only state has."""
        return self.row.last_top1 if math.isnan(self.row.top1) else self.row.top1

    @property
    def top1_std(self) -> float:
        return self.row.last_top1_std if math.isnan(self.row.top1) else self.row.top1_std

    @property
    def is_strategy(self) -> bool:
        """Whether the method is the training's own classification layer."""
        method = parse_method(self.row.method)
        return (method.head, method.calibration) == ("current", "none")

    @property
    def in_headline(self) -> bool:
        return self.row.method in self.training.headline


@dataclass(frozen=True, eq=False)
class Comparison:
    """All trainings of one data set in the same states, and what learned it all at once."""

    data: str
    states: str
    trainings: list[Training]
    full: Training | None
    told: frozenset[str]
    """Strategies that kept statistics of several kinds, so that names must tell which."""
    number: str = ""
    """What tells several apart that have the same data name and number of states: their order of
    classes, or a number."""

    @cached_property
    def main(self) -> Training:
        """The training whose recommended method is recommended: a default, never the best here."""
        trained = [t for t in self.trainings if not t.is_control]
        able = [t for t in trained if t.rows[0].memoryless]
        return min(able or trained or self.trainings, key=_place)

    @cached_property
    def control(self) -> Training | None:
        """The untrained network of the same shape, unless there is nothing but it."""
        able = [t for t in self.trainings if t.is_control and not self.main.is_control]
        return min((t for t in able if t.shape == self.main.shape), key=_place, default=None)

    @cached_property
    def entries(self) -> list[Entry]:
        """Every method of every training, highest top-1 first; what two trainings share once."""
        rows = [(t, row) for t in self.trainings for row in t.rows if self._is_first(t, row)]
        entries = [Entry(*row, label) for row, label in zip(rows, self._labels(rows), strict=True)]
        return sorted(entries, key=lambda entry: -entry.top1)

    def _is_first(self, training: Training, row: Summary) -> bool:
        """Rows read no statistics: trainings that kept different ones share them."""
        if reads_statistics(row.method):
            return True
        alike = [t for t in self.trainings if t.alike == training.alike]
        alike = [t for t in alike if any(r.method == row.method for r in t.rows)]
        return max(alike, key=lambda t: t.rows[0].seeds) is training

    def _labels(self, rows: Sequence[tuple[Training, Summary]]) -> list[str]:
        """Names that tell rows apart by what they differ in: statistics, settings, a number."""
        labels = [
            f"{row.method} ({row.statistics_of})"
            if row.strategy in self.told and reads_statistics(row.method)
            else row.method
            for _, row in rows
        ]
        for tell in (_by_settings, _by_number):
            labels = _told_apart(labels, [training for training, _ in rows], tell)
        return labels

    def entry(self, training: Training, method: str) -> Entry:
        """The entry of a training's method, which may stand under a training that shares it."""
        same = [e for e in self.entries if e.row.method == method]
        own = [e for e in same if e.training is training]
        return (own or [e for e in same if e.training.alike == training.alike])[0]

    @cached_property
    def recommended(self) -> Entry:
        return self.entry(self.main, self.main.headline[-1])

    @cached_property
    def shown(self) -> list[Entry]:
        """The few entries to look at first: of the control its recommended method, and of many
        trainings only the strategy, siw and what is recommended.
        """
        few = [entry for entry in self.entries if self._is_shown(entry)]
        if len(few) <= MOST_FIRST:
            return few
        return [
            entry
            for entry in few
            if parse_method(entry.row.method).head in ("current", "siw")
            or entry.row.method == entry.training.headline[-1]
        ]

    def _is_shown(self, entry: Entry) -> bool:
        if entry.training is self.control:
            return entry.row.method == entry.training.headline[-1]
        return entry.in_headline

    @cached_property
    def before_and_after(self) -> list[Entry]:
        """The strategy itself and what is recommended: one entry where they are the same."""
        return list(dict.fromkeys([self.entry(self.main, self.main.headline[0]), self.recommended]))

    @cached_property
    def lines(self) -> list[Entry]:
        """The few entries drawn: what is recommended, its strategy, others, the control."""
        few = dict.fromkeys(self._candidates())
        control = [self.entry(self.control, self.control.headline[-1])] if self.control else []
        others = [entry for entry in few if entry not in control]
        return others[: MOST_LINES - len(control)] + control

    def _candidates(self) -> Iterator[Entry]:
        yield from reversed(self.before_and_after)
        others = sorted((t for t in self.trainings if not t.is_control), key=_place)
        first = {training.strategy: training for training in reversed(others)}
        for training in sorted(others, key=lambda t: t is not first[t.strategy]):
            yield self.entry(training, training.headline[-1])
        for method in self.main.headline:
            yield self.entry(self.main, method)


def _told_apart(
    labels: Sequence[str],
    trainings: Sequence[Training],
    tell: Callable[[Sequence[Training]], list[str]],
) -> list[str]:
    """Labels with words behind those that stand there several times."""
    found = list(labels)
    for label in {*labels}:
        same = [i for i, other in enumerate(labels) if other == label]
        words = tell([trainings[i] for i in same]) if len(same) > 1 else [""]
        for i, word in zip(same, words, strict=True):
            found[i] = f"{label} ({word})" if word else label
    return found


def _by_settings(trainings: Sequence[Training]) -> list[str]:
    configs = [compared(training.config) for training in trainings]
    differing = [
        key for key in configs[0]
        if key not in KEPT and len({json.dumps(config.get(key)) for config in configs}) > 1
    ]  # fmt: skip
    return [", ".join(f"{key} {config.get(key)}" for key in differing) for config in configs]


def _by_number(trainings: Sequence[Training]) -> list[str]:
    return [str(i + 1) for i in range(len(trainings))]


def comparisons(
    runs: Sequence[RunFolder],
    methods: Sequence[str] = (),
    leave_out: bool = False,
    include_first: bool = False,
) -> list[Comparison]:
    """Each data set and cut into states gets one, in the order of the runs.

    `methods` and `leave_out` are those of `results_of`; a training that has none of the methods is
    left out. What learned a data set at once stands beside its other trainings.
    """
    trainings = [
        Training(group, [results_of(run, methods, leave_out) for run in group], include_first)
        for group in by_seed(runs)
    ]
    trainings = [training for training in trainings if training.rows]
    at_once = {t.dataset: t for t in reversed(trainings) if t.strategy == "joint"}
    places: dict[tuple[str, ...], dict[str, list[Training]]] = {}
    for training in trainings:
        if training is not at_once.get(training.dataset):
            about, row = training.runs[0].about, training.rows[0]
            cut = json.dumps([row.states, about.sizes, row.order])
            places.setdefault(training.dataset, {}).setdefault(cut, []).append(training)
    for dataset, full in at_once.items():
        places.setdefault(dataset, {"": [full]})  # there is nothing else of the data
    told = _told(trainings)
    return _numbered([
        Comparison(row.data, row.states, here, _beside(row, at_once.get(dataset)), told)
        for dataset, cuts in places.items()
        for here in sorted(cuts.values(), key=_by_states)
        for row in here[0].rows[:1]
    ])  # fmt: skip


def _by_states(trainings: Sequence[Training]) -> tuple[int, str]:
    states = trainings[0].rows[0].states
    return len(states), states


def _beside(row: Summary, full: Training | None) -> Training | None:
    """What learned all at once, unless a row is of runs that have not ended."""
    return None if "/" in row.states else full


def _numbered(found: Sequence[Comparison]) -> list[Comparison]:
    """Comparisons with orders or numbers, where data and states do not tell them apart."""
    return [
        replace(comparison, number=_number(comparison, same)) if len(same) > 1 else comparison
        for comparison in found
        for same in [
            [c for c in found if (c.data, c.states) == (comparison.data, comparison.states)]
        ]
    ]


def _number(comparison: Comparison, same: Sequence[Comparison]) -> str:
    orders = [c.main.config.order for c in same]
    if len({*orders}) == len(orders):
        return f", order {comparison.main.config.order}"
    return f" ({same.index(comparison) + 1})"


def _told(trainings: Sequence[Training]) -> frozenset[str]:
    kinds = {(t.strategy, t.rows[0].statistics_of) for t in trainings if t.rows[0].statistics_of}
    strategies = [strategy for strategy, _ in kinds]
    return frozenset(s for s in strategies if strategies.count(s) > 1)


def main_comparisons(found: Sequence[Comparison]) -> list[Comparison]:
    """Of each data set the comparison with the most trainings, the first of several."""
    chosen: dict[tuple[str, ...], Comparison] = {}
    for comparison in found:
        before = chosen.get(comparison.main.dataset)
        if before is None or _tells(comparison) > _tells(before):
            chosen[comparison.main.dataset] = comparison
    return list(chosen.values())


def _tells(comparison: Comparison) -> tuple[bool, int]:
    """How much a comparison tells: most of what was trained, little of a control alone."""
    return not comparison.main.is_control, len(comparison.trainings)


def training_names(trainings: Sequence[Training]) -> dict[str, Training]:
    """Trainings by names that tell them apart; those that differ only in what they kept are one."""
    first = list({training.alike: training for training in reversed(trainings)}.values())[::-1]
    names = [_strategy_name(training) for training in first]
    twice = [name for name in names if names.count(name) > 1]
    told = dict(zip(map(id, first), _by_settings(first), strict=True)) if twice else {}
    return {
        f"{name} ({told[id(t)] or i})" if name in twice else name: t
        for i, (name, t) in enumerate(zip(names, first, strict=True), 1)
    }


def _strategy_name(training: Training) -> str:
    config = training.config
    memory = f" {config.memory:.0%}" if config.strategy == "replay" else ""
    free = "" if training.rows[0].memoryless else " (not memoryless)"
    return f"{config.strategy}{memory}{free}"
