"""Tables hold the figures that they print, name their protocol and fit a terminal."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from conftest import FakeRun
from memoryless.cli import main
from memoryless.lab.comparison import comparisons
from memoryless.lab.experiment import run
from memoryless.lab.frame import TYPOLOGY
from memoryless.lab.table import (
    data_table,
    image_shares,
    interval,
    method_table,
    paired_tables,
    typology_tables,
)

VALUES = {
    "finetune": [90.0, 20.0, 10.0],
    "finetune+initial+mc": [90.0, 50.0, 40.0],
    "finetune+siw": [90.0, 40.0, 30.0],
    "finetune+gaussian_replay+widened": [90.0, 60.0, 50.0],
}
CONTROL = FakeRun({"untrained+lda": [60.0, 50.0, 40.0]}, "u/s", config={"strategy": "untrained"})
JOINT = FakeRun({"joint": [80.0]}, "j/s", config={"strategy": "joint"}, memoryless=False)


def table(*runs: FakeRun, every: bool = False):
    return method_table(*comparisons(runs), every)


def test_a_table_by_hand():
    shown = table(FakeRun(VALUES), CONTROL, JOINT)
    assert shown.title == "toy, 3 states, 1 seed; percent, average of states 1-2"
    assert shown.columns == ["method", "top-1", "kept", "A_inc", "A_last", "top-5", "lost", ""]
    assert shown.rows == [
        ["untrained+lda", "45.0", "300 bytes", "50.0", "40.0", "22.5", "15.0", "control"],
        ["finetune+siw", "35.0", "300 bytes", "53.3", "30.0", "17.5", "35.0", "reference"],
        ["finetune", "15.0", "300 bytes", "40.0", "10.0", "7.5", "45.0", ""],
        ["chance", "20.8", "", "", "", "91.7", "", ""],
        ["Full", "", "images", "", "80.0", "", "", "not memoryless"],
    ]
    for part in ("resnet18_3x3, width 2, epochs 2 (later 2)", "seeds 0", "shows 2 more"):
        assert part in shown.caption
    assert shown.kinds["finetune+siw"] == "reference"
    assert len(table(FakeRun(VALUES), CONTROL, every=True).rows) == 6
    assert shown.figures["top1"].tolist() == [0.45, 0.35, 0.15]
    assert shown.figures["role"].tolist() == ["control", "reference", ""]


def test_one_state_has_no_average():
    shown = table(JOINT)
    assert shown.columns == ["method", "top-1", "kept", "top-5", ""]
    assert shown.rows[0] == ["joint", "80.0", "images", "40.0", "not memoryless"]
    assert "reference" not in shown.caption


def test_typology_has_the_stored_percentages():
    (first, second) = typology_tables([FakeRun(VALUES, "a/s"), FakeRun(VALUES, "b/s", seed=1)])
    assert first.title == "a/s: answers after state 2"
    assert [row[0] for row in first.rows] == ["finetune", "finetune+siw"]
    stored = FakeRun(VALUES).results()[2].methods["finetune"].typology
    assert first.rows[0][1:] == [f"{getattr(stored, kind):.1f}" for kind in TYPOLOGY.values()]
    assert second.figures["seed"].unique().tolist() == [1]
    assert sorted(first.figures["state"].unique()) == [1, 2]
    assert first.figures["past"].tolist()[-1] == pytest.approx(0.3)
    (every,) = typology_tables([FakeRun(VALUES)], every=True)
    assert len(every.rows) == 4
    assert typology_tables([JOINT]) == []


def test_images_of_data_sets():
    run = FakeRun(VALUES, train_images=[10, 20, 30], test_images=[1, 2, 3])
    shown = data_table([run, run, FakeRun(VALUES, dataset="other")])
    assert shown.rows[0] == ["toy", "3", "60", "6", "20.00", f"{np.std([10, 20, 30]):.2f}"]
    assert [row[0] for row in shown.rows] == ["toy", "other"]


def test_the_interval_adds_variances_of_images_and_seeds():
    low, high = interval(np.array([[1.0, 0.0, 0.0, 0.0]]))
    assert (low + high) / 2 == 1
    assert (high - low) / 2 == pytest.approx(1.96 * (4 * 0.25) ** 0.5)
    low, high = interval(np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 3.0]]))
    images = 4 * np.var([0.5, 0, 0, 1.5], ddof=1)
    assert (low + high) / 2 == 2
    assert (high - low) / 2 == pytest.approx(1.96 * (images + 2 / 2) ** 0.5)


def test_pairs_of_a_finished_run(finished):
    (made,) = paired_tables(comparisons([finished], ["finetune", "finetune+siw"]))
    stored = [state.methods for state in finished.results()[1:]]
    gains = [s["finetune+siw"].top1 - s["finetune"].top1 for s in stored]
    (row,) = made.figures.itertuples()
    assert (row.method, row.against, row.pairs) == ("finetune+siw", "finetune", 2)
    assert row.difference == pytest.approx(sum(gains) / 200)
    assert row.low < row.difference < row.high
    assert row.better == sum(gain > 0 for gain in gains)


WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None
from memoryless.cli import main

for show in ("accuracy", "paired", "typology", "data"):
    files = [f"{show}.{form}" for form in ("csv", "json", "md", "tex")]
    assert main(["table", sys.argv[1], "--all", "--show", show, "--write", *files]) == 0
"""


