"""What the pages tell people to type: short commands run, and long ones are ones that would."""

from __future__ import annotations

import re
import shlex
import shutil
import tomllib
from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cyclopts import CycloptsError
from PIL import Image

from conftest import make_folder
from memoryless.cli import LABORATORY, app, main
from memoryless.images import Dataset, samples
from memoryless.images.quickdraw import load_quickdraw100
from memoryless.images.sources import SOURCES
from memoryless.lab.config import Config
from memoryless.lab.paper import PaperTable
from memoryless.lab.presets import PAPER_STRATEGIES, PRESETS
from memoryless.settings import DataSettings
from memoryless.stats import heads, membership
from memoryless.stats.methods import parse_method
from pages import PAGES, ROOT, blocks, commands, consoles, headings, masked, prose_of, text_of
from photo_toys import tiny_flags

BIRDS = {
    "spring": ["Indigo_Bunting", "Lazuli_Bunting", "Painted_Bunting"],
    "autumn": ["Red_winged_Blackbird", "Rusty_Blackbird"],
}
HOSPITALS = {
    "north-photos": {"Indigo_Bunting": slice(10), "Lazuli_Bunting": slice(10)},
    "south-photos": {"Lazuli_Bunting": slice(10, 20), "Painted_Bunting": slice(10)},
}
LANGUAGES = {"", "console", "shell-session", "python", "pycon", "sql", "toml", "tree"}
SERVE = {"sh", "nginx", "ini", "dockerfile"}
"""Blocks of docs/serve.md; tests/serve/test_serve.py runs the calls of its shell."""


def make_birds() -> None:
    """Drawings under the names of the birds that pages show; photos of today, and tests.

    A state has as few of them as one may have, 20, and three classes have as many to calibrate on.
    """
    samples.write_samples(Path("all"), classes=5, per_class=20, test_per_class=7)
    places = [(season, name) for season, names in BIRDS.items() for name in names]
    for drawn, (season, name) in zip(sorted(Path("all/train").iterdir()), places, strict=True):
        for i, file in enumerate(sorted(drawn.iterdir())):
            folders = [season, "taught"] if i < 10 else ["summer"]
            for folder in folders if i < 10 or name in BIRDS["spring"][:2] else []:
                (Path(folder) / name).mkdir(parents=True, exist_ok=True)
                shutil.copy(file, Path(folder) / name)
        shutil.copytree(Path("all/test") / drawn.name, Path("test") / name)
    Path("today").mkdir()
    for i in (1, 2, 3):
        Image.open(f"test/Lazuli_Bunting/000{i}.png").convert("RGB").save(f"today/{i}.jpg")


def make_hospitals() -> None:
    """Drawings under the names of birds in two places; of one class each has its own."""
    samples.write_samples(Path("pool"), classes=3, per_class=20, test_per_class=0)
    drawn = dict(zip(BIRDS["spring"], sorted(Path("pool/train").iterdir()), strict=True))
    for place, classes in HOSPITALS.items():
        for name, part in classes.items():
            (Path(place) / name).mkdir(parents=True)
            for file in sorted(drawn[name].iterdir())[part]:
                shutil.copy(file, Path(place) / name)


def teach_birds(backbone: Path) -> None:
    main(["learn", "birds", "spring", *tiny_flags(backbone)])


def make_work_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer drawings, draws of a bootstrap and steps of a fit; all else is as for anyone."""
    few = partial(samples.write_samples, per_class=5, test_per_class=2)
    monkeypatch.setattr(samples, "write_samples", few)
    embedded = SOURCES["quickdraw100"]
    monkeypatch.setitem(SOURCES, "quickdraw100", replace(embedded, load=few_drawings))
    any_number = replace(PRESETS["quickdraw100"], train_images=None, test_images=None)
    monkeypatch.setitem(PRESETS, "quickdraw100", any_number)
    monkeypatch.setattr(membership, "DRAWS", 20)
    monkeypatch.setattr(heads, "ITERATIONS", 3)


def few_drawings(settings: DataSettings) -> Dataset:
    """All classes of quickdraw100, eight drawings of each to train and two to test."""
    whole = load_quickdraw100(settings.root)
    train, test = (np.arange(0, len(split), 10) for split in (whole.train, whole.test))
    return replace(whole, train=whole.train.take(train), test=whole.test.take(test))


def run_memoryless(line: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    capsys.readouterr()
    assert main(shlex.split(line, comments=True)[1:]) == 0, line
    return capsys.readouterr().out.splitlines()


def check_shown(shown: list[str], printed: list[str]) -> None:
    """What a page shows of a command's output is printed, but for numbers and what (...) hides."""
    told = [*map(masked, printed)]
    for line in filter(str.strip, shown):
        if line != "..." and "\N{BOX DRAWINGS LIGHT HORIZONTAL}" not in line:
            begin = masked(line).partition("(...)")[0]
            assert any(text.startswith(begin) for text in told), line


def test_what_is_not_printed_is_noticed():
    check_shown(["...", " FT  1.0   5 kB", "at 3 (...)"], ["FT 27.9 26.0 kB", "at 4 (or 5)"])
    with pytest.raises(AssertionError, match=r"FT 1\.0 x"):
        check_shown([" FT 1.0 x"], ["FT 27.9"])


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "console")])
def test_commands_run_and_print_what_is_shown(page, tmp_path, monkeypatch, capsys, tiny_backbone):
    """In the order they stand there, in a folder with some drawings in the place of photos."""
    monkeypatch.chdir(tmp_path)
    make_folder(Path("photos"))
    make_birds()
    make_hospitals()
    if page == "docs/export.md":
        teach_birds(tiny_backbone)
    make_work_little(monkeypatch)
    for line, shown in consoles(page):
        if line.startswith("rm -r "):
            shutil.rmtree(line.removeprefix("rm -r "))
            continue
        assert line.startswith("memoryless "), f"{line}: mark its block as `shell-session`"
        printed = run_memoryless(line, capsys)
        assert set(headings(shown)) <= set(headings(printed)), line
        if line.split()[1] in LABORATORY:
            check_shown(shown, printed)
    for code in blocks(page, "python") if page not in ("README.md", "docs/export.md") else []:
        exec(compile(code, page, "exec"), {})


