"""Every command: help, success, and bad input with the exact sentence."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

import memoryless
from conftest import make_folder
from memoryless.cli import app, main
from memoryless.cli.progress import ProgressPrinter
from memoryless.lab.runs import RunFolder
from memoryless.training import Progress

SMALL = "--data folder --image-size 8 --width 2 --states 3 --epochs 1 --lr 0.01".split()


@pytest.fixture
def photos(tmp_path, monkeypatch) -> Path:
    """A folder of three classes, in the working folder."""
    monkeypatch.chdir(tmp_path)
    return make_folder(Path("photos"))


def call(*arguments: str, capsys) -> tuple[int, str, str]:
    code = main(arguments)
    out, err = capsys.readouterr()
    return code, out, err


def commands() -> list[str]:
    return [name for name in app if not name.startswith("-")]


def test_all_commands_are_known():
    assert commands() == ["demo", "run", "paper", "table", "compare", "figures", "report", "list"]


@pytest.mark.parametrize("command", commands())
def test_help(command, capsys):
    code, out, _ = call(command, "--help", capsys=capsys)
    assert code == 0
    assert f"memoryless {command}" in out


def test_version(capsys):
    assert call("--version", capsys=capsys)[1].strip() == memoryless.__version__


def test_run_and_table(photos, capsys):
    code, out, _ = call("run", *SMALL, "--root", "photos", "--seeds", "0", "1", capsys=capsys)
    assert code == 0
    assert "runs/latest/seed-1: 3 states" in out
    assert out.endswith("done: memoryless table runs/latest\n")
    assert "\x1b" not in out  # nothing but lines when not a terminal
    code, out, _ = call("table", "runs/latest", "--write", "t.csv", "t.json", "t.md", capsys=capsys)
    assert code == 0
    assert "runs/latest: photos, 3 states, order natural, finetune, 2 seeds" in out
    assert "chance: top-1 41.7, top-5 100.0" in out
    assert "inFT_siw_mc" in out
    rows = list(csv.DictReader(Path("t.csv").read_text().splitlines()))
    assert [r["method"] for r in rows] == [
        r["method"] for r in json.loads(Path("t.json").read_text())
    ]
    assert len(rows) == 9
    assert Path("t.md").read_text().count("\n| inFT") == 8


def test_run_goes_on_where_it_stopped(photos, capsys):
    arguments = ["run", *SMALL, "--root", "photos"]
    assert call(*arguments, capsys=capsys)[0] == 0
    code, out, _ = call(*arguments, capsys=capsys)
    assert code == 0
    assert "(goes on after 3 of 3 states)" in out


def test_config_file_and_flags(photos, capsys):
    Path("e.toml").write_text(
        'data = "folder"\nroot = "photos"\nimage_size = 8\nwidth = 2\nstates = "1,2"\n'
        "epochs = 1\nseeds = [3]\nlr = 1e-2\nskip_broken = true\naugment = ['flip']\n"
    )
    code, _, _ = call("run", "--config", "e.toml", "--lr", "0.5", capsys=capsys)
    assert code == 0
    config = json.loads(Path("runs/latest/seed-3/run.json").read_text())["config"]
    assert config["lr"] == 0.5  # the flag wins
    assert config["states"] == "1,2"
    assert config["skip_broken"] is True
    assert config["augment"] == ["flip"]


def test_skip_broken_says_so(photos, capsys):
    (photos / "red" / "bad.png").write_bytes(b"no")
    arguments = ["run", *SMALL, "--root", "photos"]
    code, _, err = call(*arguments, capsys=capsys)
    assert code == 2
    assert err == (
        "memoryless: 1 entry of photos cannot be used: photos/red/bad.png (not an image); mend "
        "it, or leave it out with --skip-broken\n"
    )
    code, out, _ = call(*arguments, "--skip-broken", capsys=capsys)
    assert code == 0
    assert out.startswith("left out 1 entry of photos: photos/red/bad.png (not an image)\n")


def test_list_names_everything(capsys):
    code, out, _ = call("list", capsys=capsys)
    assert code == 0
    for word in ("quickdraw100", "seed:N", "resnet18_3x3", "finetune", "siw", "mc", "inFT_L2_mc"):
        assert word in out


NO_RUN = "name at least one run folder, before flags that take several words: RUN --methods FT"
BAD = {
    "run --states 101": "101 states cannot be made of 100 classes: choose states from 1 to 100",
    "run --strategy finetun": (
        "unknown strategy 'finetun': choose from finetune, lwf, lwf_kd, lucir, frozen, joint, "
        "independent, replay; did you mean 'finetune'?"
    ),
    "run --nix 3": "unknown option: --nix.",
    "run --epoch 3": "unknown option: --epoch. Did you mean --epochs?",
    "run --epochs many": 'invalid value for --epochs: unable to convert "many" into int.',
    "run --epochs 0": "epochs must be from 1 to 1,000,000, not 0",
    "run --epochs 1.5": "--epochs must be a whole number, not 1.5",
    "run --epochs 1e3": "--epochs must be a whole number, not 1e3",
    "run --seeds 0 1.5": "--seeds must be a whole number, not 1.5",
    "paper --states 2.5": "--states must be a whole number, not 2.5",
    "run --config rounded.toml": "--epochs must be a whole number, not 1.5",
    "run extra": "unexpected 'extra': settings are given as --name value; see --help",
    "run --data folder --root nowhere": "there is no folder nowhere: check --root",
    "run --config none.toml": "there is no config file none.toml: check --config",
    "run --config wrong.toml": (
        'unknown option: "[epoch]" from wrong.toml. Did you mean --epochs?'
    ),
    "run --config broken.toml": (
        "the config file broken.toml cannot be read: Invalid value (at line 1, column 10)"
    ),
    "run --backbone-weights no.pth": "there is no weights file no.pth: check --backbone-weights",
    "run --device warp": "unknown device 'warp': choose auto, cpu, cuda, cuda:N or mps",
    "run --order natrual": (
        "unknown order 'natrual': choose natural, seed:N with a number N, belouadah, or a file "
        "with one class a line; did you mean 'natural'?"
    ),
    "run --config tables.toml": (
        "the config file tables.toml has run, which is no setting: keys stand at the top, each one "
        "of the flags of memoryless run"
    ),
    "run --data folder --root . --output runs/here": (
        "output runs/here lies in the folder of images: move it outside"
    ),
    "run --width 99999999999999999999": (
        "width must be from 1 to 1,000,000, not 99999999999999999999"
    ),
    "table": NO_RUN,
    "table --methods FT here": NO_RUN,
    "compare --calibrations none here": NO_RUN,
    "table there --methods lucir+siw": (
        "head siw has no meaning for lucir: its row heads are current"
    ),
    "table there --methods frozen+siv": (
        "unknown head, calibration or transport 'siv': choose from current, initial, l2, mean, "
        "min_max, siw, ncm, lda, mahalanobis, rda, ridge, fetril, gaussian_replay, projection, "
        "none, mc, bg_z, block_z, energy, linear, widened, sdc, backward; did you "
        "mean 'siw'?"
    ),
    "table nowhere": "there is no run in nowhere: name a folder that memoryless run wrote",
    "table there --write t.xls": (
        "unknown table format '.xls': choose from .csv, .json, .md, .tex (the ending of "
        "t.xls says which)"
    ),
    "report": NO_RUN,
    "figures": NO_RUN,
    "compare --calibrations none": NO_RUN,
    "figures . --only row": (
        "unknown figure 'row': choose from magnitudes, similarity, rows, accuracy, confusion, "
        "pareto; did you mean 'rows'?"
    ),
    "list all": "unexpected 'all': settings are given as --name value; see --help",
    "demo --outptu x": "unknown option: --outptu. Did you mean --output?",
    "rnu": (
        'unknown command "rnu". Did you mean "run"? Available commands: demo, run, paper, table, '
        "compare, figures, report, list."
    ),
    "paper --preset quickdraw": (
        "unknown preset 'quickdraw': choose from cifar100, ilsvrc, vggface2, landmarks, "
        "cifar100-cpu, quickdraw100; did you mean 'quickdraw100'?"
    ),
    "paper --shard 3/2": "shard '3/2' is not i/n with i from 1 to n, such as 1/4",
    "paper --strategies lwff": (
        "unknown strategy 'lwff': choose from finetune, lwf, lwf_kd, lucir, frozen, joint, "
        "independent, replay; did you mean 'lwf'?"
    ),
    "paper --preset ilsvrc": "data = list needs both --train-list FILE and --test-list FILE",
}


@pytest.mark.parametrize("command", BAD)
def test_bad_input_is_one_sentence_and_exit_code_2(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("there").mkdir()
    Path("there/run.json").touch()
    Path("wrong.toml").write_text("epoch = 3\n")
    Path("rounded.toml").write_text("epochs = 1.5\n")
    Path("tables.toml").write_text("[run]\nepochs = 3\n")
    Path("broken.toml").write_text("epochs = = 3\n")
    code, _, err = call(*command.split(), capsys=capsys)
    assert code == 2
    assert err == f"memoryless: {BAD[command]}\n"
    assert list(tmp_path.glob("runs")) == []  # nothing was started


def test_an_output_that_cannot_be_written(photos, capsys):
    Path("runs").write_text("a file in the way")
    code, _, err = call("run", *SMALL, "--root", "photos", capsys=capsys)
    assert code == 2
    assert err == (
        "memoryless: cannot write runs/latest/seed-0 (Not a directory): choose another --output\n"
    )


def test_include_first_counts_the_first_state(photos, capsys):
    assert main(["run", *SMALL, "--root", "photos"]) == 0
    for flag, count in (([], 2), (["--include-first"], 3)):
        assert main(["table", "runs/latest", "--write", "t.json", *flag]) == 0
        states = RunFolder(Path("runs/latest/seed-0")).results()[-count:]
        row = json.loads(Path("t.json").read_text())[0]
        assert row["top1"] == pytest.approx(sum(s["methods"]["FT"]["top1"] for s in states) / count)
        assert row["last_top1"] == states[-1]["methods"]["FT"]["top1"]
    capsys.readouterr()


def test_progress_tells_the_time_left(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("memoryless.cli.progress.time.perf_counter", lambda: now[0])
    screen = io.StringIO()
    with ProgressPrinter(Console(file=screen, width=200)) as printer:
        printer.run_started(Path("there"), work=[100, 300], finished=0)
        printer.training(Progress(0, epoch=0, epochs=2, share=0.0, loss=2.5, images_per_second=9))
        now[0] += 20
        printer.training(Progress(0, epoch=1, epochs=2, share=1.0, loss=1.5, images_per_second=9))
    lines = screen.getvalue().splitlines()
    assert lines[1] == "state 0 (0 to 1), epoch 1/2, loss 2.500, 9 images/s, ? left"
    # a quarter of the work in 20 seconds
    assert lines[2] == "state 0 (0 to 1), epoch 2/2, loss 1.500, 9 images/s, 0:01:00 left"


def test_interrupt(photos, capsys, monkeypatch):
    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("memoryless.lab.experiment.run", stop)
    code, _, err = call("run", *SMALL, "--root", "photos", capsys=capsys)
    assert code == 130
    assert "the same command goes on from the last finished epoch" in err


def test_python_dash_m():
    command = [sys.executable, "-m", "memoryless", "list"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "inFT_siw_mc" in done.stdout


def test_help_does_not_wait_for_torch():
    code = "import sys, memoryless.cli; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
