"""Progress over finished runs counts the states that are read, on standard error."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import TOY_PRESET
from memoryless.cli import main, progress
from memoryless.cli.reading import ReadingPrinter
from memoryless.lab.presets import PRESETS
from memoryless.lab.runs import RunFolder


@pytest.fixture
def every_line(monkeypatch):
    """No time need pass between two lines."""
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0)
    monkeypatch.setattr(progress, "LINES", float("inf"))


def test_states_are_counted_once_for_each_work(finished_run, every_line, capsys):
    run = RunFolder(finished_run)
    with ReadingPrinter([run]) as printer:
        for name in ("rows", "layer"):
            run.arrays(1, name)
        run.arrays(2, "rows")
        printer.scoring(["FT", "inFT"])
        run.arrays(0, "rows")
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "reading runs",
        "reading runs: states read, 1",
        "reading runs: states read, 1",
        "reading runs: states read, 2",
        "scoring up to 2 methods",
        "scoring up to 2 methods: states read, 1 of 3",
    ]


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        ("compare runs --methods FT inFT",
         ["scoring up to 2 methods", "scoring up to 2 methods: states read, 3 of 3"]),
        ("table runs --methods FT",
         ["scoring up to 1 method", "scoring up to 1 method: states read, 3 of 3"]),
        ("figures runs --only rows accuracy --formats svg", ["drawing rows", "drawing accuracy"]),
        ("report runs", ["reading runs", "drawing charts", "scoring classes"]),
        ("report runs --methods FT", ["reading runs: states read, 3"]),
    ],
)  # fmt: skip
def test_commands_tell_what_they_do(words, lines, toy_runs, every_line, capsys):
    assert main(words.split()) == 0
    told = capsys.readouterr().err.splitlines()
    assert list(dict.fromkeys(line for line in told if line in lines)) == lines


def test_an_estimate_tells_what_it_measures(toy_source, tmp_path, monkeypatch, every_line, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(PRESETS, "toy", TOY_PRESET)
    words = "paper --preset toy --strategies finetune lwf --dry-run"
    assert main(words.split()) == 0
    out, err = capsys.readouterr()
    assert err.splitlines() == [
        "reading data",
        "measuring finetune, 1 of 3",
        "measuring lwf, 2 of 3",
        "measuring untrained, 3 of 3",
    ]
    assert "measuring" not in out
    assert not Path("runs").exists()


def test_the_papers_table_tells_what_it_scores(
    toy_source, tmp_path, monkeypatch, every_line, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(PRESETS, "toy", TOY_PRESET)
    words = "paper --preset toy --strategies finetune --no-control --methods FT inFT"
    assert main(words.split()) == 0
    told = capsys.readouterr().err.splitlines()
    assert told[-1] == "scoring up to 2 methods: states read, 5 of 5"