@pytest.mark.parametrize("page", PAGES)
def test_every_command_is_one_that_would_run(page):
    """Also those that take long and are not run: they name what there is, with sound values."""
    for words in commands(page):
        check_words(words)


def check_words(words: list[str]) -> None:
    while re.fullmatch(r"[A-Z_]+=\S*", words[0]):  # variables of the environment
        words = words[1:]
    assert words[0] in CHECKS, f"{shlex.join(words)}: no test knows how to check this"
    CHECKS[words[0]](words[1:])


def check_memoryless(words: list[str]) -> None:
    """Raise unless the command line takes this, and what it would begin with takes the values."""
    command, bound, _ = app.parse_args(words, exit_on_error=False, print_error=False)
    values = bound.arguments
    for name in values.get("methods", ()):
        parse_method(name)
    if command.__name__ == "run":
        values.get("experiment", Config()).resolved()
    if command.__name__ == "paper":
        check_paper(**values)


def check_paper(
    preset: str = "quickdraw100",
    states: tuple[int, ...] = (),
    strategies: tuple[str, ...] = PAPER_STRATEGIES,
    seeds: tuple[int, ...] = (0,),
    **others: Any,
) -> None:
    settings = {field.name for field in fields(Config)} - {"methods", "output"}
    given = {name: value for name, value in others.items() if name in settings}
    chosen = PRESETS[preset]
    table = PaperTable(preset, chosen, states or chosen.states, strategies, seeds, Path(), given)
    assert table.cells


def check_make(words: list[str]) -> None:
    for target in words:
        assert re.search(rf"^{target}:", text_of("Makefile"), flags=re.M), f"no target {target}"


def check_pip(words: list[str]) -> None:
    """Of this checkout, with the versions that it was tested with, and with extras that exist."""
    install, *flags, what = words
    assert (install, flags) == ("install", ["-c", "constraints.txt", "-e"]), words
    place, extras = re.fullmatch(r"(\.)(?:\[([\w,]+)\])?", what).groups()  # type: ignore[union-attr]
    there = tomllib.loads(text_of("pyproject.toml"))["project"]["optional-dependencies"]
    assert place == "."
    assert set((extras or "").split(",")) - {""} <= set(there)


def check_python(words: list[str]) -> None:
    """A tool of the checkout, or a benchmark of it."""
    if words[0] == "-m":
        assert words[1] == "benchmarks"
        assert all((ROOT / f"benchmarks/{name}.py").is_file() for name in words[2:3])
    else:
        assert (ROOT / words[0]).is_file(), words[0]


def check_place(words: list[str]) -> None:
    """Anywhere but above the folder that one is in."""
    places = [word for word in words if not word.startswith("-")]
    assert places
    assert not [place for place in places if Path(place).is_absolute() or ".." in place]


CHECKS: dict[str, Callable[[list[str]], None]] = {
    "memoryless": check_memoryless,
    "make": check_make,
    "pip": check_pip,
    "python": check_python,
    "rm": check_place,
    "cd": check_place,
}


@pytest.mark.parametrize(
    "line",
    [
        "memoryless run --epoch 3",
        "memoryless run --level mid",
        "memoryless run --strategy fintune",
        "memoryless run --epochs 1.5",
        "memoryless walk",
        "memoryless paper --preset cifar",
        "memoryless paper --strategies fintune",
        "memoryless table runs --methods finetune+sdc+linear",
        "make tea",
        "pip install -e .",
        "pip install -c constraints.txt -e '.[all]'",
        "python tools/nothing.py",
        "python -m benchmarks nothing",
        "rm -r /",
        "sudo memoryless list",
    ],
)
def test_what_would_not_run_is_noticed(line):
    with pytest.raises((AssertionError, KeyError, ValueError, CycloptsError)):
        check_words(shlex.split(line))


@pytest.mark.parametrize("page", PAGES)
def test_no_block_escapes(page):
    """A block of a language that no test knows would never be tried."""
    opened = re.findall(r"^```(.*)$", text_of(page), flags=re.M)[::2]
    assert set(opened) <= (LANGUAGES | SERVE if page == "docs/serve.md" else LANGUAGES)


@pytest.mark.parametrize("page", PAGES)
def test_flags_are_those_of_the_command(page):
    """Every command in backticks is one, and every flag in it is one of that command's."""
    for words in map(str.split, re.findall(r"`(memoryless [a-z][^`]*)`", prose_of(page))):
        arguments = app[words[1]].assemble_argument_collection()
        known = {name for argument in arguments for name in argument.names} | {"--help"}
        assert {word for word in words if word.startswith("--")} <= known, words


def test_every_install_line_carries_the_constraints():
    workflows = [str(p.relative_to(ROOT)) for p in (ROOT / ".github/workflows").glob("*.yml")]
    files = ["Makefile", ".ci/run", *workflows, *PAGES]
    lines = [line for f in files for line in text_of(f).splitlines() if "pip install" in line]
    ours = [line for line in lines if "torch" in line or "-e " in line]
    assert ours
    assert all("-c constraints.txt" in line for line in ours)
