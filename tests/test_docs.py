"""What the documentation tells people to type works, and says what the code says."""

from __future__ import annotations

import re
import shlex
import sys
import tomllib
from pathlib import Path

import pytest

import memoryless
from conftest import make_folder
from memoryless.cli import main
from memoryless.lab.config import Config
from memoryless.methods import METHODS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
PAGES = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md"]
PAGES += [str(p.relative_to(ROOT)) for p in (ROOT / "docs").glob("*.md")]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.S)


def console_lines() -> list[str]:
    lines = "".join(blocks("console")).splitlines()
    assert all(line.startswith("$ ") for line in lines)
    return [line.removeprefix("$ ") for line in lines]


def test_readme_commands_run(tmp_path, monkeypatch):
    """In the order they stand there, in an empty folder with some photos."""
    commands = [shlex.split(line)[1:] for line in console_lines() if line.startswith("memoryless ")]
    assert len(commands) >= 5
    monkeypatch.chdir(tmp_path)
    make_folder(Path("photos"))
    for command in commands:
        assert main(command) == 0, command


def test_readme_make_targets_exist():
    makefile = (ROOT / "Makefile").read_text()
    targets = [line.split()[1] for line in console_lines() if line.startswith("make ")]
    assert targets == ["demo", "test"]
    assert all(re.search(rf"^{target}:", makefile, flags=re.M) for target in targets)


def test_every_install_line_carries_the_constraints():
    files = [ROOT / "Makefile", ROOT / "README.md", ROOT / ".ci" / "run"]
    lines = [line for f in files for line in f.read_text().splitlines() if "pip install" in line]
    assert lines
    assert all("-c constraints.txt" in line for line in lines)


def test_readme_python_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (code,) = blocks("python")
    exec(compile(code, "README.md", "exec"), {})
    assert (tmp_path / "runs/arrays/seed-0/states/02/results.json").is_file()


def test_readme_toml_is_a_config():
    (text,) = blocks("toml")
    values = tomllib.loads(text)
    assert Config(**values).patience_later == 15


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#]+)\)", (ROOT / page).read_text())
    broken = [x for x in links if "://" not in x and not (ROOT / page).parent.joinpath(x).exists()]
    assert not broken


def test_settings_page_is_the_config(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "tools"), *sys.path])
    from write_settings import settings

    assert (ROOT / "docs" / "settings.md").read_text() == settings()


def test_methods_page_names_every_method():
    page = (ROOT / "docs" / "methods.md").read_text()
    for name, method in METHODS.items():
        assert f"| {name} | {method.strategy} | {method.head} | {method.calibration} |" in page


def test_versions_agree():
    assert f"version: {memoryless.__version__}" in (ROOT / "CITATION.cff").read_text()
