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
    methods: tuple[str, ...] = (),
    write: tuple[Path, ...] = (),
) -> None:
    """Train what the paper's table needs, and show it with G_IL beside the published numbers.

    Finished cells are skipped; killed at any point, the same command loses at most one epoch.

    Parameters
    ----------
    preset
        cifar100, ilsvrc, vggface2, landmarks (as published), cifar100-cpu or quickdraw100.
    states
        Numbers of states; by default the preset's.
    strategies
        What to train; by default finetune, lwf, lucir and joint (Full). Fig. 3 compares finetune
        replay:0.01 replay:0.02 independent.
    seeds
        Training seeds.
    order
        Class order; by default the preset's.
    root
        Folder with the data, or that list paths are relative to; quickdraw100 is embedded, and a
        folder holds another draw of its classes.
    train_list
        List of training images, for the large sets.
    test_list
        List of test images, for the large sets.
    statistics
        What records keep for heads beyond the paper's, such as full; by default the preset's.
    level
        What statistics are gathered of: the last stage's features or the middle ones'.
    square_roots
        Gather statistics of the square roots of features at length one.
    held_out
        Share of each state's training images held out, for bg_z, energy and shrinkage auto;
        needs an output of its own, as statistics, level and square_roots do.
    output
        Folder for all runs: OUTPUT/PRESET/10-states/lwf/seed-0.
    shard
        i/n: train only every n-th cell, starting with the i-th; the table needs all of them.
    dry_run
        Only tell what would be trained, with an estimate of the time on this machine.
    methods
        Methods of the table, scored anew without training, such as Full FT lwf_kd+lda+linear; by
        default all that the runs have scored.
    write
        Files to write the table to as well; .csv, .json, .md or .tex says the format.
    """
    from memoryless.cli.output import check_formats, present, say
    from memoryless.cli.progress import ProgressPrinter, set_threads
    from memoryless.errors import ConfigError
    from memoryless.lab.analysis.published import paper_name
    from memoryless.lab.paper import PaperTable
    from memoryless.lab.presets import PAPER_STRATEGIES, PRESETS
    from memoryless.names import choose

    part = re.fullmatch(r"(\d+)/(\d+)", shard)
    if not part or not 1 <= int(part[1]) <= int(part[2]):
        raise ConfigError(f"shard '{shard}' is not i/n with i from 1 to n, such as 1/4")
    check_formats(write)
    methods = tuple(map(paper_name, methods))
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
    )
    set_threads(table.cells[0].threads)
    if dry_run:
        times = table.estimate()
        for cell, seconds in times:
            say(f"{timedelta(seconds=round(seconds))}  {cell.output}/seed-{cell.seeds[0]}")
        total = timedelta(seconds=round(sum(seconds for _, seconds in times)))
        print(f"{total}  in all, on this machine as it is now")
        return
    with ProgressPrinter() as observer:
        table.train(int(part[1]) - 1, int(part[2]), observer)
    present(table.grids(methods), write)
    say(f"the runs are in {output / preset}")
