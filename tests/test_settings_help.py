"""Help of the laboratory's commands: sections, choices and defaults in words, without torch."""

from __future__ import annotations

import re

import pytest

from conftest import call
from memoryless.lab.guide import SECTIONS, sections
from memoryless.strategies import STRATEGIES
from pages import text_of


def shown(command: str, capsys) -> str:
    """The help without frames, in one line."""
    code, out, _ = call(command, "--help", capsys=capsys)
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    return " ".join(re.sub("[│╭╮╰╯─]", " ", out).split())


def test_settings_are_in_sections(capsys):
    out = shown("run", capsys)
    places = [out.index(f" {title} --") for title in SECTIONS]
    assert places == sorted(places)
    for names in sections().values():
        flags = [out.index(f"--{name.replace('_', '-')} ") for name in names]
        assert flags == sorted(flags), names
    assert "Parameters" not in out


def test_the_page_of_settings_has_the_sections_and_flags_of_the_help(capsys):
    page = text_of("docs/settings.md")
    assert re.findall("^## (.*)", page, flags=re.M) == list(SECTIONS)
    flags = re.findall("│ --([a-z-]+)", call("run", "--help", capsys=capsys)[1])
    assert {"config", "control", "strategy"} < set(flags)
    for flag in flags:
        assert f"| `{flag.replace('-', '_')}` |" in page or f"`--{flag}" in page, flag


@pytest.mark.parametrize(
    "told",
    [
        f"[choices: {', '.join(STRATEGIES)}] [default: finetune]",
        "Epochs of state 0. [default: of the strategy: 30; lwf 70, lucir 160]",
        "[choices: last, middle] [default: last]",
        "[default: of the data: 64; quickdraw100 8]",
        "[choices: none, linear, widened, sdc] [default: none linear widened sdc]",
        "does not beat it has gained nothing by training. [default: yes]",
        "TOML file with any of the settings below; flags win over it.",
    ],
)
def test_choices_and_defaults_are_told(told, capsys):
    assert told in shown("run", capsys)


@pytest.mark.parametrize(
    "told",
    [
        "[default: finetune lwf lucir joint]",
        "Numbers of states. [default: of the preset]",
        "[choices: cifar100, ilsvrc, vggface2, landmarks, cifar100-cpu, quickdraw100] [default: "
        "quickdraw100]",
        "--seeds INT... Training seeds. [default: 0]",
    ],
)
def test_help_of_the_paper(told, capsys):
    assert told in shown("paper", capsys)


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("compare", '"all" for all that the runs can give. [default: none] --transports'),
        ("compare", "by default all that the runs have. --methods"),
        ("figures", "pareto; by default all. --formats"),
        ("figures", "Some of png, svg, pdf. [default: png svg pdf]"),
        ("figures", "Folder for the figures. [default: figures]"),
        ("table", "not only the reference methods. [default: no]"),
        ("table", "by default those that each run scored. --by"),
        ("table", "[choices: top-1, top-5] [default: top-1]"),
        ("report", "The page. [default: report.html]"),
        ("list", "[default: all of them]"),
        ("demo", "[default: runs/demo]"),
    ],
)
def test_defaults_are_told_in_words(command, told, capsys):
    assert told in shown(command, capsys)


@pytest.mark.parametrize("command", ["table", "compare", "figures", "report"])
def test_the_usage_names_the_runs_before_the_flags(command, capsys):
    assert f"Usage: memoryless {command} RUNS... [OPTIONS] " in shown(command, capsys)
    assert "Usage: memoryless list [KIND] " in shown("list", capsys)
