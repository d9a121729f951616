"""Every command: help, bad input in one sentence, interrupts, and what is imported."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import memoryless
from conftest import call
from memoryless.cli import LABORATORY, WITH_PHOTOS, app


def commands() -> list[str]:
    return [name for name in app if not name.startswith("-")]


@pytest.mark.parametrize("command", commands())
def test_a_command_stands_in_the_file_of_its_name_and_begins_with_its_line(command):
    name = "list_names" if command == "list" else command  # list.py would hide Python's own
    face = "photos" if command in WITH_PHOTOS else "lab"
    face = {"demo": "cli", "serve": "serve"}.get(command, face)
    function = app[command].default_command
    assert function.__module__ == f"memoryless.{face}.{name}"
    docstring = " ".join(function.__doc__.partition("\n\n")[0].split())
    assert docstring == (WITH_PHOTOS | LABORATORY)[command]


@pytest.mark.parametrize("command", commands())
def test_help(command, capsys):
    code, out, _ = call(command, "--help", capsys=capsys)
    assert code == 0
    assert f"memoryless {command}" in out


def test_version(capsys):
    assert call("--version", capsys=capsys)[1].strip() == memoryless.__version__


NO_RUN = "name at least one run folder, such as runs/latest"
# What is wrong with a command, and a part of the sentence that says so.
BAD = {
    "run --states 101": "choose states from 1 to 100",
    "run --strategy finetun": "unknown strategy 'finetun'",
    "run --backbone resnet": "did you mean 'resnet18'?",
    "run --nix 3": "unknown option: --nix",
    "run --epoch 3": "unknown option: --epoch. Did you mean --epochs?",
    "run --epochs many": 'unable to convert "many" into int',
    "run --epochs 0": "epochs must be a whole number from 1, not 0",
    "run --epochs 1e3": 'unable to convert "1e3" into int',
    "paper --states 2.5": "--states must be a whole number, not 2.5",
    "run extra": "unexpected 'extra': settings are given as --name value; see --help",
    "run --data folder --root nowhere": "there is no folder or file nowhere",
    "run --config none.toml": "the config file none.toml cannot be read",
    "run --config broken.toml": "Invalid value (at line 1, column 10)",
    "run --backbone-weights no.pth": "check --backbone-weights",
    "run --device warp": "unknown device 'warp'",
    "run --order natrual": "did you mean 'natural'?",
    "run --data folder --root . --output runs/here": "lies in the folder of images",
    "run --width 99999999999999999999": "width must be a whole number up to 1000000",
    "table": NO_RUN,
    "table --methods FT here": NO_RUN,
    "compare --calibrations none here": NO_RUN,
    "report": NO_RUN,
    "figures": NO_RUN,
    "table there --methods lucir+siw": "its row heads are current",
    "table there --methods frozen+siv": "did you mean 'siw'?",
    "table there --methods inFT_swi": "did you mean 'inFT_siw'?",
    "table nowhere": "there is no run in nowhere",
    "table there --write t.xls": "unknown table format '.xls'",
    "figures . --only row": "did you mean 'rows'?",
    "list head": "did you mean 'heads'?",
    "rnu": 'unknown command "rnu". Did you mean "run"?',
    "paper --preset quickdraw": "did you mean 'quickdraw100'?",
    "paper --shard 3/2": "shard '3/2' is not i/n",
    "paper --preset ilsvrc": "needs both --train-list FILE and --test-list FILE",
}


@pytest.mark.parametrize("columns", ["0", "1"])
def test_help_ends_on_a_terminal_without_room(columns):
    command = [sys.executable, "-m", "memoryless", "learn", "--help"]
    environment = os.environ | {"COLUMNS": columns}
    done = subprocess.run(command, env=environment, capture_output=True, timeout=30, check=True)
    assert b"--image-size" in done.stdout


@pytest.mark.parametrize("command", BAD)
def test_bad_input_is_one_sentence_and_exit_code_2(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("there").mkdir()
    Path("there/run.json").touch()
    Path("broken.toml").write_text("epochs = = 3\n")
    code, _, err = call(*command.split(), capsys=capsys)
    assert code == 2
    (line,) = err.splitlines()
    assert line.startswith("memoryless: ")
    assert BAD[command] in line
    assert not Path("runs").exists()  # nothing was started


TRAINING = ("demo", "run", "paper")


@pytest.mark.parametrize("command", [*TRAINING, "table", "compare", "figures", "report", "list"])
def test_an_interrupted_command_says_what_it_leaves(command, monkeypatch, capsys):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(app), "__call__", stop)
    code, _, err = call(command, capsys=capsys)
    assert code == 130
    assert err.startswith("memoryless: interrupted; ")
    assert ("last finished epoch" in err) == (command in TRAINING)


def test_python_dash_m():
    command = [sys.executable, "-m", "memoryless", "list"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "inFT_siw_mc" in done.stdout


HELP = """
import sys
from memoryless.cli import main
main(["--help"])
commands = ("memoryless.photos", "memoryless.lab")
assert not [name for name in sys.modules if name.startswith(commands)]
assert not {"torch", "onnx", "onnxruntime", "numpy", "PIL"} & set(sys.modules)
"""


def test_the_list_of_commands_imports_none_of_them():
    subprocess.run([sys.executable, "-c", HELP], capture_output=True, check=True)


def test_commands_are_in_two_groups(capsys):
    out = call("--help", capsys=capsys)[1]
    places = [out.index(part) for part in ("With photos", " learn ", "Laboratory", " run ")]
    assert places == sorted(places)


@pytest.mark.parametrize("name", WITH_PHOTOS)
def test_usage_names_the_arguments(name, capsys):
    first = call(name, "--help", capsys=capsys)[1].strip().splitlines()[0]
    assert first.startswith(f"Usage: memoryless {name} ")
    assert "ARGS" not in first


@pytest.mark.parametrize("words", [["predict", "model", ""], ["learn", "", "photos"]])
def test_an_empty_argument_is_not_the_folder_one_is_in(words, capsys):
    code, _, err = call(*words, capsys=capsys)
    assert code == 2
    assert err.startswith("memoryless: an argument is empty")


COMPLETE = """
source "$1"
try() {
  COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _memoryless; echo "${COMPREPLY[@]}"
}
try memoryless ru
try memoryless run --epo
"""


def test_a_shell_completes_commands_and_flags(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    words = ["--install-completion", "--shell", "bash"]
    code, out, _ = call(*words, capsys=capsys)
    assert code == 0
    assert "source ~/.bashrc" in out
    (script,) = (tmp_path / ".local").rglob("memoryless")
    assert str(script) in (tmp_path / ".bashrc").read_text()
    assert all(name in script.read_text() for name in commands())
    done = subprocess.run(
        ["bash", "-c", COMPLETE, "bash", str(script)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "run\n--epochs --epochs-later\n"


def test_output_that_cannot_be_written_does_not_hide_what_was_done(cat_and_dog):
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "memoryless", "forget", "model", "cat"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert "the output could not be written (No space left on device)" in done.stderr


@pytest.mark.parametrize("error", [ImportError("KeyboardInterrupt"), SystemError()])
def test_an_interrupt_while_a_library_is_imported(error, capsys, monkeypatch):
    """Some libraries make an error of their own of it."""

    def importing(*_, **__):
        raise error from KeyboardInterrupt()

    monkeypatch.setattr("memoryless.photos.show.load_state", importing)
    assert call("show", "model", capsys=capsys)[0] == 130
