"""A TOML file gives flags their values, or one sentence says what is wrong with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import call
from memoryless.cli import main
from memoryless.lab.config import Config

BAD = {
    "deep lists": (
        b"augment = " + b"[" * 20_000 + b"]" * 20_000,
        "the config file x.toml cannot be read: its values are nested too deeply",
    ),
    "deep tables": (
        b"augment = " + b"{a=" * 20_000 + b"1" + b"}" * 20_000,
        "the config file x.toml cannot be read: its values are nested too deeply",
    ),
    "5,000 digits": (
        b"epochs = " + b"1" * 5_000,
        "the config file x.toml cannot be read: it has a number of more than 4,300 digits",
    ),
    "5,000 hexadecimal digits": (
        b"epochs = 0x" + b"f" * 5_000,
        "the config file x.toml cannot be read: it has a number of more than 4,300 digits",
    ),
    "a list of states": (
        b"states = [2, 2]",
        'the config file x.toml gives states as a list: write states = "2,2"',
    ),
    "a folder": (
        None,
        "the config file x.toml cannot be read: [Errno 21] Is a directory: 'x.toml'",
    ),
    "no text": (
        b"\xff\xfe\x00",
        "the config file x.toml cannot be read: 'utf-8' codec can't decode byte 0xff in position "
        "0: invalid start byte",
    ),
}


@pytest.fixture
def ran(tmp_path, monkeypatch) -> list[Config]:
    """The configs that would have been run."""
    monkeypatch.chdir(tmp_path)
    configs: list[Config] = []
    monkeypatch.setattr(
        "memoryless.lab.experiment.run", lambda *given: configs.append(given[0]) or []
    )
    return configs


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_one_sentence(name, ran, capsys):
    content, message = BAD[name]
    Path("x.toml").mkdir() if content is None else Path("x.toml").write_bytes(content + b"\n")
    assert main(["run", "--config", "x.toml"]) == 2
    assert capsys.readouterr().err == f"memoryless: {message}\n"
    assert ran == []


def test_a_byte_order_mark_is_no_part_of_the_text(ran):
    Path("x.toml").write_bytes(b'\xef\xbb\xbfstates = "50,50"\nepochs = 3\n')
    assert main(["run", "--config", "x.toml"]) == 0
    assert (ran[0].states, ran[0].epochs) == ("50,50", 3)


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
