"""The paper's table: which trainings it needs, how long they take, and what they give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from memoryless.data import Dataset, load
from memoryless.lab.analysis.grid import Grid
from memoryless.lab.analysis.paper_table import paper_tables
from memoryless.lab.analysis.summary import summarise
from memoryless.lab.config import Config
from memoryless.lab.estimate import images_per_second
from memoryless.lab.experiment import Observer, run
from memoryless.lab.presets import Preset
from memoryless.lab.runs import RunFolder
from memoryless.lab.stream import Stream
from memoryless.schedules import epochs_of


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
                rates[cell.strategy] = images_per_second(cell, self.dataset, stream)
            times.append((cell, left / rates.get(cell.strategy, 1.0)))
        return times
