"""memoryless demo shows both faces at work: photos in a minute, then the paper's methods."""

from __future__ import annotations

import shlex
from collections.abc import Callable
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
    """Teach a model some drawings in two states; then compare methods on 100 classes in ten states.

    Parameters
    ----------
    output
        Folder for the drawings, the model and the run.
    """
    _show_photos(output / "drawings", output / "sketches")
    _show_laboratory(output)


def _show_photos(drawings: Path, model: Path) -> None:
    from memoryless.cli.evaluate import evaluate
    from memoryless.cli.learn import learn
    from memoryless.cli.output import say
    from memoryless.cli.predict import predict
    from memoryless.model import Model

    known = Model.load(model).classes if model.exists() else ()
    for state in _in_two(drawings):
        if not any((state / name).exists() for name in known):
            _type(learn, model, state)
    test = drawings / "test"
    _type(predict, model, str(test / "ant"))
    _type(evaluate, model, test)
    say(f"the model is in {model} and needs no drawing any more; the drawings are in {drawings}")
    print()


def _in_two(drawings: Path) -> list[Path]:
    """Folders with the sample classes of two states, beside the test drawings of all."""
    from memoryless.data.samples import write_samples

    states = [drawings / "first", drawings / "later"]
    if not drawings.exists():
        write_samples(drawings)
    for i, place in enumerate(sorted((drawings / "train").iterdir())):
        states[i % 2].mkdir(exist_ok=True)
        place.rename(states[i % 2] / place.name)
    return states


def _type(command: Callable[..., Any], *words: Path | str) -> None:
    """Show a command as one would type it, and run it."""
    from memoryless.cli.output import say

    texts = [str(word) for word in words]
    say(f"$ memoryless {command.__name__} {shlex.join(texts)}")
    command(*words)
    print()


def _show_laboratory(output: Path) -> None:
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
