"""Progress tells how far it is and how long it takes."""

from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from memoryless.cli.progress import ProgressPrinter
from memoryless.training import Progress


def test_progress_tells_the_time_left(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("memoryless.cli.progress.time.perf_counter", lambda: now[0])
    screen = io.StringIO()
    with ProgressPrinter(Console(file=screen, width=200)) as printer:
        printer.run_started(Path("there"), work=[100, 300], finished=0)
        printer.training(Progress(0, epoch=0, epochs=2, share=0.0, loss=2.5, images_per_second=9))
        now[0] += 20
        printer.training(Progress(0, epoch=1, epochs=2, share=1.0, loss=1.5, images_per_second=9))
    lines = screen.getvalue().splitlines()
    assert lines[1] == "state 0 (0 to 1), epoch 1/2, loss 2.500, 9 images/s, ? left"
    # a quarter of the work in 20 seconds
    assert lines[2] == "state 0 (0 to 1), epoch 2/2, loss 1.500, 9 images/s, 0:01:00 left"
