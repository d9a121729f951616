"""The demo shows what it promises."""

from __future__ import annotations

import json
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest

from memoryless import Model
from memoryless.cli import main
from memoryless.images import samples
from memoryless.lab import results

demo = import_module("memoryless.cli.demo")  # the command has the name of its module

# Top-5 average incremental accuracy that an untuned trial reached. FT, the baseline that knows only
# its last state, has no floor: all the others must stand above it.
FLOOR = {
    "finetune+initial": 42.9,
    "finetune+l2": 41.2,
    "finetune+mean": 47.3,
    "finetune+siw": 47.6,
}


def commands_in(out: str) -> list[str]:
    return [line.split()[2] for line in out.splitlines() if line.startswith("$ memoryless ")]


def test_the_demo_teaches_a_model_then_compares_methods(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    few = partial(samples.write_samples, classes=6, per_class=8, test_per_class=1)
    monkeypatch.setattr(samples, "write_samples", few)
    small = "--states 2 --width 1 --image-size 8 --epochs 1 --statistics full"
    monkeypatch.setattr(demo, "RUN", small)
    assert main(["demo", "--output", "a demo"]) == 0
    out = capsys.readouterr().out
    expected = ["learn", "learn", "predict", "evaluate", "run", "table", "report"]
    assert commands_in(out) == expected
    assert "$ memoryless learn 'a demo/sketches' 'a demo/drawings/first'" in out
    assert " of 6 photos correct: " in out
    assert f"A_last of {demo.FULL_TOP1}" in out
    for row in ("finetune+siw ", "untrained+lda ", "chance "):
        assert f"\n{row}" in out
    assert Path("a demo/report.html").read_text().startswith("<!")
    model = Model.load("a demo/sketches")
    assert (len(model.classes), model.class_state) == (6, (0, 0, 0, 1, 1, 1))
    assert main(["demo", "--output", "a demo"]) == 0  # what is learned is not learned again
    assert commands_in(capsys.readouterr().out) == expected[2:]


def test_the_demo_ends_with_the_first_command_that_fails(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "_photos", lambda drawings, model: 0)
    monkeypatch.setattr(demo, "RUN", "--states 101")
    assert main(["demo"]) == 2
    done = capsys.readouterr()
    assert commands_in(done.out) == ["run"]
    assert "101 states" in done.err


@pytest.mark.slow
def test_demo_reaches_its_level(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    capsys.readouterr()
    assert main(["evaluate", "runs/demo/sketches", "runs/demo/drawings/test", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["top1"] >= 0.6
    later = results("runs/demo").query("state > 0")
    top5 = (100 * later.groupby("method")["top5"].mean()).to_dict()
    assert all(top5[name] >= floor for name, floor in FLOOR.items()), top5
    order = ["finetune", "finetune+l2", "finetune+initial", "finetune+mean", "finetune+siw"]
    assert sorted(order, key=top5.__getitem__) == order
