"""memoryless table: what stored results need, and methods that the runs cannot give."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from memoryless.cli import main
from memoryless.lab.config import Config
from memoryless.lab.experiment import run


def test_not_memoryless_is_said(tmp_path, toy_source, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for strategy in ("replay", "frozen"):
        config = Config(data="toy", strategy=strategy, states="2", epochs=1, width=1)
        run(replace(config, output=Path(strategy)))
        assert main(["table", strategy]) == 0
        assert ("kept images of the past" in capsys.readouterr().out) == (strategy == "replay")


WITHOUT_TORCH = """
import sys

class NoTorch:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "torch":
            raise ImportError("torch is not to be imported")

sys.meta_path.insert(0, NoTorch())
from memoryless.cli import main

for show in ("accuracy", "paired", "typology", "data"):
    files = [f"{show}.{form}" for form in ("csv", "json", "md", "tex")]
    assert main(["table", sys.argv[1], "--all", "--show", show, "--write", *files]) == 0
assert not [name for name in sys.modules if name.split(".")[0] == "torch"]
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


WRONG = (
    "memoryless: the method lwf+siw needs a run of the strategy lwf, and the runs there are of "
    "finetune: name methods of finetune, or runs of lwf\n"
)


@pytest.mark.parametrize(
    "command",
    ["table", "table --show paired", "table --show typology", "compare", "report"],
)
def test_methods_of_another_strategy_are_called_that(command, toy_runs, capsys):
    name, *flags = command.split()
    assert main([name, str(toy_runs), *flags, "--methods", "FT", "lwf+siw"]) == 2
    assert capsys.readouterr().err == WRONG


def test_methods_of_two_strategies(tiny, toy_runs, capsys):
    run(replace(tiny, data="toy", strategy="lwf", output=Path("runs/lwf")))
    assert main(["table", "runs", "--methods", "FT", "lwf+siw"]) == 0
    assert "lwf+siw" in capsys.readouterr().out
    assert main(["table", "runs", "--methods", "LUCIR"]) == 2
    assert "LUCIR needs a run of the strategy lucir" in capsys.readouterr().err


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
    assert capsys.readouterr().err == (
        "memoryless: the runs there have nothing of that yet: let memoryless run go on\n"
    )


def test_control_signs_of_a_folder_are_shown(toy_runs, capsys):
    Path("runs/ft").rename("runs/\x1b[31mred")
    words = ["table", "runs", "--show", "typology", "--write", "t.md", "t.csv", "t.tex"]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert r"runs/\x1b[31mred" in out.replace("\n", "")
    for ending in ("md", "csv", "tex"):
        assert "\x1b" not in Path(f"t.{ending}").read_text()
