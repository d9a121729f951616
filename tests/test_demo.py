"""The demo shows what it promises."""

from __future__ import annotations

import json
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest

from memoryless import Model
from memoryless.cli import main
from memoryless.data import samples
from memoryless.lab.analysis.summary import summarise
from memoryless.lab.runs import find_runs

demo = import_module("memoryless.cli.demo")  # the command has the name of its module

# Top-5 average incremental accuracy that an untuned trial reached. FT, the baseline that knows only
# its last state, has no floor: all the others must stand above it.
FLOOR = {"inFT": 42.9, "inFT_L2": 41.2, "inFT_mean": 47.3, "inFT_siw": 47.6}


def test_demo_teaches_a_model_in_two_states_and_keeps_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    few = partial(samples.write_samples, classes=6, per_class=8, test_per_class=1)
    monkeypatch.setattr(samples, "write_samples", few)
    laboratory: list[Path] = []
    monkeypatch.setattr(demo, "_show_laboratory", laboratory.append)
    assert main(["demo", "--output", "a demo"]) == 0
    out = capsys.readouterr().out
    commands = [line for line in out.splitlines() if line.startswith("$ ")]
    assert commands == [
        "$ memoryless learn 'a demo/sketches' 'a demo/drawings/first'",
        "$ memoryless learn 'a demo/sketches' 'a demo/drawings/later'",
        "$ memoryless predict 'a demo/sketches' 'a demo/drawings/test/ant'",
        "$ memoryless evaluate 'a demo/sketches' 'a demo/drawings/test'",
    ]
    assert "\nOf 6 photos of 6 classes, " in out
    assert out.endswith(
        "the model is in a demo/sketches and needs no drawing any more; the drawings are in "
        "a demo/drawings\n\n"
    )
    model = Model.load("a demo/sketches")
    assert (len(model.classes), model.class_state) == (6, (0, 0, 0, 1, 1, 1))
    assert main(["demo", "--output", "a demo"]) == 0  # what is learned is not learned again
    again = capsys.readouterr().out
    assert [line for line in again.splitlines() if line.startswith("$ ")] == commands[2:]
    assert again == out[out.index(commands[2]) :]
    assert laboratory == [Path("a demo")] * 2


def test_demo_shows_table_sketch_bytes_and_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    small = {"width": 1, "image_size": 8, "epochs": 1, "epochs_later": 1, "states": "2"}
    for name, value in small.items():
        monkeypatch.setitem(demo.SETTINGS, name, value)
    monkeypatch.setattr(demo, "_show_photos", lambda drawings, model: None)
    assert main(["demo", "--output", "a demo"]) == 0
    out = capsys.readouterr().out
    for part in (
        "inFT_siw_mc",
        "chance: top-1 1.0, top-5 5.0",
        "top-5 accuracy (%) over all classes seen so far",
        "o FT   x inFT   + inFT_siw",
        # 100 rows of 8, biases and states of classes, two mu
        "kept of the past: 4,408 bytes for all methods together",
        "its images would have taken 6,272,000 bytes",
        "best top-1 on the test images",
        "the run is in a demo/seed-0: memoryless table 'a demo/seed-0'\n",
    ):
        assert part in out
    assert json.loads(Path("a demo/seed-0/run.json").read_text())["seed"] == 0


@pytest.mark.slow
def test_demo_reaches_its_level(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    capsys.readouterr()
    assert main(["evaluate", "runs/demo/sketches", "runs/demo/drawings/test", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["top1"] >= 60
    top5 = {row.method: row.top5 for row in summarise(find_runs([Path("runs/demo")]))}
    assert all(top5[name] >= floor for name, floor in FLOOR.items()), top5
    order = ["FT", "inFT_L2", "inFT", "inFT_mean", "inFT_siw"]
    assert sorted(order, key=top5.__getitem__) == order
