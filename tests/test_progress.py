"""Progress tells how far it is and how long it takes."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from conftest import make_toy
from memoryless.cli.progress import ProgressPrinter, shown_methods
from memoryless.lab.estimate import Estimate
from memoryless.lab.experiment import run
from memoryless.training import Progress

WORK = [{"training": 100, "features": 20}, {"training": 300, "features": 40}]


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    return now


def printer(screen: io.StringIO, **given) -> ProgressPrinter:
    return ProgressPrinter(Console(file=screen, width=200), **given)


def trained(state: int, epoch: int, share: float) -> Progress:
    return Progress(state, epoch, epochs=2, share=share, loss=2.5, images_per_second=9)


def test_progress_tells_the_time_left(clock):
    screen = io.StringIO()
    with printer(screen) as shows:
        shows.run_started(Path("there"), WORK, finished=0)
        clock[0] += 60  # until all is warm
        shows.training(trained(0, epoch=0, share=0.2))
        clock[0] += 16
        shows.training(trained(0, epoch=1, share=1.0))
        clock[0] += 6
        shows.working("features", 20, 20)
        shows.state_finished({"state": 0, "classes_seen": 2, "methods": {"FT": {"top1": 5.04}}})
        clock[0] += 30
        shows.training(trained(1, epoch=0, share=0.5))
    assert screen.getvalue().splitlines() == [
        "there: 2 states",
        "state 0 of 0..1, epoch 1/2, loss 2.500, 9 images/s",
        # a pass takes 0.2 seconds, and 20 + 340 are left
        "state 0 of 0..1, epoch 2/2, loss 2.500, 9 images/s, 0:01:12 left",
        "state 0 of 0..1, features 20 of 20, 0:01:12 left",
        "state 0 learned: 2 classes; top-1 FT 5.0",
        # a pass takes 0.2 seconds in training, and 0.3 for features
        "state 1 of 0..1, epoch 1/2, loss 2.500, 9 images/s, 0:00:42 left",
    ]


def test_a_run_that_goes_on_counts_what_is_left(clock):
    screen = io.StringIO()
    with printer(screen) as shows:
        shows.run_started(Path("there"), WORK, finished=1)
        shows.training(trained(1, epoch=1, share=0.5))  # the first epoch is done
        clock[0] += 15
        shows.training(trained(1, epoch=1, share=0.75))  # 75 passes
    assert screen.getvalue().splitlines() == [
        "there: 2 states, 1 of them learned already",
        "state 1 goes on after epoch 1",
        "state 1 of 0..1, epoch 2/2, loss 2.500, 9 images/s, 0:00:23 left",
    ]


def test_the_time_left_is_that_of_all_seeds(clock):
    screen = io.StringIO()
    with printer(screen, expected=[WORK, WORK]) as shows:
        shows.run_started(Path("one"), WORK, finished=1)
        shows.training(trained(1, epoch=1, share=0.5))
        clock[0] += 15
        shows.training(trained(1, epoch=1, share=0.75))
    assert "0:01:55 left" in screen.getvalue()  # 115 passes, and a whole run of 460


def test_lines_are_sparse(clock):
    screen = io.StringIO()
    with printer(screen) as shows:
        shows.run_started(Path("there"), [{"training": 10_000}], finished=0)
        for second in range(10_000):
            clock[0] += 1
            shows.training(trained(0, second // 5000, (second + 1) / 10_000))
    lines = screen.getvalue().splitlines()
    assert 150 < len(lines) < 350
    assert lines[1].endswith("2:46:35 left")  # five seconds of 10,000 are over
    assert lines[-1].endswith("left")


def test_files_are_counted_before_a_run(clock):
    screen = io.StringIO()
    with printer(screen) as shows:
        shows.working("reading data", 0, 0)
        clock[0] += 6
        shows.working("checking images", 500, 2000)
    assert screen.getvalue() == "checking images, 500 of 2,000\n"


def test_a_long_run_is_told_before_it_starts_with_what_would_be_shorter():
    screen = io.StringIO()
    shows = printer(screen)
    shows.estimated(Estimate(4 * 10**8, 590, {"epochs": 30}))
    shows.estimated(Estimate(4 * 10**8, 4000, {"epochs": 30, "epochs_later": 10, "width": 64}))
    assert screen.getvalue().splitlines() == [
        "about 0.4 GB of memory and 0:09:50 on this machine",
        "about 0.4 GB of memory and 1:06:40 on this machine",
        "it would be shorter with less than --epochs 30, --epochs-later 10, --width 64",
    ]


def test_all_slow_work_is_told(tiny, monkeypatch):
    """Whatever takes time beside training; a terminal gets a bar that moves on."""
    monkeypatch.setattr("memoryless.cli.progress.SECONDS_BETWEEN_LINES", 0)
    monkeypatch.setattr("memoryless.cli.progress.LINES", 1e9)
    screen = io.StringIO()
    with printer(screen) as shows:
        run(replace(tiny, statistics="full"), make_toy(), observer=shows)
        assert shows.left.share == 1
    lines = screen.getvalue().splitlines()
    for what in ("epoch 1/2", "features 24 of 24", "fitting heads 1 of", "scores 8 of 8"):
        assert any(f"state 0 of 0..2, {what}" in line for line in lines), what
    shown = [line for line in lines if line.startswith("state 2 learned")]
    numbers = r"top-1 finetune \d+\.\d, finetune\+siw \d+\.\d, finetune\+rda\+widened \d+\.\d"
    assert re.fullmatch(rf"state 2 learned: 6 classes; {numbers}", shown[0])


def test_no_factor_of_two_in_the_time_left(tiny, monkeypatch):
    """By a clock that only work turns: what was told at any time was left within a third."""
    now, told = [0.0], []

    def tick() -> float:
        now[0] += 1e-6
        return now[0]

    monkeypatch.setattr("time.perf_counter", tick)
    config = replace(tiny, statistics="full", epochs=12, epochs_later=3)

    class Turns(ProgressPrinter):
        def training(self, progress):
            now[0] += 0.3  # a step of 24 images
            super().training(progress)
            if (left := self.left()) is not None:
                told.append((now[0], left))

        def working(self, what, done, total):
            now[0] += {"features": 0.1, "scores": 0.002, "fitting heads": 0.01}.get(what, 0)
            super().working(what, done, total)

    monkeypatch.setattr("memoryless.training.SECONDS_BETWEEN_REPORTS", -1)
    with Turns(Console(file=io.StringIO())) as shows:
        run(config, make_toy(), observer=shows)
    end = now[0]
    early = [(at, left) for at, left in told if end - at > 1]
    assert len(early) > 10
    assert all(2 / 3 < left / (end - at) < 3 / 2 for at, left in early), early


def test_one_method_stands_for_others():
    scored = ["finetune", "finetune+siw", "finetune+ncm", "finetune+rda", "finetune+rda+widened"]
    assert shown_methods(scored) == ["finetune", "finetune+siw", "finetune+rda+widened"]
    assert shown_methods(["LUCIR"]) == ["LUCIR"]


def test_a_terminal_gets_a_bar(tiny):
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=120)
    with ProgressPrinter(console) as shows:
        run(tiny, make_toy(), observer=shows)
    shown = screen.getvalue()
    assert "━" in shown
    assert "state 2 learned: 6 classes; top-1 finetune" in shown
