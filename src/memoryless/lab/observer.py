"""What an experiment reports while it runs; importing this needs no torch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memoryless.images import Dataset
    from memoryless.lab.estimate import Estimate
    from memoryless.lab.time_left import Work
    from memoryless.training import Progress


class Observer:
    """Receives the progress of an experiment; by default it stays silent."""

    def working(self, what: str, done: int, total: int) -> None:
        """How far slow work beside training is: checking images, features, fitting heads, scores.

        A total of 0 is one that is not known.
        """

    def data_loaded(self, dataset: Dataset) -> None: ...

    def estimated(self, estimate: Estimate) -> None: ...

    def run_started(self, folder: Path, work: list[Work], finished: int) -> None:
        """`work` is what each state has to do, and `finished` how many states are done."""

    def training(self, progress: Progress) -> None: ...

    def state_finished(self, results: dict[str, Any]) -> None: ...
