"""Errors that a user can mend: one family, two exit codes."""

from __future__ import annotations

import re

import pytest

from memoryless import cli, errors

ERRORS = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, Exception)]


@pytest.mark.parametrize("error", ERRORS)
def test_every_error_is_of_the_family_and_has_an_exit_code_of_the_table(error):
    assert issubclass(error, errors.MemorylessError)
    codes = {int(code) for code in re.findall(r"^(\d+) ", cli.__doc__ or "", re.MULTILINE)}
    assert error.exit_code in codes - {0}


def test_a_damaged_folder_has_an_exit_code_of_its_own():
    different = {e for e in ERRORS if e.exit_code != errors.MemorylessError.exit_code}
    assert {e: e.exit_code for e in different} == {errors.StoreError: 3, errors.OutputError: 1}


@pytest.mark.parametrize("error", ERRORS)
def test_the_command_line_says_it_in_one_line(error, monkeypatch, capsys):
    def fail(*arguments, **settings):
        raise error("check\n`held_out=0.1`\x1b")

    monkeypatch.setattr(cli, "app", fail)
    assert cli.main([]) == error.exit_code
    assert capsys.readouterr().err == "memoryless: check --held-out 0.1\\x1b\n"
