"""memoryless demo shows the paper's method at work in a few minutes."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

# Chosen on a held-out fifth of the training drawings (--validation 0.2).
SETTINGS: dict[str, Any] = {
    "states": "10",
    "width": 8,
    "epochs": 30,
    "epochs_later": 10,
    "batch_size": 64,
    "lr": 0.2,
    "threads": 1,
}


def demo(*, output: Path = Path("runs/demo")) -> None:
    """Learn 100 classes of drawings in ten states without keeping one, and compare methods.

    Parameters
    ----------
    output
        Folder for the run.
    """
    from rich.console import Console

    from memoryless.cli.output import say, show
    from memoryless.cli.progress import ProgressPrinter, set_threads
    from memoryless.lab.analysis.sketch import sketch
    from memoryless.lab.analysis.summary import summarise
    from memoryless.lab.analysis.table import grids
    from memoryless.lab.config import Config
    from memoryless.lab.experiment import run
    from memoryless.lab.runs import RunFolder

    set_threads(SETTINGS["threads"])
    console = Console()
    with ProgressPrinter(console) as observer:
        folder = RunFolder(run(Config(**SETTINGS, output=output), observer=observer)[0])
    results = folder.results()
    for table in grids(summarise([folder])):
        show(table, console)
    shown = ["FT", "inFT", "inFT_siw"]
    lines = {m: [state["methods"][m]["top5"] for state in results] for m in shown}
    print(sketch(lines, "top-5 accuracy (%) over all classes seen so far"))
    kept = sum(results[-1]["bytes"]["record"].values())
    images = results[-1]["bytes"]["images_not_kept"]
    print(
        f"\nkept of the past: {kept:,} bytes for all methods together; its images would have taken "
        f"{images:,} bytes"
    )
    say(f"the run is in {folder.path}: memoryless table {shlex.quote(str(folder.path))}")
