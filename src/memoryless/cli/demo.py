"""memoryless demo types the commands for photos, then those for the paper's methods."""

from __future__ import annotations

import shlex
from pathlib import Path

from memoryless.output import say

# Chosen on a held-out fifth of the training drawings (--validation 0.2).
RUN = (
    "--states 10 --width 8 --epochs 30 --epochs-later 10 --batch-size 64 --lr 0.2 --threads 1 "
    "--statistics full --level middle --square-roots"
)
# What training on all classes at once reaches, as docs/lab/results.md has it.
FULL_TOP1 = 53.4


def demo(*, output: Path = Path("runs/demo")) -> int:
    """Teach a model some drawings in two states; then compare methods on 100 classes in ten states.

    Parameters
    ----------
    output
        Folder for the drawings, the model, the run and the report.
    """
    return _photos(output / "drawings", output / "sketches") or _laboratory(output)


def _photos(drawings: Path, model: Path) -> int:
    """Learn drawings in two states and classify others; returns the first exit code that is not 0.

    What the model has learned already is not learned again.
    """
    from memoryless.model.database import model_file
    from memoryless.model.file import load_state

    known = load_state(model, names=()).classes.names if model_file(model).exists() else ()
    new = [s for s in _in_two(drawings) if not any((s / name).exists() for name in known)]
    code = _type(
        *(("learn", model, state) for state in new),
        ("predict", model, drawings / "test" / "ant"),
        ("evaluate", model, drawings / "test"),
    )
    if not code:
        say(f"the model is in {model} and needs no drawing any more; these are in {drawings}")
        say("")
    return code


def _in_two(drawings: Path) -> list[Path]:
    """Return folders with the classes of two states; test drawings of all stand beside them."""
    from memoryless.images.samples import write_samples

    states = [drawings / "first", drawings / "later"]
    if not drawings.exists():
        write_samples(drawings)
    for i, folder in enumerate(sorted((drawings / "train").iterdir())):
        states[i % 2].mkdir(exist_ok=True)
        folder.rename(states[i % 2] / folder.name)
    return states


def _laboratory(output: Path) -> int:
    code = _type(("run", *RUN.split(), "--output", output), ("table", output))
    if not code:
        say(f"Full, on all classes at once with all images, has an A_last of {FULL_TOP1}")
        say("")
    return code or _type(("report", output, "--output", output / "report.html"))


def _type(*commands: tuple[str | Path, ...]) -> int:
    """Show each command as one would type it and run it, until one fails; returns its exit code."""
    from memoryless.cli import main

    for command in commands:
        words = [str(word) for word in command]
        say(f"$ memoryless {shlex.join(words)}")
        if code := main(words):
            return code
        say("")
    return 0
