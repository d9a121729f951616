"""Progress of slow work: a bar with the time left on a terminal, a line now and then elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from memoryless.names import printable

SPEED_SECONDS = 300  # the time left rests on the speed of the last five minutes
FIRST_LINE, LAST_LINE = 5, 60  # seconds between lines: few at first, then a tenth of all so far


class Passes(NamedTuple):
    """How many images pass the backbone in a state of an experiment."""

    training: int
    features: int


@dataclass(frozen=True)
class TrainingProgress:
    """How far the training of a state is."""

    state: int
    epoch: int
    epochs: int
    share: float
    """Share of the state's training images that is done, all epochs counted."""
    loss: float
    """Mean loss of the epoch so far."""
    images_per_second: float


class Observer:
    """Receives the progress of an experiment; by default it stays silent."""

    def note(self, text: str) -> None:
        """Receive a sentence for people."""

    def working(self, what: str, done: int = 0, total: int = 0) -> None:
        """Receive how far slow work beside training is; a total of 0 is not known."""

    def run_started(self, passes: Sequence[Passes], finished: int) -> None:
        """Receive the passes of each state, and how many states are finished."""

    def training(self, progress: TrainingProgress) -> None:
        """Receive how far the training of a state is."""

    def state_finished(self, results: Any) -> None:
        """Receive the results of a state that has just been committed."""


class Display(Observer):
    """Shows progress; call it with the number of photos done, or let an experiment report to it."""

    def __init__(self, what: str = "", total: int | None = None, console: Console | None = None):
        self.what, self.console = what, console or Console(stderr=True)
        self.bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[detail]}", markup=False),
            TimeRemainingColumn(),
            console=self.console,
            disable=not self.console.is_terminal,
            transient=True,
            expand=True,
            speed_estimate_period=SPEED_SECONDS,
        )
        self.bar.add_task(what, total=total, detail="")
        (self.task,) = self.bar.tasks
        self.began = self.last_line = self.console.get_time()
        self.states: list[Passes] = []  # those of the run that are not finished
        self.all_passes, self.number, self.end = False, 0, 0.0
        self.share, self.features = 0.0, 0

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.bar.stop()

    def __call__(self, done: int) -> None:
        """Show how many photos are done."""
        self._show(self.what, _count(done, int(self.task.total or 0)), done)

    def note(self, text: str) -> None:
        self.console.print(Text(printable(text)), soft_wrap=True)

    def expect(self, passes: int) -> None:
        """Measure from now on in passes of an image through the backbone, over several runs."""
        self.all_passes = True
        self.bar.reset(self.task.id, total=passes)

    def working(self, what: str, done: int = 0, total: int = 0) -> None:
        if self.states:
            passes = self.task.completed
            if what == "features":
                passes += done - self.features
                self.features = done if done < total else 0
            self._show(self._state, f"{what} {_count(done, total)}", passes)
        elif self.all_passes:
            self._show(what, _count(done, total))
        else:
            if what != self.what:
                self.what = what
                self.bar.reset(self.task.id)
                self.task.total = total or None
            self._show(what, _count(done, total), done)

    def reading(self, runs: Sequence[Any], what: str, every_state: bool = False) -> None:
        """Show how many states of runs are read while something is done, each counted once."""
        total = sum(run.finished for run in runs) if every_state else 0
        read = set()

        def state_read(run: Any, state: int) -> None:
            read.add((run, state))
            self.working(what, len(read), total)

        for run in runs:
            run.reading = state_read
        self.working(what, 0, total)

    def run_started(self, passes: Sequence[Passes], finished: int) -> None:
        self.states, self.number = [*passes[finished:]], len(passes)
        self._begin_state()

    def training(self, progress: TrainingProgress) -> None:
        if not self.share:
            self._begin_training(progress)
        passes = self.states[0].training if self.states else self.task.total or 0
        done = self.task.completed + (progress.share - self.share) * passes
        self.share = progress.share
        epoch = f"epoch {progress.epoch + 1}/{progress.epochs}"
        rate = f"{progress.images_per_second:.0f} images/s"
        what = self._state if self.states else self.what
        self._show(what, f"{epoch}, loss {progress.loss:.3f}, {rate}", done)

    def state_finished(self, results: Any) -> None:
        del self.states[0]
        self.bar.update(self.task.id, completed=self.end)
        self._begin_state()

    def _begin_training(self, progress: TrainingProgress) -> None:
        """Forget the speed of reading photos, and of epochs that an earlier command finished."""
        if not self.states:
            self.bar.reset(self.task.id)
        elif progress.epoch:
            self.note(f"{self._state} continues after epoch {progress.epoch}")
            self.bar.reset(self.task.id, completed=int(self.task.completed))

    def _begin_state(self) -> None:
        self.share, self.features = 0.0, 0
        self.end = self.task.completed + sum(self.states[0] if self.states else ())

    @property
    def _state(self) -> str:
        return f"state {self.number - len(self.states)} of 0..{self.number - 1}"

    def _show(self, what: str, detail: str, done: float | None = None) -> None:
        """Update the bar; without a terminal, print a line if the last one is old enough."""
        self.bar.update(self.task.id, description=what, detail=detail, completed=done)
        now = self.console.get_time()
        pause = min(max(FIRST_LINE, (now - self.began) / 10), LAST_LINE)
        if self.console.is_terminal or now - self.last_line < pause:
            return
        self.last_line = now
        seconds = self.task.time_remaining
        left = f"{timedelta(seconds=round(seconds))} left" if seconds else ""
        self.note(", ".join(filter(None, (what, detail, left))))


def _count(done: int, total: int) -> str:
    if total:
        return f"{done:,} of {total:,}"
    return f"{done:,}" if done else ""
