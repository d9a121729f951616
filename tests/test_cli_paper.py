"""memoryless paper: what it would do, does and shows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from conftest import TOY_PRESET
from memoryless.cli import main
from memoryless.lab.presets import PRESETS
from memoryless.locks import locked


def test_paper_command(tmp_path, toy_source, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(PRESETS, "toy", replace(TOY_PRESET, states=(2,)))
    assert main(["paper", "--preset", "toy", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "runs/paper/toy/2-states/lucir/seed-0" in out
    assert "runs/paper/toy/2-states/untrained/seed-0" in out
    assert "in all, on this machine as it is now" in out
    assert not Path("runs").exists()
    assert main(["paper", "--preset", "toy", "--write", "t.tex", "t.json"]) == 0
    out = capsys.readouterr().out
    assert "toy: 4 of 4 trainings, Table 1: top-5" in out
    assert "toy: 4 of 4 trainings, normalisations" in out
    assert "untrained+lda is the control, a network that never learned" in " ".join(out.split())
    entries = json.loads(Path("t.json").read_text())
    assert len(entries) == 18  # two methods in both
    assert entries[13]["method"] == "untrained+lda"  # the last row of the first table
    assert Path("runs/paper/toy/2-states/untrained/seed-0/run.json").exists()


def test_paper_with_methods_beyond_it(tmp_path, toy_source, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(PRESETS, "toy", replace(TOY_PRESET, states=(2,)))
    words = (
        "paper --preset toy --strategies finetune --statistics full --square-roots --held-out 0.25"
    )
    name = "finetune+lda:0.3+bg_z+linear"
    assert main([*words.split(), "--methods", name]) == 0
    assert name in capsys.readouterr().out


def test_paper_without_the_control(tmp_path, toy_source, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(PRESETS, "toy", replace(TOY_PRESET, states=(2,)))
    words = "paper --preset toy --strategies finetune --no-control"
    assert main(words.split()) == 0
    assert "untrained" not in capsys.readouterr().out
    assert not Path("runs/paper/toy/2-states/untrained").exists()


def test_a_control_that_another_process_runs_is_left_out(tmp_path, toy_source, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(PRESETS, "toy", replace(TOY_PRESET, states=(2,)))
    words = "paper --preset toy --strategies finetune".split()
    folder = Path("runs/paper/toy/2-states/untrained/seed-0")
    with locked(folder):
        assert main(words) == 0
    out = capsys.readouterr().out
    assert "toy: 1 of 1 trainings, Table 1: top-5" in out
    assert "untrained+lda" not in out
    assert (
        f"the control in {folder} is left out, since another process is writing it; the same "
        "command adds its row later\n"
    ) in out
    assert main(words) == 0
    assert "untrained+lda" in capsys.readouterr().out


def test_a_control_that_cannot_be_written_is_an_error(tmp_path, toy_source, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(PRESETS, "toy", replace(TOY_PRESET, states=(2,)))
    Path("runs/paper/toy/2-states").mkdir(parents=True)
    Path("runs/paper/toy/2-states/untrained").write_text("a file in the way")
    assert main("paper --preset toy --strategies finetune".split()) == 2
    assert "cannot write runs/paper/toy/2-states/untrained/seed-0" in capsys.readouterr().err
