"""memoryless paper: the paper's table from one command."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal


def paper(
    *,
    preset: str = "quickdraw100",
    states: tuple[int, ...] = (),
    strategies: tuple[str, ...] = (),
    seeds: tuple[int, ...] = (0,),
    order: str | None = None,
    root: Path | None = None,
    train_list: Path | None = None,
    test_list: Path | None = None,
    statistics: str | None = None,
    level: Literal["last", "middle"] | None = None,
    square_roots: bool | None = None,
    held_out: float | None = None,
    output: Path = Path("runs/paper"),
    shard: str = "1/1",
    dry_run: bool = False,
    control: bool = True,
    methods: tuple[str, ...] = (),
    write: tuple[Path, ...] = (),
) -> None:
    """Train what the paper's table needs, and show it with G_IL beside the published numbers.

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
    order
        Class order.
    root
        Folder with the data, or that list paths are relative to; quickdraw100 is embedded, and a
        folder holds another draw of its classes.
    train_list
        List of training images, for the large sets.
    test_list
        List of test images, for the large sets.
    statistics
        What records keep for heads beyond the paper's.
    level
        What statistics are gathered of: the last stage's features or the middle ones'.
    square_roots
        Gather statistics of the square roots of features at length one.
    held_out
        Share of each state's training images held out, for bg_z;
        needs an output of its own, as statistics, level and square_roots do.
    output
        Folder for all runs: OUTPUT/PRESET/10-states/lwf/seed-0.
    shard
        i/n: train only every n-th cell, starting with the i-th; the table needs all of them.
    dry_run
        Only print what would be trained: image passes, and a rough time on this machine.
    control
        Run each stream through a network that never learns too, and show what it reaches in the
        last row of the table.
    methods
        Methods of the table, scored again without training, such as finetune+siw or FT.
    write
        Files to write the table to as well: .csv, .json, .md or .tex, and .parquet with pyarrow.
    """
    from rich.console import Console

    from memoryless.cli.run import set_threads
    from memoryless.errors import ConfigError
    from memoryless.images.dataset import counted
    from memoryless.lab.paper import PaperTable
    from memoryless.lab.presets import PAPER_STRATEGIES, PRESETS
    from memoryless.names import choose
    from memoryless.output import check_formats, present, say
    from memoryless.progress import Display
    from memoryless.stats.methods import method_name, parse_method

    part = re.fullmatch(r"(\d+)/(\d+)", shard)
    if not part or not 1 <= int(part[1]) <= int(part[2]):
        raise ConfigError(f"shard '{shard}' is not i/n with i from 1 to n, such as 1/4")
    check_formats(write)
    methods = tuple(method_name(parse_method(name)) for name in methods)
    chosen = choose("preset", preset, PRESETS)
    settings = {
        "order": order,
        "root": root,
        "train_list": train_list,
        "test_list": test_list,
        "statistics": statistics,
        "level": level,
        "square_roots": square_roots,
        "held_out": held_out,
    }
    given: dict[str, Any] = {name: value for name, value in settings.items() if value is not None}
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
    set_threads(table.cells[0])
    if dry_run:
        with Display() as display:
            estimates = table.estimate(display)
        for cell, passes, seconds in estimates:
            say(f"{_size(passes, seconds)}  {cell.output}/seed-{cell.seeds[0]}")
        _, all_passes, all_seconds = zip(*estimates, strict=True)
        print(f"{_size(sum(all_passes), sum(all_seconds))}  in all, on this machine as it is now")
        return
    share = int(part[1]) - 1, int(part[2])
    with Display(console=Console()) as display:
        display.working("reading data")
        display.expect(table.passes_left(*share))
        left_out = table.train(*share, display)
    done = table.complete()
    with Display() as display:
        if methods:
            what = f"scoring up to {counted(len(methods), 'method', 'methods')}"
            display.reading(done, what, True)
        tables = table.tables(done, methods)
    present(tables, write)
    for sentence in left_out:
        say(f"{sentence}; the same command adds its row later")
    say(f"the runs are in {output / preset}")


def _size(passes: int, seconds: float) -> str:
    return f"{timedelta(seconds=round(seconds))}  {passes:>13,} image passes"
