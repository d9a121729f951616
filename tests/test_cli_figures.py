"""memoryless figures draws what the runs have."""

from __future__ import annotations

from dataclasses import replace

from memoryless.cli import main
from memoryless.lab.experiment import run


def test_joint_runs_have_no_figures_by_state(tiny, toy, capsys):
    run(replace(tiny, strategy="joint", epochs=1), toy)
    assert main(["figures", str(tiny.output)]) == 2
    assert "have no second state yet" in capsys.readouterr().err


def test_figures_that_are_asked_for_are_drawn(finished, tmp_path):
    target = tmp_path / "drawn"
    arguments = ["--output", str(target), "--only", "rows", "--formats", "svg"]
    assert main(["figures", str(finished.path), *arguments]) == 0
    assert [p.name for p in target.iterdir()] == ["rows.svg"]
