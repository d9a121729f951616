"""Figures of finished runs are collected as they are, with what made them."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import results
from results_collect import collect, provenance_of, quiet_seconds
from results_numbers import Numbers

from conftest import FakeRun
from memoryless.errors import ConfigError
from memoryless.lab.analysis.summary import summarise
from memoryless.lab.experiment import run
from memoryless.lab.runs import RunFolder, find_runs


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for collected files."""
    (tmp_path / "collected").mkdir()
    return tmp_path / "collected"


def test_collected_figures_are_those_of_the_summary(gathered, folder):
    (folder / "toy.json").write_text(collect([gathered.path]))
    numbers = Numbers(folder)
    rows = summarise([gathered])
    assert len(rows) > 20
    for row in rows:
        got = numbers.row("toy", 3, row.method, held_out=0.25)
        assert [got.top1.mean, got.top5.mean] == pytest.approx([row.top1, row.top5], abs=1e-3)
        assert got.last_top1.mean == pytest.approx(row.last_top1, abs=1e-3)
        assert got.forgetting.mean == pytest.approx(row.forgetting, abs=1e-3)
        assert got.bytes_kept == row.bytes_kept
    assert numbers.chance("toy", 3) == (f"{rows[0].chance_top1:.1f}", f"{rows[0].chance_top5:.1f}")
    states = gathered.results()
    (stream,) = numbers.files["toy"]["streams"]
    (took,) = stream["training_seconds"]
    assert took == round(sum(state["seconds"]["training"] for state in states), 1)
    assert numbers.row("toy", 3, "FT", held_out=0.25).seconds <= took


def test_quiet_seconds_are_those_of_the_fastest_epoch():
    history = {"seconds": [2.0, 2.0, 1.0], "images": [10, 4, 4]}
    assert quiet_seconds(history) == pytest.approx(18 * 0.2)
    assert quiet_seconds({"seconds": [], "images": []}) == 0


def test_seeds_stand_side_by_side_and_methods_may_be_named(tiny, toy, folder, monkeypatch):
    run(replace(tiny, seeds=(0, 1)), toy)
    monkeypatch.setattr(results, "FOLDER", folder)
    words = ["collect", "toy", str(tiny.output), "--methods", "finetune", "finetune+mc+mean"]
    assert results.main(words) == 0
    row = Numbers(folder).row("toy", 3, "finetune+mean+mc")
    (summary,) = summarise(find_runs([tiny.output]), methods=["finetune+mean+mc"])
    assert [*row.top1.values] == [0, 1]
    assert f"{summary.top1:.1f}±{summary.top1_std:.1f}" == str(row.top1)
    assert not Numbers(folder).row("toy", 3, "inFT")


def test_a_file_has_one_line_a_method_and_is_the_same_again(finished):
    text = collect([finished.path])
    assert text == collect([finished.path])
    methods = finished.results()[0]["methods"]
    assert [text.count(f'\n  {{"method": "{name}",') for name in methods] == [1] * len(methods)


def test_methods_may_be_left_out(finished):
    text = collect([finished.path], without=["*mc", "FT"])
    assert '"inFT_siw"' in text
    assert not re.search(r'"FT"|mc"', text)


def test_runs_that_have_not_ended_are_left_out(finished):
    left = RunFolder(finished.path)
    for file in left.state(2).iterdir():
        file.unlink()
    left.state(2).rmdir()
    with pytest.raises(ConfigError, match="has ended yet"):
        collect([left.path])


def test_the_same_run_twice_counts_once(finished, tmp_path):
    copy = shutil.copytree(finished.path, tmp_path / "again")
    assert collect([finished.path, copy]) == collect([finished.path])


def test_two_runs_of_one_seed_are_refused(tiny, toy):
    for momentum in (0.1, 0.2):
        config = replace(tiny, states="6", epochs=1, momentum=momentum)
        run(replace(config, output=tiny.output / str(momentum)), toy)
    with pytest.raises(ConfigError, match="two runs of one seed"):
        collect([tiny.output])


def test_a_command_is_told_as_a_person_would_type_it():
    words = [
        "/usr/bin/script.py",
        "quick",
        "run",
        "--root",
        "/data/two words",
        "--output",
        "runs/a",
    ]
    versions = {"memoryless": "1", "python": "3", "torch": "2"}
    machine = {"system": "Linux", "cores": 2}
    made = provenance_of(
        FakeRun({"FT": [1.0]}, command=words, versions=versions, commit="abc", machine=machine)
    )
    assert made["command"] == "memoryless run --root 'two words' --output runs/a"
