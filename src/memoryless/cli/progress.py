"""Progress of an experiment: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from memoryless.cli.output import terminal_text
from memoryless.lab.observer import Observer
from memoryless.lab.time_left import TimeLeft, Work
from memoryless.stats.methods import headline, parse_method

if TYPE_CHECKING:
    from memoryless import training
    from memoryless.images import Dataset
    from memoryless.lab.config import Config
    from memoryless.lab.estimate import Estimate

SECONDS_BETWEEN_LINES = 5
LINES = 50  # at most about so many more by the time a run has taken twice as long
NARROW = 8  # a width at which threads wait for each other more than they work
LONG = 600  # seconds that are worth a word on what would be shorter


def set_threads(config: Config) -> None:
    """Let torch and NumPy use as many CPU threads as resolved settings say, or one for a narrow
    ResNet. Only a command may do so, since all of a program share them.
    """
    import torch
    from threadpoolctl import threadpool_limits

    narrow = config.backbone.startswith("resnet18") and config.width <= NARROW
    number = config.threads or (1 if narrow else None)
    if number:
        number = min(number, os.cpu_count() or 1)
        torch.set_num_threads(number)
        threadpool_limits(number, user_api="blas")


class ProgressPrinter(Observer):
    """An observer that shows state, epoch, loss, images a second and the time left."""

    def __init__(self, console: Console | None = None, expected: Sequence[Sequence[Work]] = ()):
        self.console = console or Console()
        self.expected = expected
        """What each run has to do that has not begun yet; the time left is that of all."""
        self.left: TimeLeft | None = None
        self.state, self.states, self.trained, self.counted = 0, 0, 0.0, ("", 0, 0)
        self.bar = Progress(
            TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[detail]}"),
            console=self.console, disable=not self.console.is_terminal, transient=True,
        )  # fmt: skip

    def __enter__(self) -> ProgressPrinter:
        self.bar.start()
        self.task = self.bar.add_task("starting", total=None, detail="")
        self.began = self.last_line = time.perf_counter()
        return self

    def __exit__(self, *exception: object) -> None:
        self.bar.stop()

    def data_loaded(self, dataset: Dataset) -> None:
        for note in dataset.notes:
            self._print(note)

    def _print(self, text: str) -> None:
        self.console.print(terminal_text(text), soft_wrap=True)

    def estimated(self, estimate: Estimate) -> None:
        left = timedelta(seconds=round(estimate.seconds))
        self._print(f"about {estimate.bytes / 1e9:.1f} GB of memory and {left} on this machine")
        if estimate.seconds > LONG and estimate.shorter:
            flags = [f"--{n.replace('_', '-')} {value}" for n, value in estimate.shorter.items()]
            self._print(f"it would be shorter with less than {', '.join(flags)}")

    def run_started(self, folder: Path, work: list[Work], finished: int) -> None:
        self.expected = self.expected[1:]
        self.left = TimeLeft(work, finished, self.expected)
        self.state, self.states, self.trained, self.counted = finished, len(work), -1.0, ("", 0, 0)
        self._print(f"{folder}: {_standing(len(work), finished)}")
        self.bar.update(self.task, total=1)

    def working(self, what: str, done: int, total: int) -> None:
        detail = f"{done:,} of {total:,}" if total else f"{done:,}" if done else ""
        if self.left is None or self.state >= self.states:
            self._show(what, detail, done / total if total else None)
            return
        same = self.counted[:2] == (what, total) and self.counted[2] < done
        passes: float = done - (self.counted[2] if same else 0)
        self.counted = (what, total, done)
        if what == "fitting heads":
            passes *= self.left.work[self.state][what] / total
        met = self.left.did if self.left.passes else self.left.skip  # the first batch is slow
        met(self.state, what, passes)
        self._show(self._state(self.state), f"{what} {detail}{self._left()}", self.left.share)

    def training(self, progress: training.Progress) -> None:
        assert self.left is not None
        passes = self.left.work[progress.state]["training"]
        if self.trained < 0:  # epochs of an earlier command, and the first batch, which is slow
            self.left.skip(progress.state, "training", progress.share * passes)
            if progress.epoch:
                self._print(f"state {progress.state} goes on after epoch {progress.epoch}")
        else:
            self.left.did(progress.state, "training", (progress.share - self.trained) * passes)
        self.state, self.trained = progress.state, progress.share
        epoch = f"epoch {progress.epoch + 1}/{progress.epochs}"
        rate = f"{progress.images_per_second:.0f} images/s"
        detail = f"{epoch}, loss {progress.loss:.3f}, {rate}{self._left()}"
        self._show(self._state(progress.state), detail, self.left.share)

    def _show(self, what: str, detail: str, share: float | None) -> None:
        """The bar as it is now; where there is none, a line from time to time."""
        total = None if share is None else 1
        self.bar.update(self.task, description=what, completed=share, total=total, detail=detail)
        now = time.perf_counter()
        apart = max(SECONDS_BETWEEN_LINES, (now - self.began) / LINES)
        if not self.console.is_terminal and now - self.last_line >= apart:
            self.last_line = now
            self._print(", ".join(part for part in (what, detail) if part))

    def _state(self, number: int) -> str:
        return f"state {number} of 0..{self.states - 1}"

    def _left(self) -> str:
        seconds = self.left() if self.left else None
        return "" if seconds is None else f", {timedelta(seconds=round(seconds))} left"

    def state_finished(self, results: dict[str, Any]) -> None:
        assert self.left is not None
        state, methods = results["state"], results["methods"]
        self.left.did(state, "scores", 0)  # what was written since belongs to them
        self.left.finish(state)
        self.state, self.trained = state + 1, -1.0
        top1 = ", ".join(f"{name} {methods[name]['top1']:.1f}" for name in shown_methods(methods))
        self._print(f"state {state} learned: {results['classes_seen']} classes; top-1 {top1}")


def _standing(states: int, finished: int) -> str:
    """How far a run is when a command comes to it."""
    count = f"{states} states" if states > 1 else "one state"
    if finished == states:
        return f"{count}, complete already"
    return f"{count}, {finished} of them learned already" if finished else count


def shown_methods(methods: Any) -> list[str]:
    """The methods that stand for all others: the strategy itself, standardised rows, and the one
    that is recommended.
    """
    first = headline(methods)
    rows = [name for name in first if parse_method(name).head == "siw"]
    return list(dict.fromkeys([*first[:1], *rows, *first[-1:]]))
