"""Whole numbers are whole, in flags, lists and files."""

from __future__ import annotations

import pytest

from memoryless.cli import main


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        *(("--epochs", text) for text in ("1.5", "1.0", "1e3", "1E3", "3.", ".5", "+2.5", "1_0.5")),
        ("--seeds", "0.5"),
        ("--threads", "2.5"),  # one that may be left open
    ],
)
def test_a_fraction_is_refused_and_not_rounded(flag, value, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["run", f"{flag}={value}"]) == 2
    expected = f"memoryless: {flag} must be a whole number, not {value}\n"
    assert capsys.readouterr().err == expected


@pytest.mark.parametrize("flag", ["--lr", "--held-out"])
def test_other_numbers_may_have_one(flag, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = []
    monkeypatch.setattr(
        "memoryless.lab.experiment.run", lambda config, *others: ran.append(config) or []
    )
    assert main(["run", flag, "0.5", "--epochs", "10"]) == 0
    assert (getattr(ran[0], flag[2:].replace("-", "_")), ran[0].epochs) == (0.5, 10)
