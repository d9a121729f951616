"""Progress of an experiment: a bar on a terminal, lines elsewhere."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from memoryless import training
from memoryless.cli.output import terminal_text
from memoryless.data import Dataset
from memoryless.lab.estimate import Estimate
from memoryless.lab.experiment import Observer

SECONDS_BETWEEN_LINES = 5


def set_threads(number: int | None) -> None:
    """Let torch use this many CPU threads; only a face may, since all of a program share them."""
    if number:
        torch.set_num_threads(min(number, os.cpu_count() or 1))


class ProgressPrinter(Observer):
    """An observer that shows state, epoch, loss, images a second and the time left."""

    def __init__(self, console: Console | None = None):
        self.console = console or Console()
        self.bar = Progress(
            TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[detail]}"),
            console=self.console, disable=not self.console.is_terminal, transient=True,
        )  # fmt: skip

    def __enter__(self) -> ProgressPrinter:
        self.bar.start()
        self.task = self.bar.add_task("reading images", total=None, detail="")
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

    def run_started(self, folder: Path, work: list[int], finished: int) -> None:
        self.work, self.done = work, sum(work[:finished])
        self.began = time.perf_counter()
        self.begin_share: float | None = None
        self.last_line = 0.0
        resumed = f" (goes on after {finished} of {len(work)} states)" if finished else ""
        self._print(f"{folder}: {len(work)} states{resumed}")
        self.bar.update(self.task, total=1)

    def training(self, progress: training.Progress) -> None:
        seen = self.done + progress.share * self.work[progress.state]
        share = seen / sum(self.work)
        self.begin_share = share if self.begin_share is None else self.begin_share
        state = self._state(progress.state)
        epoch = f"epoch {progress.epoch + 1}/{progress.epochs}"
        rate = f"{progress.images_per_second:.0f} images/s"
        detail = f"{epoch}, loss {progress.loss:.3f}, {rate}, {self._left(share)} left"
        self.bar.update(self.task, description=state, completed=share, detail=detail)
        now = time.perf_counter()
        if not self.console.is_terminal and now - self.last_line >= SECONDS_BETWEEN_LINES:
            self.last_line = now
            self._print(f"{state}, {detail}")

    def _state(self, number: int) -> str:
        return f"state {number} (0 to {len(self.work) - 1})"

    def _left(self, share: float) -> str:
        gone = share - (self.begin_share or 0.0)
        if gone <= 0:
            return "?"
        seconds = (time.perf_counter() - self.began) * (1 - share) / gone
        return str(timedelta(seconds=round(seconds)))

    def state_finished(self, results: dict[str, Any]) -> None:
        state = results["state"]
        self.done += self.work[state]
        best = max(results["methods"], key=lambda name: results["methods"][name]["top1"])
        self._print(
            f"{self._state(state)} learned: {results['classes_seen']} classes, "
            f"loss {results['history']['loss'][-1]:.3f}, "
            f"best top-1 on the test images {results['methods'][best]['top1']:.1f} ({best})"
        )
