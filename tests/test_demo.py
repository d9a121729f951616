"""The demo shows what it promises."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memoryless.cli import main
from memoryless.cli.demo import SETTINGS
from memoryless.lab.analysis.summary import summarise
from memoryless.lab.runs import find_runs

# Top-5 average incremental accuracy that an untuned trial reached. FT, the baseline that knows only
# its last state, has no floor: all the others must stand above it.
FLOOR = {"inFT": 42.9, "inFT_L2": 41.2, "inFT_mean": 47.3, "inFT_siw": 47.6}


def test_demo_shows_table_sketch_bytes_and_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    small = {"width": 1, "image_size": 8, "epochs": 1, "epochs_later": 1, "states": "2"}
    for name, value in small.items():
        monkeypatch.setitem(SETTINGS, name, value)
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
def test_demo_reaches_its_level(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    top5 = {row.method: row.top5 for row in summarise(find_runs([Path("runs/demo")]))}
    assert all(top5[name] >= floor for name, floor in FLOOR.items()), top5
    order = ["FT", "inFT_L2", "inFT", "inFT_mean", "inFT_siw"]
    assert sorted(order, key=top5.__getitem__) == order
