"""Progress over photos: lines with the time left where there is no terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from memoryless.cli import bar
from memoryless.train.loop import Progress


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes on by three seconds at each look."""
    times = iter(range(0, 1000, 3))
    monkeypatch.setattr(bar.time, "perf_counter", lambda: float(next(times)))


def lines(use, total: int | None) -> list[str]:
    console = Console(file=io.StringIO(), width=40)
    with bar.Bar("learning photos", total, console) as shown:
        use(shown)
    return console.file.getvalue().splitlines()


def test_a_line_every_five_seconds(clock):
    assert lines(lambda shown: [shown(i) for i in (1, 2, 3, 4)], 8) == [
        "learning photos: 2 of 8, 0:00:18 left",
        "learning photos: 4 of 8, 0:00:12 left",
    ]


def test_without_a_total_the_time_left_is_not_known(clock):
    assert lines(lambda shown: [shown(1), shown(2)], None) == ["learning photos: 2, ? left"]


def test_a_training(clock):
    progress = Progress(0, 1, 4, 0.5, 1.25, 99.6)
    assert lines(lambda shown: [shown.training(progress), shown.training(progress)], 8) == [
        "learning photos: epoch 2 of 4, loss 1.250, 100 images/s, 0:00:06 left"
    ]


def test_a_terminal_gets_a_bar_that_goes_away():
    console = Console(file=io.StringIO(), force_terminal=True, width=100)
    with bar.Bar("learning photos", 8, console) as shown:
        shown(4)
        shown.bar.refresh()
    assert "4/8" in console.file.getvalue()
