"""Progress over photos on standard error: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from memoryless.cli.output import terminal_text

SECONDS_BETWEEN_LINES = 5


class Bar:
    """A bar is called with how many photos are done."""

    def __init__(self, what: str, total: int | None = None, console: Console | None = None):
        self.what, self.total = what, total
        self.console = console or Console(stderr=True)
        self.bar = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
            TextColumn("{task.fields[detail]}"), TimeRemainingColumn(), console=self.console,
            disable=not self.console.is_terminal, transient=True,
        )  # fmt: skip

    def __enter__(self) -> Bar:
        self.bar.start()
        self.task = self.bar.add_task(self.what, total=self.total, detail="")
        self.began = self.last = time.perf_counter()
        return self

    def __exit__(self, *exception: object) -> None:
        self.bar.stop()

    def __call__(self, done: int) -> None:
        self.bar.update(self.task, completed=done)
        total = f" of {self.total:,}" if self.total else ""
        self._line(f"{self.what}: {done:,}{total}", done / self.total if self.total else 0.0)

    def training(self, progress: Any) -> None:
        """Tell how far a training has come, by what `train.loop` reports."""
        rate = f"{progress.images_per_second:.0f} images/s"
        detail = (
            f"epoch {progress.epoch + 1} of {progress.epochs}, loss {progress.loss:.3f}, {rate}"
        )
        done = round(progress.share * (self.total or 0))
        self.bar.update(self.task, completed=done, detail=detail)
        self._line(f"{self.what}: {detail}", progress.share)

    def _line(self, text: str, share: float) -> None:
        now = time.perf_counter()
        if self.console.is_terminal or now - self.last < SECONDS_BETWEEN_LINES:
            return
        self.last = now
        left = timedelta(seconds=round((now - self.began) * (1 - share) / share)) if share else "?"
        self.console.print(terminal_text(f"{text}, {left} left"), soft_wrap=True)
