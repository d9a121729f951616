"""Values from a TOML file, and whole numbers: what is wrong is one sentence with exit code 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from memoryless.cli import main
from memoryless.lab.config import Config

UNREADABLE = "the config file x.toml cannot be read: "
BAD = {
    "deep lists": (b"augment = " + b"[" * 20_000 + b"]" * 20_000, UNREADABLE),
    "5,000 digits": (b"epochs = " + b"1" * 5_000, UNREADABLE),
    "5,000 hexadecimal digits": (b"epochs = 0x" + b"f" * 5_000, UNREADABLE),
    "a folder": (None, UNREADABLE + "Is a directory"),
    "no text": (b"\xff\xfe\x00", UNREADABLE),
    "a list of states": (b"states = [2, 2]", "the config file x.toml has a list of states"),
    "an unknown key": (b"epoch = 3", 'unknown option: "[epoch]" from x.toml. Did you mean --epoch'),
    "a table": (b"[run]\nepochs = 3", "the config file x.toml has run, which is no setting"),
    "text for a number": (b"epochs = 'many'", "invalid value"),
    "a fraction": (b"epochs = 1.5", "--epochs must be a whole number, not 1.5"),
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
    content, start = BAD[name]
    Path("x.toml").mkdir() if content is None else Path("x.toml").write_bytes(content + b"\n")
    assert main(["run", "--config", "x.toml"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"memoryless: {start}")
    assert ran == []


def test_flags_win_over_the_file(ran):
    """A byte order mark is no part of the text."""
    text = 'states = "50,50"\nepochs = 3\nseeds = [3]\nlr = 1e-2\nskip_broken = true\n'
    Path("x.toml").write_text(text + "augment = ['flip']\n", encoding="utf-8-sig")
    assert main(["run", "--config", "x.toml", "--lr", "0.5", "--no-control"]) == 0
    (config,) = ran
    assert (config.states, config.epochs, config.seeds) == ("50,50", 3, (3,))
    assert (config.lr, config.skip_broken, config.augment) == (0.5, True, ("flip",))
