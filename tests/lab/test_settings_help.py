"""Help of commands: settings in sections, defaults as one would type them."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from conftest import call
from memoryless.lab.config import Config
from memoryless.lab.settings_help import SECTIONS, sections
from pages import text_of


def shown(command: str, capsys) -> str:
    """The help without frames, in one line."""
    code, out, _ = call(command, "--help", capsys=capsys)
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    return " ".join(re.sub("[│╭╮╰╯─]", " ", out).split())


def test_every_setting_stands_in_one_section_of_the_help(capsys):
    listed = [name for names in sections().values() for name in names]
    assert sorted(listed) == sorted(field.name for field in fields(Config))
    out = shown("run", capsys)
    starts = [out.index(f" {title} --") for title in SECTIONS]
    assert starts == sorted(starts)
    for names, start, end in zip(sections().values(), starts, [*starts[1:], None], strict=True):
        assert all(f"--{name.replace('_', '-')} " in out[start:end] for name in names)
    assert "Parameters" not in out


def test_the_page_of_settings_has_the_sections_and_flags_of_the_help(capsys):
    page = text_of("docs/settings.md")
    assert re.findall("^## (.*)", page, flags=re.M) == [*SECTIONS, "Values of strategies"]
    flags = re.findall("│ --([a-z-]+)", call("run", "--help", capsys=capsys)[1])
    assert {"config", "control", "strategy"} < set(flags)
    for flag in flags:
        assert f"| `{flag.replace('-', '_')}` |" in page or f"`--{flag}" in page, flag


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("run", "[choices: last, middle] [default: last]"),
        ("run", "[default: none linear widened sdc]"),
        ("run", "gained nothing by training. [default: yes]"),
        ("run", "Epochs of state 0; by default the strategy's. --"),
        ("paper", "--seeds INT... Training seeds. [default: 0]"),
        ("table", "[choices: top-1, top-5] [default: top-1]"),
        ("list", "[default: all of them]"),
        ("demo", "[default: runs/demo]"),
        ("learn", "[default: no]"),
    ],
)
def test_defaults_as_one_would_type_them(command, text, capsys):
    assert text in shown(command, capsys)


@pytest.mark.parametrize("command", ["table", "compare", "figures", "report"])
def test_the_usage_names_the_runs_before_the_flags(command, capsys):
    assert f"Usage: memoryless {command} RUNS... [OPTIONS] " in shown(command, capsys)
    assert "Usage: memoryless list [KIND] " in shown("list", capsys)
