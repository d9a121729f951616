"""Progress over finished runs on standard error: what is done, and how many states were read."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from memoryless.cli.progress import ProgressPrinter
from memoryless.images.dataset import counted
from memoryless.lab.runs import RunFolder


class ReadingPrinter(ProgressPrinter):
    """A printer that is told what is done with some runs, and hears which states are read."""

    def __init__(self, runs: Sequence[RunFolder]):
        super().__init__(Console(stderr=True))
        self.states = sum(run.finished for run in runs)
        for run in runs:
            run.reading = self.state_read

    def __enter__(self) -> ReadingPrinter:
        super().__enter__()
        self.doing("reading runs")
        return self

    def doing(self, what: str, total: int = 0) -> None:
        """Tell what begins now; states that it reads are counted from there, of a known total."""
        self.what, self.total, self.read = what, total, set[tuple[RunFolder, int]]()
        self.working(what, 0, 0)

    def scoring(self, methods: Sequence[str]) -> None:
        """Tell that methods are scored, for which every state is read."""
        self.doing(f"scoring up to {counted(len(methods), 'method', 'methods')}", self.states)

    def state_read(self, run: RunFolder, t: int) -> None:
        self.read.add((run, t))
        self.working(f"{self.what}: states read", len(self.read), self.total)
