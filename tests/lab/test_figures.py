"""memoryless figures draws what the runs have."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest

from memoryless.cli import main
from memoryless.lab.experiment import run


def test_joint_runs_have_no_figures_by_state(tiny, toy, capsys):
    run(replace(tiny, strategy="joint", epochs=1), toy)
    assert main(["figures", str(tiny.output)]) == 2
    assert capsys.readouterr().err == (
        "memoryless: these runs have one state, and states are compared: name runs of several "
        "states\n"
    )


@pytest.mark.parametrize("command", ["figures", "compare"])
def test_runs_that_have_not_finished_state_1_are_to_go_on(command, toy_runs, capsys):
    for state in ("01", "02"):
        shutil.rmtree(toy_runs / "ft/seed-0/states" / state)
    assert main([command, str(toy_runs)]) == 2
    assert capsys.readouterr().err == (
        "memoryless: these runs have not finished state 1: start memoryless run again\n"
    )


@pytest.mark.parametrize(("columns", "points"), [("1", "237.6pt"), ("2", "496.8pt")])
def test_figures_that_are_asked_for_are_drawn_as_wide_as_asked(
    columns, points, finished, tmp_path, capsys
):
    target = tmp_path / "drawn"
    arguments = ["--output", str(target), "--only", "rows", "--formats", "svg"]
    assert main(["figures", str(finished.path), *arguments, "--columns", columns]) == 0
    assert [p.name for p in target.iterdir()] == ["rows.svg"]
    assert f'width="{points}"' in (target / "rows.svg").read_text()
    out, err = capsys.readouterr()
    assert out == f"{target / 'rows.svg'}\nthe figures are in {target}\n"
    assert err == ""  # nothing moves where nobody looks


def test_other_widths_are_refused(finished, capsys):
    assert main(["figures", str(finished.path), "--columns", "3"]) == 2
    assert "--columns" in capsys.readouterr().err
