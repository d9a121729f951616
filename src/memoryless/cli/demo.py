"""memoryless demo shows both faces at work: photos in a minute, then the paper's methods."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memoryless.lab.runs import RunFolder
    from memoryless.tables import Table

# Chosen on a held-out fifth of the training drawings (--validation 0.2).
SETTINGS: dict[str, Any] = {
    "states": "10",
    "width": 8,
    "epochs": 30,
    "epochs_later": 10,
    "batch_size": 64,
    "lr": 0.2,
    "threads": 1,
    "statistics": "full",
    "level": "middle",
    "square_roots": True,
}
# What training on all classes at once reaches, as docs/results.md has it.
FULL_TOP1 = 53.4


def demo(*, output: Path = Path("runs/demo")) -> None:
    """Teach a model some drawings in two states; then compare methods on 100 classes in ten states.

    Parameters
    ----------
    output
        Folder for the drawings, the model, the run and the report.
    """
    _show_photos(output / "drawings", output / "sketches")
    _show_laboratory(output)


def _show_photos(drawings: Path, model: Path) -> None:
    from memoryless.model.database import model_file
    from memoryless.model.file import load_state
    from memoryless.output import say
    from memoryless.photos.evaluate import evaluate
    from memoryless.photos.learn import learn
    from memoryless.photos.predict import predict

    there = model_file(model).exists()
    known = load_state(model, names=()).classes.names if there else ()
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
    from memoryless.images.samples import write_samples

    states = [drawings / "first", drawings / "later"]
    if not drawings.exists():
        write_samples(drawings)
    for i, place in enumerate(sorted((drawings / "train").iterdir())):
        states[i % 2].mkdir(exist_ok=True)
        place.rename(states[i % 2] / place.name)
    return states


def _type(command: Callable[..., Any], *words: Path | str) -> None:
    """Show a command as one would type it, and run it."""
    from memoryless.output import say

    texts = [str(word) for word in words]
    say(f"$ memoryless {command.__name__} {shlex.join(texts)}")
    command(*words)
    print()


def _show_laboratory(output: Path) -> None:
    from rich.console import Console

    from memoryless.images.sources import load
    from memoryless.lab.config import Config, control_of
    from memoryless.lab.experiment import passes_left, run, set_threads
    from memoryless.lab.runs import RunFolder
    from memoryless.names import size
    from memoryless.output import say, show
    from memoryless.progress import Display

    config = Config(**SETTINGS, output=output)
    control = control_of(config)
    assert control is not None
    both, dataset = (config, control), load(config)
    set_threads(config.resolved())
    with Display(console=Console()) as display:
        display.expect(sum(passes_left(c, dataset) for c in both))
        folders = [RunFolder(run(c, dataset, observer=display)[0]) for c in both]
    show(_table(folders))
    results = folders[0].results()
    kept = sum(results[-1].bytes.record.values())
    images = results[-1].bytes.images_not_kept
    print(
        f"kept of the past: {size(kept)} for all methods together; its images would have taken "
        f"{size(images)}"
    )
    say(f"the run is in {folders[0].path}: memoryless table {shlex.quote(str(folders[0].path))}")
    _report(folders, output / "report.html")


def _table(runs: list[RunFolder]) -> Table:
    """The methods to look at first, with the control, chance, and Full, which is not run here."""
    from memoryless.lab.comparison import comparisons
    from memoryless.lab.table import method_table

    (comparison,) = comparisons(runs)
    table = method_table(comparison)
    full = {"method": "Full", "A_last": f"{FULL_TOP1:.1f}", "kept": "images"}
    return replace(
        table,
        rows=[*table.rows, [full.get(name, "") for name in table.columns]],
        caption=f"{table.caption} Full is from docs/results.md, not run here.",
    )


def _report(runs: list[RunFolder], page: Path) -> None:
    """Write the report about the runs."""
    from memoryless import pages
    from memoryless.lab.report import render
    from memoryless.output import say

    pages.write(page, render(runs, places=[page.parent]), "output")
    say(f"the report is {page}: open it in a browser")
