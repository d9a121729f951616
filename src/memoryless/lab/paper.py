"""memoryless paper: the trainings of the paper's table, how long they take, and their results."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter
from rich.console import Console

from memoryless.errors import BusyError, ConfigError
from memoryless.images import Dataset
from memoryless.images.sources import load
from memoryless.lab.config import Config, control_of
from memoryless.lab.presets import PAPER_STRATEGIES, PRESETS, Preset
from memoryless.lab.runs import RunFolder
from memoryless.names import choose
from memoryless.output import check_formats, present, say
from memoryless.progress import Display, Observer
from memoryless.settings import OPEN
from memoryless.stats.methods import headline, method_name, parse_method

if TYPE_CHECKING:
    from memoryless.tables import Table


@dataclass(frozen=True, kw_only=True)
class Given:
    """Settings of the user, which win over the preset's."""

    order: str | None = None
    """Class order."""
    root: Path | None = None
    """Folder with the data, or that list paths are relative to; quickdraw100 is embedded, and a
    folder holds another draw of its classes."""
    train_list: Path | None = None
    """List of training images, for the large sets."""
    test_list: Path | None = None
    """List of test images, for the large sets."""
    statistics: str | None = None
    """Class statistics in records, for heads beyond the paper's."""
    level: Literal["last", "middle"] | None = None
    """Features of class statistics: the last stage's or the middle ones'."""
    square_roots: bool | None = None
    """Gather statistics of the square roots of features at length one."""
    held_out: float | None = None
    """Share of each state's training images held out, for bg_z;
    needs an output of its own, as statistics, level and square_roots do."""


def paper(
    *,
    preset: str = "quickdraw100",
    states: tuple[int, ...] = (),
    strategies: tuple[str, ...] = (),
    seeds: tuple[int, ...] = (0,),
    settings: Annotated[Given, Parameter(name="*")] = Given(),
    output: Path = Path("runs/paper"),
    shard: str = "1/1",
    dry_run: bool = False,
    control: bool = True,
    methods: tuple[str, ...] = (),
    write: tuple[Path, ...] = (),
) -> None:
    """Train the methods of the paper's table and compare them with the published numbers.

    Finished cells are skipped; killed at any point, the same command loses at most one epoch.

    Parameters
    ----------
    preset
        What to train on and how: as published, or sized for a CPU; memoryless list presets
        explains each.
    states
        Numbers of states; by default the preset's, as of order, statistics, level, square_roots
        and held_out.
    strategies
        What to train, by default finetune lwf lucir joint; joint is Full. Fig. 3 compares
        finetune replay:0.01 replay:0.02 independent.
    seeds
        Training seeds.
    settings
        Settings that win over the preset's.
    output
        Folder for all runs: OUTPUT/PRESET/10-states/lwf/seed-0.
    shard
        i/n: train only every n-th cell, starting with the i-th; the table needs all of them.
    dry_run
        Only print what would be trained: image passes, and a rough time on this machine.
    control
        Also run each stream through a network that never learns, and show it in the last row.
    methods
        Methods of the table, scored again without training, for example finetune+siw or FT.
    write
        Files to write the table to as well: .csv, .json, .md or .tex, and .parquet with pyarrow.
    """
    part = re.fullmatch(r"(\d+)/(\d+)", shard)
    if not part or not 1 <= int(part[1]) <= int(part[2]):
        raise ConfigError(f"shard '{shard}' is not i/n with i from 1 to n, such as 1/4")
    check_formats(write)
    methods = tuple(method_name(parse_method(name)) for name in methods)
    chosen = choose("preset", preset, PRESETS)
    given = {name: value for name, value in vars(settings).items() if value is not None}
    table = PaperTable(
        preset,
        chosen,
        states or chosen.states,
        strategies or PAPER_STRATEGIES,
        seeds,
        output,
        given,
        control,
    )
    # Imported here, with torch, so that --help and errors are immediate.
    from memoryless.lab.experiment import set_threads

    set_threads(table.cells[0])
    if dry_run:
        _print_sizes(table)
        return
    share = table.share(int(part[1]) - 1, int(part[2]))
    with Display(console=Console()) as display:
        display.working("reading data")
        display.expect(table.passes_left(share))
        left_out = table.train(share, display)
    done = finished(table.cells)
    with Display() as display:
        if methods:
            display.reading(done, "scoring", True)
        tables = table.tables(done, methods)
    present(tables, write)
    for folder in left_out:
        say(
            f"the control in {folder} is left out, since another process is writing it; the same "
            "command adds its row later"
        )
    say(f"the runs are in {output / preset}")


