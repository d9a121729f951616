"""memoryless figures draws what the runs have."""

from __future__ import annotations

from dataclasses import replace

from memoryless.cli import main
from memoryless.lab.experiment import run


def test_joint_runs_have_no_figures_by_state(tiny, toy, capsys):
    run(replace(tiny, strategy="joint"), toy)
    assert main(["figures", str(tiny.output)]) == 2
    assert "have no second state yet" in capsys.readouterr().err
    run(replace(tiny, output=tiny.output / "two"), toy)
    target = tiny.output / "drawn"
    arguments = ["--output", str(target), "--only", "rows", "--formats", "svg"]
    assert main(["figures", str(tiny.output / "two"), *arguments]) == 0
    assert [p.name for p in target.iterdir()] == ["rows.svg"]
