"""No line that a command of the laboratory prints is wider than a terminal of 80 columns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from conftest import TINY, TOY_PRESET, make_toy
from memoryless.cli import LABORATORY, main
from memoryless.images.sources import SOURCES, Source
from memoryless.lab.experiment import run
from memoryless.lab.presets import PRESETS
from memoryless.stats import heads

RUN = "run --data toy --width 2 --states 3 --epochs 1 --batch-size 16 --statistics full"
LINES = {
    "run": [f"{RUN} --strategy independent --output i"],
    "paper": ["paper --preset toy --dry-run", "paper --preset toy --strategies lwf lucir joint"],
    "table": [
        "table runs", "table runs --all", "table runs --show paired", "table runs --show typology",
        "table runs --show data", "table runs --write t.csv",
    ],
    "compare": ["compare runs", "compare runs --all --calibrations all --figure f.svg"],
    "figures": ["figures runs --formats svg"],
    "report": ["report runs"],
    "list": ["list"],
}  # fmt: skip
SIGNS = re.compile(r"\x1b\[[\d;?]*[a-zA-Z]")


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Iterator[Path]:
    """A folder with runs of several trainings and seeds, a control and Full."""
    folder = tmp_path_factory.mktemp("wide")
    gathering = replace(TINY, data="toy", epochs=1, statistics="full")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(heads, "ITERATIONS", 2)
        patch.setitem(SOURCES, "toy", Source(lambda settings: make_toy(), 8))
        patch.setitem(PRESETS, "toy", replace(TOY_PRESET, states=(2, 3)))
        patch.setenv("FORCE_COLOR", "1")
        patch.setenv("COLUMNS", "80")
        patch.chdir(folder)
        run(replace(gathering, seeds=(0, 1), output=Path("runs/a")))
        run(replace(gathering, level="middle", square_roots=True, output=Path("runs/b")))
        run(replace(gathering, strategy="joint", output=Path("runs/c")))
        run(replace(gathering, strategy="untrained", output=Path("runs/d")))
        yield folder


@pytest.mark.parametrize("line", [line for lines in LINES.values() for line in lines])
def test_no_line_is_wider_than_80_columns(line, place, capsys):
    assert main(line.split()) == 0
    out, _ = capsys.readouterr()
    lines = SIGNS.sub("", out).replace("\r", "\n").splitlines()
    assert lines
    assert [text for text in lines if len(text.rstrip()) > 80] == []


def test_every_command_is_tried():
    """The demo types three of them."""
    assert LINES.keys() == LABORATORY.keys() - {"demo"}
