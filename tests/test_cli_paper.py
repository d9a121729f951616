"""memoryless paper: what it would do, does and shows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from conftest import TOY_PRESET
from memoryless.cli import main
from memoryless.lab.presets import PRESETS


def test_paper_command(tmp_path, toy_source, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(PRESETS, "toy", replace(TOY_PRESET, states=(2,)))
    assert main(["paper", "--preset", "toy", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "runs/paper/toy/2-states/lucir/seed-0" in out
    assert "in all, on this machine as it is now" in out
    assert not Path("runs").exists()
    assert main(["paper", "--preset", "toy", "--write", "t.tex", "t.json"]) == 0
    out = capsys.readouterr().out
    assert "toy: 4 of 4 trainings, Table 1" in out
    assert "toy: 4 of 4 trainings, normalisations" in out
    assert len(json.loads(Path("t.json").read_text())) == 17  # two methods in both


def test_paper_with_methods_beyond_it(tmp_path, toy_source, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(PRESETS, "toy", replace(TOY_PRESET, states=(2,)))
    words = (
        "paper --preset toy --strategies finetune --statistics full --square-roots --held-out 0.25"
    )
    name = "finetune+lda:auto+bg_z+linear"
    assert main([*words.split(), "--methods", name]) == 0
    assert name in capsys.readouterr().out
