"""memoryless table: what stored results need, and methods that the runs cannot give."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import PHOTO_FLAGS
from memoryless.cli import main
from memoryless.lab.config import Config
from memoryless.lab.experiment import run
from memoryless.lab.runs import RunFolder


def test_not_memoryless_is_said(tmp_path, toy_source, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for strategy in ("replay", "frozen"):
        config = Config(data="toy", strategy=strategy, states="2", epochs=1, width=1)
        run(replace(config, output=Path(strategy)))
        assert main(["table", strategy]) == 0
        assert ("not memoryless" in capsys.readouterr().out) == (strategy == "replay")


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
    for part in ("inFT_siw_mc", "against FT", "c(p)", "data sets"):
        assert part in done.stdout
    assert len(list(tmp_path.glob("*.*"))) == 16
    stored = finished.results()[-1].methods["FT"]
    row = json.loads((tmp_path / "accuracy.json").read_text())[0]
    assert row["last_top1"] == stored.top1
    assert row["bytes_kept"] == stored.bytes


WRONG = (
    "memoryless: the runs there are of the strategy finetune, and the method lwf+siw is of lwf: "
    "name methods of finetune, or runs of lwf\n"
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
    assert "inLwF_siw" in capsys.readouterr().out
    assert main(["table", "runs", "--methods", "LUCIR"]) == 2
    assert (
        "are of the strategy finetune and lwf, and the method LUCIR is of lucir: name methods "
        in (capsys.readouterr().err)
    )


@pytest.mark.parametrize("command", ["table", "table --show typology", "compare"])
def test_a_method_has_one_name(command, toy_runs, capsys):
    """The paper's, wherever it has one."""
    name, *flags = command.split()
    assert main([name, str(toy_runs), *flags, "--methods", "FT", "finetune+siw", "finetune"]) == 0
    out = capsys.readouterr().out
    assert "inFT_siw" in out
    assert "finetune+siw" not in out


def test_nothing_there_yet(toy_runs, capsys):
    (toy_runs / "ft/seed-0/states").rename(toy_runs / "ft/seed-0/gone")
    assert main(["table", str(toy_runs)]) == 2
    assert capsys.readouterr().err == (
        "memoryless: the runs there have nothing of that yet: let memoryless run go on\n"
    )


def test_control_signs_of_a_folder_are_shown(toy_runs, capsys):
    Path("runs/ft").rename("runs/\x1b[31mred")
    assert main(["table", "runs", "--all", "--write", "t.md", "t.csv", "t.tex"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert r"runs/\x1b[31mred: toy" in out
    for ending in ("md", "csv", "tex"):
        assert "\x1b" not in Path(f"t.{ending}").read_text()


def test_include_first_counts_the_first_state(photos, capsys):
    assert main(["run", *PHOTO_FLAGS, "--root", "photos"]) == 0
    for flag, count in (([], 2), (["--include-first"], 3)):
        assert main(["table", "runs/latest", "--write", "t.json", *flag]) == 0
        states = RunFolder(Path("runs/latest/seed-0")).results()[-count:]
        rows = json.loads(Path("t.json").read_text())
        row = next(row for row in rows if row["method"] == "FT")
        assert row["top1"] == pytest.approx(sum(s.methods["FT"].top1 for s in states) / count)
        assert row["last_top1"] == states[-1].methods["FT"].top1
    capsys.readouterr()
