"""The outputs of the commands for photos, word by word, and no line wider than 80 columns.

`make snapshots` writes them; read the difference before you commit it.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from conftest import call
from memoryless.cli import WITH_PHOTOS
from photo_toys import make_colours, tiny_flags

STORED = Path(__file__).parent / "outputs"
WRITE = os.environ.get("MEMORYLESS_SNAPSHOTS") == "write"
# Each session is one file: commands, one after another, in a folder with photos and a model of two
# kinds of birds. A comment says what it shows.
SESSIONS = {
    "learn": ["learn birds spring {flags}", "learn birds autumn", "learn birds autumn"],
    "learn-explained": ["learn birds spring --explain --forgettable {flags}"],
    "learn-more": ["learn birds spring {flags}", "learn birds summer --more"],
    "learn-left-out": ["learn birds untidy {flags}", "learn birds few {flags}"],
    "learn-dry-run": ["learn birds mixed --dry-run --suspects suspects.csv {flags}"],
    "predict": [
        "learn birds spring {flags}",
        "predict birds today",
        "predict birds today --csv answers.csv",
        "predict birds today/2.png gone.png --top 2",
    ],
    "evaluate": [
        "learn birds spring {flags}",
        "evaluate birds test",
        "evaluate birds mixed --unknown today --html page.html",
        "evaluate birds spring --calibrate",
    ],
    "show": [
        "learn birds spring {flags}",
        "learn birds autumn",
        "show birds",
        "show birds --explain",
        "undo birds --list",
        "undo birds",
        "rename birds owl barn_owl",
        "check birds",
    ],
    "merge": [
        "learn birds spring {flags}",
        "learn others autumn {flags}",
        "merge all birds others",
        "merge all birds others",
    ],
    "forget": [
        "learn birds spring {flags}",
        "forget birds owl --dry-run",
        "forget birds owl",
        "undo birds",
        "learn exact spring --forgettable {flags}",
        "forget exact owl",
    ],
    "audit": [
        "learn birds spring {flags}",
        "audit birds --members spring --others test",
        "audit birds --members spring --others test --details --html page.html",
    ],
    "export": [
        "learn birds spring {flags}",
        "export birds birds.onnx",
        "export birds sent.memoryless",
    ],
    "mistaken": [
        "learn spring birds",
        "learn birds spring --few-photos",
        "predict birds today",
        "evaluate birds.memoryless test",
        "lern birds spring",
    ],
}


@pytest.fixture
def places(tmp_path, monkeypatch) -> None:
    """The working folder has photos to learn, to test, of unknown things, and untidy ones."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TZ", "UTC")
    make_colours(Path("spring"), "owl", "wren", number=24)
    make_colours(Path("summer"), "owl", number=24, seed=2)
    make_colours(Path("autumn"), "robin", number=24)
    make_colours(Path("test"), "owl", "wren", number=12, seed=1)
    make_colours(Path("few"), "owl", number=4)
    make_colours(Path("untidy"), "owl", "wren", number=24)
    make_colours(Path("untidy"), "gull", number=3)
    Path("untidy/field guide.pdf").touch()
    Path("untidy/owl/broken.png").write_text("text")
    make_colours(Path("mixed"), "owl", "wren", number=24, seed=3)
    Path("mixed/owl/3.png").rename("mixed/wren/a.png")
    Path("mixed/wren/3.png").rename("mixed/owl/b.png")
    for i, name in enumerate(("owl", "wren", "volcano", "sea")):
        make_colours(Path("drawn"), name, number=1, seed=1)
        Path("today").mkdir(exist_ok=True)
        Path(f"drawn/{name}/0.png").rename(f"today/{9 + i}.png")
    Path("today/11.png").rename("today/2.png")


def steady(text: str) -> str:
    """Return an output without what differs between runs and machines."""
    text = re.sub(r"About \d+ s", "About 1 s", text)
    text = re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\dZ)?", "2026-01-01 12:00", text)
    text = re.sub(r"memoryless \d+\.\d+\.\d+\S*", "memoryless 1.2.3", text)
    text = re.sub(r"at most \S+e-\d+", "at most 1e-07", text)
    return re.sub(r"\d+\.\d kB", "9.9 kB", text)


@pytest.mark.parametrize("name", SESSIONS)
def test_outputs_are_as_stored(name, places, tiny_backbone, capsys):
    shown = []
    for line in SESSIONS[name]:
        words = shlex.split(line.replace("{flags}", shlex.join(tiny_flags(tiny_backbone))))
        code, out, err = call(*words, capsys=capsys)
        shown.append(
            f"$ memoryless {line.removesuffix(' {flags}')}\n{out}{err}[exit code {code}]\n"
        )
        too_wide = [row for row in out.splitlines() if len(row) > 80]
        assert not too_wide
    text, file = steady("\n".join(shown)), STORED / f"{name}.txt"
    if WRITE:
        file.write_text(text)
    stored = file.read_text() if file.exists() else ""
    assert text == stored, "if this is meant, type: make snapshots"


def test_every_command_is_in_a_session():
    typed = {line.split()[0] for lines in SESSIONS.values() for line in lines}
    assert WITH_PHOTOS.keys() - {"samples", "serve"} <= typed


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_names_are_shortened_on_a_narrow_terminal(
    columns, places, tiny_backbone, capsys, monkeypatch
):
    folder = Path("today") / "photos of the garden" / "taken on the first warm day of the year"
    make_colours(folder, "owl_with_a_long_name_in_the_snow", number=2)
    call("learn", "birds", "spring", *tiny_flags(tiny_backbone), capsys=capsys)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    for words in (("predict", "birds", "today"), ("evaluate", "birds", "test")):
        code, out, _ = call(*words, capsys=capsys)
        assert code == 0
        assert max(map(len, out.splitlines())) <= columns
