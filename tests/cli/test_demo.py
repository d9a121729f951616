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
from memoryless.lab.runs import RunFolder
from memoryless.stats.methods import headline

demo = import_module("memoryless.cli.demo")  # the command has the name of its module

# Top-5 average incremental accuracy that an untuned trial reached. FT, the baseline that knows only
# its last state, has no floor: all the others must stand above it.
FLOOR = {
    "finetune+initial": 42.9,
    "finetune+l2": 41.2,
    "finetune+mean": 47.3,
    "finetune+siw": 47.6,
}


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


def test_demo_shows_table_bytes_and_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    small = {"width": 1, "image_size": 8, "epochs": 1, "epochs_later": 1, "states": "2"}
    for name, value in small.items():
        monkeypatch.setitem(demo.SETTINGS, name, value)
    monkeypatch.setattr(demo, "_show_photos", lambda drawings, model: None)
    assert main(["demo", "--output", "a demo"]) == 0
    out = capsys.readouterr().out
    methods = headline(RunFolder(Path("a demo/seed-0")).results()[-1].methods)
    for part in (
        "1 seed; percent",
        "its images would have taken 6.3 MB",
        "the run is in a demo/seed-0: memoryless table 'a demo/seed-0'\n",
    ):
        assert part in out
    told = " ".join(out.split())
    assert (
        "The reference method was fixed in advance. The control is a network that never learned"
    ) in told
    assert "Full is from docs/results.md, not run here" in told
    assert out.endswith("the report is a demo/report.html: open it in a browser\n")
    assert Path("a demo/report.html").read_text().startswith("<!")
    assert json.loads(Path("a demo/seed-0/run.json").read_text())["seed"] == 0
    shown = out[out.index("quickdraw100, 2 states") : out.index("resnet18_3x3, width")]
    rows = {line.split()[0]: line.split()[1:] for line in shown.splitlines()[2:]}
    assert {*rows} == {*methods, "untrained+lda", "Full", "chance"}
    assert rows.pop("Full") == [str(demo.FULL_TOP1), "images"]
    assert rows.pop("chance") == ["1.0", "5.0"]
    top1 = [float(row[0]) for row in rows.values()]
    assert top1 == sorted(top1, reverse=True)


@pytest.mark.slow
def test_demo_reaches_its_level(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    capsys.readouterr()
    assert main(["evaluate", "runs/demo/sketches", "runs/demo/drawings/test", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["top1"] >= 60
    later = results("runs/demo").query("state > 0")
    top5 = (100 * later.groupby("method")["top5"].mean()).to_dict()
    assert all(top5[name] >= floor for name, floor in FLOOR.items()), top5
    order = ["finetune", "finetune+l2", "finetune+initial", "finetune+mean", "finetune+siw"]
    assert sorted(order, key=top5.__getitem__) == order
