"""memoryless table: what stored results need, and methods that the runs cannot give."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import make_toy
from memoryless.cli import main
from memoryless.data import SOURCES, Source
from memoryless.lab.analysis.summary import summarise
from memoryless.lab.analysis.table import grids
from memoryless.lab.experiment import run
from memoryless.lab.runs import RunFolder

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
    assert main(["table", sys.argv[1], "--show", show, "--write", *files]) == 0
assert not [name for name in sys.modules if name.split(".")[0] == "torch"]
"""


def test_stored_results_are_shown_without_torch(finished, tmp_path):
    command = [sys.executable, "-c", WITHOUT_TORCH, str(finished.path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    for part in ("inFT_siw_mc", "against FT", "c(p)", "data sets"):
        assert part in done.stdout
    assert len(list(tmp_path.glob("*.*"))) == 16
    stored = finished.results()[-1]["methods"]["FT"]
    row = json.loads((tmp_path / "accuracy.json").read_text())[0]
    assert row["last_top1"] == stored["top1"]
    assert row["bytes_kept"] == stored["bytes"]


@pytest.fixture
def runs(tiny, tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(SOURCES, "toy", Source(lambda config: make_toy(), 8))
    run(replace(tiny, data="toy", output=Path("runs/ft")))
    return Path("runs")


WRONG = (
    "memoryless: the runs there are of the strategy finetune, and the method lwf+siw is of lwf: "
    "name methods of finetune, or runs of lwf\n"
)


@pytest.mark.parametrize(
    "command",
    ["table", "table --show paired", "table --show typology", "compare", "report"],
)
def test_methods_of_another_strategy_are_called_that(command, runs, capsys):
    name, *flags = command.split()
    assert main([name, str(runs), *flags, "--methods", "FT", "lwf+siw"]) == 2
    assert capsys.readouterr().err == WRONG


def test_methods_of_two_strategies(tiny, runs, capsys):
    run(replace(tiny, data="toy", strategy="lwf", output=Path("runs/lwf")))
    assert main(["table", "runs", "--methods", "FT", "lwf+siw"]) == 0
    assert "inLwF_siw" in capsys.readouterr().out
    assert main(["table", "runs", "--methods", "LUCIR"]) == 2
    assert (
        "are of the strategy finetune and lwf, and the method LUCIR is of lucir: name methods "
        in (capsys.readouterr().err)
    )


@pytest.mark.parametrize("command", ["table", "table --show typology", "compare"])
def test_a_method_has_one_name(command, runs, capsys):
    """The paper's, wherever it has one."""
    name, *flags = command.split()
    assert main([name, str(runs), *flags, "--methods", "FT", "finetune+siw", "finetune"]) == 0
    out = capsys.readouterr().out
    assert "inFT_siw" in out
    assert "finetune+siw" not in out


def test_combinations_have_the_names_of_the_paper(runs, capsys):
    assert main(["compare", str(runs), "--calibrations", "all", "--write", "t.json"]) == 0
    methods = [record["method"] for record in json.loads(Path("t.json").read_text())]
    assert {"FT", "inFT", "inFT_siw_mc", "finetune+siw+block_z"} <= set(methods)
    assert not {"finetune", "finetune+initial", "finetune+siw+mc"} & set(methods)
    assert "best top1 on the test images first" in capsys.readouterr().out


def test_one_state_is_one(tiny, toy):
    (grid,) = grids(summarise([RunFolder(run(replace(tiny, states="1"), toy)[0])]))
    assert "toy, 1 state, order natural" in grid.title


def test_nothing_there_yet(runs, capsys):
    (runs / "ft/seed-0/states").rename(runs / "ft/seed-0/gone")
    assert main(["table", str(runs)]) == 2
    assert capsys.readouterr().err == (
        "memoryless: the runs there have nothing of that yet: let memoryless run go on\n"
    )


def test_the_command_that_shows_a_run_is_quoted(tiny, runs, capsys):
    words = "run --data toy --states 2 --width 1 --epochs 1 --output".split()
    assert main([*words, "a b;\x1b"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(r"a b;\x1b/seed-0: 2 states")
    assert out.endswith("done: memoryless table 'a b;\\x1b'\n")


def test_control_signs_of_a_folder_are_shown(runs, capsys):
    Path("runs/ft").rename("runs/\x1b[31mred")
    assert main(["table", "runs", "--write", "t.md", "t.csv", "t.tex"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert r"runs/\x1b[31mred: toy" in out
    for ending in ("md", "csv", "tex"):
        assert "\x1b" not in Path(f"t.{ending}").read_text()
