"""The paper's table: which trainings it needs, how long they take, and what they give."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from memoryless.data import Dataset, load
from memoryless.lab.analysis.grid import Grid
from memoryless.lab.analysis.paper_table import paper_tables
from memoryless.lab.analysis.summary import summarise
from memoryless.lab.config import Config
from memoryless.lab.experiment import Observer, run
from memoryless.lab.presets import Preset
from memoryless.lab.runs import RunFolder
from memoryless.lab.stream import Stream
from memoryless.learner import Learner, prepare
from memoryless.schedules import epochs_of
from memoryless.strategies import Totals

MEASURED_BATCHES = 4


@dataclass(frozen=True)
class PaperTable:
    """A preset at some numbers of states, with some strategies and seeds."""

    name: str
    preset: Preset
    states: Sequence[int]
    strategies: Sequence[str]
    seeds: Sequence[int]
    output: Path
    given: dict[str, Any] = field(default_factory=dict)
    """Settings of the user's, which win over the preset's."""

    @cached_property
    def cells(self) -> list[Config]:
        """One training each; joint training is the same for every number of states."""
        root = self.output / self.name
        cells = [
            self.preset.config(strategy, states, seed, root, self.given)
            for seed in self.seeds
            for states in self.states
            for strategy in self.strategies
        ]
        return list({(c.output, c.seeds): c for c in cells}.values())

    @cached_property
    def dataset(self) -> Dataset:
        dataset = load(self.cells[0])
        self.preset.check(self.name, dataset)
        return dataset

    def train(self, first: int, step: int, observer: Observer) -> None:
        """Run every `step`-th cell from `first`; what is finished costs nothing."""
        for cell in self.cells[first::step]:
            run(cell, self.dataset, observer=observer)

    def grids(self, methods: Sequence[str] = ()) -> list[Grid]:
        """The paper's tables from all cells that have finished; `methods` in place of all."""
        folders = [RunFolder(c.output / f"seed-{c.seeds[0]}") for c in self.cells]
        done = [f for f in folders if f.exists and f.finished == len(f.about["sizes"])]
        title = f"{self.name}: {len(done)} of {len(folders)} trainings"
        rows = summarise(done, methods=methods, leave_out=True)
        rows = [row for row in rows if row.memoryless or row.method == "Full"]
        return paper_tables(rows, title, self.preset.published)

    def estimate(self) -> list[tuple[Config, float]]:
        """Seconds that each cell has still to go, from a short measurement of each strategy."""
        rates: dict[str, float] = {}
        times = []
        for cell in self.cells:
            stream = Stream.from_config(self.dataset, cell)
            done = RunFolder(cell.output / f"seed-{cell.seeds[0]}").finished
            left = sum(epochs_of(cell, s.index) * len(s.train) for s in stream[done:])
            if left and cell.strategy not in rates:
                rates[cell.strategy] = self._images_per_second(cell, stream)
            times.append((cell, left / rates.get(cell.strategy, 1.0)))
        return times

    def _images_per_second(self, config: Config, stream: Stream) -> float:
        """Training speed in the second state, where a strategy has its teacher."""
        config = replace(config, epochs=1, epochs_later=1, lr=1e-6, lr_later=1e-6)
        config = replace(config, statistics="none", projection=0)
        totals = Totals(len(self.dataset.classes), len(self.dataset.train))
        preparation = prepare(
            config, stream[0].train, self.dataset.image_size, self.dataset.augment
        )
        learner = Learner(config, 0, self.dataset.channels, preparation, totals=totals)
        rate = 0.0
        for state in stream[:2]:
            number = min(len(state.train), MEASURED_BATCHES * config.batch_size)
            few = np.linspace(0, len(state.train) - 1, number).astype(int)  # of all its classes
            started = time.perf_counter()
            learner.learn(state.train.take(few), stream.sizes[state.index])
            rate = len(few) / (time.perf_counter() - started)
        return rate
