"""Progress: a bar with the time left on a terminal, sparse lines elsewhere."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from conftest import TOY_PRESET, make_toy
from memoryless.cli import main
from memoryless.lab.experiment import passes_left, run, shown_methods
from memoryless.lab.presets import PRESETS
from memoryless.lab.runs import RunFolder
from memoryless.progress import Display, Passes, TrainingProgress

STATES = [Passes(80, 20), Passes(200, 100)]


class Screen:
    """A display without a terminal, by a clock that the test turns."""

    def __init__(self, *given):
        self.now = 0.0
        self.console = Console(file=io.StringIO(), width=200, get_time=lambda: self.now)
        self.display = Display(*given, console=self.console)

    def after(self, seconds: float, report: Callable, *given) -> None:
        self.now += seconds
        report(*given)

    @property
    def lines(self) -> list[str]:
        return self.console.file.getvalue().splitlines()


@pytest.fixture
def every_line(monkeypatch):
    """No time need pass between two lines."""
    monkeypatch.setattr("memoryless.progress.FIRST_LINE", 0)
    monkeypatch.setattr("memoryless.progress.LAST_LINE", 0)


def trained(state: int, epoch: int, share: float) -> TrainingProgress:
    return TrainingProgress(state, epoch, epochs=2, share=share, loss=2.5, images_per_second=9)


def test_photos_by_hand():
    screen = Screen("learning photos", 8)
    for done in (1, 2, 3, 4):
        screen.after(3, screen.display, done)
    screen.after(6, screen.display.training, trained(0, 0, 0.25))
    screen.after(6, screen.display.training, trained(0, 1, 0.75))
    assert screen.lines == [
        "learning photos, 2 of 8, 0:00:18 left",
        "learning photos, 4 of 8, 0:00:12 left",
        "learning photos, epoch 1/2, loss 2.500, 9 images/s",
        "learning photos, epoch 2/2, loss 2.500, 9 images/s, 0:00:03 left",
    ]


def test_without_a_total_there_is_no_time_left():
    screen = Screen("looking at photos")
    screen.after(6, screen.display, 1)
    assert screen.lines == ["looking at photos, 1"]


def test_an_experiment_by_hand():
    """The time left rests on the passes of all states to come, over all seeds and the control."""
    screen = Screen()
    shown = screen.display
    shown.working("reading data")
    shown.expect(400 + 100)
    shown.run_started(STATES, 0)
    screen.after(60, shown.training, trained(0, 0, 0.25))  # 20 passes until everything is warm
    screen.after(8, shown.training, trained(0, 1, 1.0))  # 60 passes
    screen.after(8, shown.working, "features", 20, 20)
    shown.state_finished({})
    assert shown.task.completed == 100
    screen.after(10, shown.working, "features", 100, 100)
    assert screen.lines == [
        "state 0 of 0..1, epoch 1/2, loss 2.500, 9 images/s",
        "state 0 of 0..1, epoch 2/2, loss 2.500, 9 images/s, 0:00:56 left",  # 420 at 60 in 8
        "state 0 of 0..1, features 20 of 20, 0:01:20 left",  # 400 at 80 in 16 seconds
        "state 1 of 0..1, features 100 of 100, 0:00:44 left",  # 300 at 180 in 26 seconds
    ]


def test_a_run_that_continues_counts_what_is_left():
    screen = Screen()
    shown = screen.display
    shown.expect(300)
    shown.run_started(STATES, 1)
    screen.after(9, shown.training, trained(1, 1, 0.5))  # the first epoch was finished before
    screen.after(5, shown.training, trained(1, 1, 0.6))
    screen.after(5, shown.training, trained(1, 1, 0.7))
    assert screen.lines == [
        "state 1 of 0..1 continues after epoch 1",
        "state 1 of 0..1, epoch 2/2, loss 2.500, 9 images/s",
        "state 1 of 0..1, epoch 2/2, loss 2.500, 9 images/s, 0:00:45 left",
        "state 1 of 0..1, epoch 2/2, loss 2.500, 9 images/s, 0:00:40 left",
    ]


def test_lines_are_sparse():
    screen = Screen("learning photos", 10_000)
    for second in range(10_000):
        screen.after(1, screen.display, second + 1)
    assert 150 < len(screen.lines) < 250


@pytest.mark.parametrize("strategy", ["finetune", "untrained", "frozen", "lwf"])
def test_passes_reported_are_those_planned(strategy, tiny, every_line):
    """At the end of each state the bar stands where the plan says, without a jump."""
    config = replace(tiny, strategy=strategy, statistics="full")
    gaps = []

    class Watch(Display):
        def state_finished(self, results):
            gaps.append(self.end - self.task.completed)
            super().state_finished(results)

    shown = Watch(console=Console(file=io.StringIO(), width=200))
    shown.expect(passes_left(config, make_toy()))
    run(config, make_toy(), observer=shown)
    assert gaps == pytest.approx([0, 0, 0])
    assert shown.task.percentage == 100


def test_all_slow_work_is_shown(tiny, every_line):
    screen = Screen()
    run(replace(tiny, statistics="full"), make_toy(), observer=screen.display)
    for what in ("epoch 1/2", "features 24 of 24", "fitting heads 1 of", "scores 8 of 8"):
        assert any(line.startswith(f"state 0 of 0..2, {what}") for line in screen.lines), what
    heading = "state  classes  finetune  finetune+siw  finetune+rda+widened  elapsed"
    place = screen.lines.index(heading)
    rows = [line for line in screen.lines[place:] if re.match(r" +\d", line)]
    assert [row.split()[:2] for row in rows] == [["0", "2"], ["1", "4"], ["2", "6"]]
    assert {len(row) for row in rows} == {len(heading)}


def test_one_method_stands_for_others():
    parts = ["", "+initial", "+siw", "+ncm", "+rda", "+rda+widened"]
    scored = [f"finetune{part}" for part in parts]
    assert shown_methods(scored) == ["finetune", "finetune+siw", "finetune+rda+widened"]
    assert shown_methods(["lucir"]) == ["lucir"]


@pytest.mark.parametrize("width", [1, 20, 80])
def test_a_terminal_gets_a_bar(width, tiny):
    screen = io.StringIO()
    with Display(console=Console(file=screen, force_terminal=True, width=width)) as shown:
        run(tiny, make_toy(), observer=shown)
    assert "━" in screen.getvalue() or width == 1


def test_states_are_counted_once_for_each_work(finished_run, every_line, capsys):
    run = RunFolder(finished_run)
    with Display() as shown:
        shown.reading([run], "reading runs")
        for name in ("rows", "layer"):
            run.arrays(1, name)
        run.arrays(2, "rows")
        shown.reading([run], "scoring", True)
        run.arrays(0, "rows")
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "reading runs", "reading runs, 1", "reading runs, 1", "reading runs, 2",
        "scoring, 0 of 3", "scoring, 1 of 3",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        ("compare runs --methods FT inFT", ["scoring, 3 of 3"]),
        ("table runs --methods FT", ["scoring, 3 of 3"]),
        ("table runs --show paired", ["scoring, 2 of 3"]),
        ("table runs", []),
        ("figures runs --only rows accuracy --formats svg", ["drawing rows", "drawing accuracy"]),
        ("report runs --methods FT", ["reading runs, 3", "drawing charts", "scoring classes"]),
    ],
)
def test_commands_show_what_they_do(words, lines, toy_runs, every_line, capsys):
    assert main(words.split()) == 0
    shown = [line.partition(", 0:")[0] for line in capsys.readouterr().err.splitlines()]
    assert [line for line in dict.fromkeys(shown) if line in lines] == lines


def test_the_papers_table_shows_what_it_does(toy_source, tmp_path, monkeypatch, every_line, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(PRESETS, "toy", TOY_PRESET)
    assert main("paper --preset toy --strategies finetune lwf --dry-run".split()) == 0
    measured = [f"measuring {name}" for name in ("finetune", "lwf", "untrained")]
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(",")[0] for line in lines] == ["reading data", *measured]
    assert not Path("runs").exists()
    words = "paper --preset toy --strategies finetune --no-control --methods FT inFT"
    assert main(words.split()) == 0
    assert capsys.readouterr().err.splitlines()[-1] == "scoring, 5 of 5"
