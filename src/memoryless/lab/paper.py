"""The paper's table: which trainings it needs, how long they take, and what they give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from memoryless.images import Dataset, load
from memoryless.lab.analysis.frame import averages, in_percent, results_frame
from memoryless.lab.analysis.paper_table import FULL, claims_table, paper_tables
from memoryless.lab.config import Config
from memoryless.lab.control import control_of
from memoryless.lab.estimate import images_per_second
from memoryless.lab.experiment import in_states, passes_left, run
from memoryless.lab.presets import Preset
from memoryless.lab.runs import RunFolder
from memoryless.locks import BusyError
from memoryless.progress import Observer
from memoryless.settings import OPEN
from memoryless.stats.methods import headline
from memoryless.tables import Table


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
    control: bool = False
    """Whether each stream goes through a network that never learns too."""

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
    def controls(self) -> list[Config]:
        """The control of each stream that something is trained on, unless it is a cell anyway."""
        if not self.control or "untrained" in self.strategies:
            return []
        found = [self._control(states, seed) for seed in self.seeds for states in self.states]
        return [control for control in found if control]

    def _control(self, states: int, seed: int) -> Config | None:
        root = self.output / self.name
        cells = [self.preset.config(s, states, seed, root, self.given) for s in self.strategies]
        control = next(filter(None, map(control_of, cells)), None)
        if control is None:
            return None
        if "untrained" in self.preset.strategies:
            return self.preset.config("untrained", states, seed, root, self.given)
        place = root / f"{states}-states" / "untrained"
        # The same whichever strategy it stands beside, since all have it in one folder.
        return replace(control, epochs=OPEN, epochs_later=OPEN, output=place).resolved()

    @cached_property
    def dataset(self) -> Dataset:
        dataset = load(self.cells[0])
        self.preset.check(self.name, dataset)
        return dataset

    def train(self, first: int, step: int, observer: Observer) -> list[str]:
        """Run every `step`-th cell from `first`; what is finished costs nothing.

        Gives a sentence about each control that is left out, since another process runs it.
        """
        for cell in self.cells[first::step]:
            run(cell, self.dataset, observer=observer)
        left_out = [self._beside(control, observer) for control in self.controls[first::step]]
        return [sentence for sentence in left_out if sentence]

    def passes_left(self, first: int, step: int) -> int:
        """How many images have still to pass through backbones in `train`."""
        cells = [*self.cells[first::step], *self.controls[first::step]]
        return sum(passes_left(cell, self.dataset) for cell in cells)

    def _beside(self, control: Config, observer: Observer) -> str | None:
        """Run a control, unless another process does."""
        try:
            run(control, self.dataset, observer=observer)
        except BusyError:
            folder = _folder(control).path
            return f"the control in {folder} is left out, since another process is writing it"
        return None

    def complete(self) -> list[RunFolder]:
        """The run folders of all cells that have finished."""
        return _complete(self.cells)

    def tables(self, done: Sequence[RunFolder], methods: Sequence[str] = ()) -> list[Table]:
        """The paper's tables from cells that have finished; `methods` in place of all."""
        title = f"{self.name}: {len(done)} of {len(self.cells)} trainings"
        results = results_frame(done, methods, leave_out=True)
        rows, beside = averages(results), averages(results_frame(_complete(self.controls)))
        if len(rows):
            rows = rows[rows["memoryless"] | (rows["method"] == FULL)]
        control = headline(beside["method"])[-1:] if len(beside) else []
        beside = beside[beside["method"].isin(control)] if len(beside) else beside
        found = paper_tables(
            in_percent(pd.concat([rows, beside])), title, self.preset.published, control
        )
        claims = claims_table(results)
        return [*found, claims] if claims else found

    def estimate(self, observer: Observer | None = None) -> list[tuple[Config, int, float]]:
        """Image passes and seconds that each cell and control has still to go, from a short
        measurement of each strategy.
        """
        observer = observer or Observer()
        observer.working("reading data")
        cells = [*self.cells, *self.controls]
        strategies = {cell.strategy for cell in cells}
        rates: dict[str, float] = {}
        times = []
        for cell in cells:
            left = passes_left(cell, self.dataset)
            if left and cell.strategy not in rates:
                observer.working(f"measuring {cell.strategy}", len(rates) + 1, len(strategies))
                config, stream = in_states(cell, self.dataset)
                rates[cell.strategy] = images_per_second(config, self.dataset, stream)
            times.append((cell, left, left / rates.get(cell.strategy, 1.0)))
        return times


def _folder(cell: Config) -> RunFolder:
    return RunFolder(cell.output / f"seed-{cell.seeds[0]}")


def _complete(cells: Sequence[Config]) -> list[RunFolder]:
    """The run folders of cells that have finished."""
    return [folder for folder in map(_folder, cells) if folder.complete]
