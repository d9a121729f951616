"""memoryless pack: what it says; and packed models in the place of folders."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from conftest import call
from photo_toys import make_colours, tiny_flags


@pytest.fixture
def packed(tmp_path, tiny_backbone, monkeypatch, capsys) -> None:
    """A model of two states, packed, and photos, in the working folder."""
    monkeypatch.chdir(tmp_path)
    make_colours(Path("first"), "cat", "dog")
    make_colours(Path("second"), "owl", number=20)
    make_colours(Path("test"), "cat", "dog", "owl", "elk", number=3, seed=1)
    call("learn", "my model", "first", *tiny_flags(tiny_backbone), capsys=capsys)
    call("learn", "my model", "second", "--history", "0", capsys=capsys)
    assert call("pack", "my model", capsys=capsys)[0] == 0


def test_what_is_told(packed, capsys):
    code, out, err = call("pack", "my model", "new/birds.memoryless", capsys=capsys)
    assert (code, err) == (0, "")
    assert re.fullmatch(
        r"packed    new/birds\.memoryless: 3 classes, [\d.]+ kB, state 2\n"
        r"\nKeeps no photo, .* smallest class: 12 photos\. .*\n"
        r"The scatter of 44 photos over 48 features tells whoever .*\n\n"
        r"next      memoryless predict new/birds\.memoryless PHOTO, or memoryless unpack "
        r"new/birds\.memoryless MODEL to teach it\n",
        out,
    )
    assert Path("new/birds.memoryless").read_bytes() == Path("my model.memoryless").read_bytes()
    out = call("pack", "my model", capsys=capsys)[1]
    assert "memoryless predict 'my model.memoryless' PHOTO" in out


READING = [
    "predict MODEL test --json",
    "evaluate MODEL test --json",
]


@pytest.mark.parametrize("command", READING)
def test_readers_answer_as_from_the_folder(command, packed, capsys):
    def answer(model: str) -> tuple[int, str, str]:
        words = [model if word == "MODEL" else word for word in command.split()]
        return call(*words, capsys=capsys)

    code, out, err = answer("my model.memoryless")
    assert (code, out, err) == answer("my model")
    assert code == 0 and out


def test_it_is_shown_without_a_way_back(packed, capsys):
    code, out, _ = call("show", "my model.memoryless", capsys=capsys)
    shared, _, rest = out.rpartition("packed    ")
    assert code == 0
    assert rest == (
        "memoryless unpack 'my model.memoryless' MODEL makes a folder, which can be taught\n"
    )
    folder = call("show", "my model", capsys=capsys)[1]
    assert folder.startswith(shared.replace("my model.memoryless", "my model"))
    assert "go to one by memoryless undo" in folder
    assert "undo" not in out
    found = json.loads(call("show", "my model.memoryless", "--json", capsys=capsys)[1])
    assert (found["packed"], found["folder"]) == (True, "my model.memoryless")


def test_it_is_checked_and_exported(packed, capsys):
    code, out, _ = call("check", "my model.memoryless", capsys=capsys)
    assert code == 0
    assert out == "my model.memoryless is whole: every file of 1 state is as it was written\n"
    files = []
    for place in ("my model", "my model.memoryless"):
        assert call("export", place, f"{place}.onnx", capsys=capsys)[0] == 0
        files.append(Path(f"{place}.onnx").read_bytes())
    assert files[0] == files[1]


def test_it_is_not_changed(packed, capsys):
    file = Path("my model.memoryless")
    before, places = file.read_bytes(), sorted(Path().iterdir())
    assert call("learn", str(file), "first", capsys=capsys) == (
        2,
        "",
        "memoryless: my model.memoryless is a packed model, which cannot be changed: memoryless "
        "unpack 'my model.memoryless' MODEL first\n",
    )
    assert (file.read_bytes(), sorted(Path().iterdir())) == (before, places)


BAD = {
    "pack nothing": (3, "there is no model in nothing: name a folder that a model was saved in"),
    "pack my_model x.zip": (2, "x.zip does not end in .memoryless: name the file so"),
    "predict letter.memoryless test": (
        3,
        "letter.memoryless is no packed model: name the folder of a model, or a file that "
        "memoryless pack wrote",
    ),
}


@pytest.mark.parametrize("command", BAD)
def test_bad_input(command, packed, capsys):
    Path("letter.memoryless").write_text("Dear Ada")
    words = [word.replace("_", " ") for word in command.split()]
    code, out, err = call(*words, capsys=capsys)
    assert (code, out, err) == (BAD[command][0], "", f"memoryless: {BAD[command][1]}\n")