def test_stored_results_are_shown_without_torch(finished, tmp_path):
    command = [sys.executable, "-c", WITHOUT_TORCH, str(finished.path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    for part in ("finetune+siw+mc", "against finetune", "c(p)", "data sets"):
        assert part in done.stdout
    assert len(list(tmp_path.glob("*.*"))) == 16
    stored = finished.results()[-1].methods["finetune+siw"]
    rows = json.loads((tmp_path / "accuracy.json").read_text())
    (row,) = [row for row in rows if row["method"] == "finetune+siw"]
    assert row["A_last"] == pytest.approx(stored.top1 / 100)
    assert row["bytes"] == stored.bytes


READERS = ["table", "table --show paired", "table --show typology", "compare", "report"]


@pytest.mark.parametrize("command", READERS)
def test_methods_of_another_strategy_are_called_that(command, toy_runs, capsys):
    name, *flags = command.split()
    assert main([name, str(toy_runs), *flags, "--methods", "FT", "lwf+siw"]) == 2
    assert "lwf+siw needs a run of the strategy lwf" in capsys.readouterr().err


def test_methods_of_two_strategies(tiny, toy_runs, capsys):
    run(replace(tiny, data="toy", strategy="lwf", epochs=1, output=Path("runs/lwf")))
    assert main(["table", "runs", "--methods", "FT", "lwf+siw"]) == 0
    assert "lwf+siw" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["table", "table --show typology", "compare"])
def test_a_method_has_one_name(command, toy_runs, capsys):
    """The composed one; the paper's is taken for it."""
    name, *flags = command.split()
    assert main([name, str(toy_runs), *flags, "--methods", "FT", "inFT_siw", "finetune+siw"]) == 0
    out = capsys.readouterr().out
    assert out.count("finetune+siw ") == 1
    assert "inFT" not in out


def test_nothing_there_yet(toy_runs, capsys):
    (toy_runs / "ft/seed-0/states").rename(toy_runs / "ft/seed-0/gone")
    assert main(["table", str(toy_runs)]) == 2
    assert "start memoryless run again" in capsys.readouterr().err


def test_control_signs_of_a_folder_are_shown(toy_runs, capsys):
    Path("runs/ft").rename("runs/\x1b[31mred")
    words = ["table", "runs", "--show", "typology", "--write", "t.md", "t.csv", "t.tex"]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert r"runs/\x1b[31mred" in out.replace("\n", "")
    for ending in ("md", "csv", "tex"):
        assert "\x1b" not in Path(f"t.{ending}").read_text()


def test_images_share_the_average_accuracy(finished):
    """What each image adds is in the order of classes, and sums up to the average."""
    for k in (1, 5):
        shares = image_shares(finished, ["finetune", "finetune+siw"], k)
        for name, own in shares.items():
            later = [getattr(state.methods[name], f"top{k}") for state in finished.results()[1:]]
            assert own.sum() == pytest.approx(sum(later) / 2)
            assert {*own[-8:].round(9)} <= {0, round(100 / 24 / 2, 9)}  # classes of the last state