def _print_sizes(table: PaperTable) -> None:
    """Print the size of each training."""
    with Display() as display:
        estimates = table.estimate(display)
    for cell, passes, seconds in estimates:
        say(f"{_size(passes, seconds)}  {cell.output}/seed-{cell.seeds[0]}")
    _, all_passes, all_seconds = zip(*estimates, strict=True)
    print(f"{_size(sum(all_passes), sum(all_seconds))}  in all, on this machine as it is now")


def _size(passes: int, seconds: float) -> str:
    return f"{timedelta(seconds=round(seconds))}  {passes:>13,} image passes"


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
        # The same for every strategy of the table, since all share one folder.
        return replace(control, epochs=OPEN, epochs_later=OPEN, output=place).resolved()

    @cached_property
    def dataset(self) -> Dataset:
        dataset = load(self.cells[0])
        self.preset.check(self.name, dataset)
        return dataset

    def share(self, first: int = 0, step: int = 1) -> list[Config]:
        """Return every `step`-th cell and control from `first`."""
        return [*self.cells[first::step], *self.controls[first::step]]

    def passes_left(self, share: Sequence[Config]) -> int:
        """Return how many images have still to pass through backbones in `train`."""
        from memoryless.lab.experiment import passes_left

        return sum(passes_left(cell, self.dataset) for cell in share)

    def train(self, share: Sequence[Config], observer: Observer) -> list[Path]:
        """Run some cells and controls that have not finished.

        Return the folders of controls that are left out, since another process runs them.
        """
        from memoryless.lab.experiment import run

        left_out = []
        for cell in share:
            try:
                run(cell, self.dataset, observer=observer)
            except BusyError:
                if cell not in self.controls:
                    raise
                left_out.append(folder_of(cell).path)
        return left_out

    def tables(self, done: Sequence[RunFolder], methods: Sequence[str] = ()) -> list[Table]:
        """Return the paper's tables from cells that have finished; `methods` in place of all."""
        import pandas as pd

        from memoryless.lab.frame import averages, results_frame
        from memoryless.lab.paper_tables import FULL, claims_table, paper_tables

        title = f"{self.name}: {len(done)} of {len(self.cells)} trainings"
        results = results_frame(done, methods, leave_out=True)
        rows, beside = averages(results), averages(results_frame(finished(self.controls)))
        if len(rows):
            rows = rows[rows["memoryless"] | (rows["method"] == FULL)]
        control = headline(beside["method"])[-1:] if len(beside) else []
        beside = beside[beside["method"].isin(control)] if len(beside) else beside
        found = paper_tables(pd.concat([rows, beside]), title, self.preset.published, control)
        claims = claims_table(results)
        return [*found, claims] if claims else found

    def estimate(self, observer: Observer) -> list[tuple[Config, int, float]]:
        """Return image passes and seconds that each cell and control has still to go, from a short
        measurement of each strategy.
        """
        from memoryless.lab.estimate import images_per_second
        from memoryless.lab.experiment import in_states

        observer.working("reading data")
        strategies = {cell.strategy for cell in self.share()}
        rates: dict[str, float] = {}
        times = []
        for cell in self.share():
            left = self.passes_left([cell])
            if left and cell.strategy not in rates:
                observer.working(f"measuring {cell.strategy}", len(rates) + 1, len(strategies))
                config, stream = in_states(cell, self.dataset)
                rates[cell.strategy] = images_per_second(config, self.dataset, stream)
            times.append((cell, left, left / rates[cell.strategy] if left else 0.0))
        return times


def folder_of(cell: Config) -> RunFolder:
    """Return the run folder of a cell, which has one seed."""
    return RunFolder(cell.output / f"seed-{cell.seeds[0]}")


def finished(cells: Sequence[Config]) -> list[RunFolder]:
    """Return the run folders of cells that have finished."""
    return [folder for folder in map(folder_of, cells) if folder.complete]
