"""memoryless unpack: what it says, and that it goes on from there."""

from __future__ import annotations

import zipfile
from pathlib import Path

from conftest import call
from folders import content


def test_a_packed_model_is_a_folder_again(cat_and_dog, capsys):
    call("pack", "model", capsys=capsys)
    code, out, err = call("unpack", "model.memoryless", "my model", capsys=capsys)
    assert (code, err) == (0, "")
    assert out == (
        "unpacked  my model: 2 classes, state 1\nnext      memoryless learn 'my model' PHOTOS\n"
    )
    assert content(Path("my model")) == content(Path("model"))
    assert call("rename", "my model", "cat", "puma", capsys=capsys)[0] == 0


def test_hostile_archives_are_refused_and_nothing_is_made(cat_and_dog, capsys):
    with zipfile.ZipFile("evil.memoryless", "w") as archive:
        archive.writestr("../\x1b[31mevil", "x")
    before = sorted(Path().iterdir())
    assert call("unpack", "evil.memoryless", "new", capsys=capsys) == (
        3,
        "",
        "memoryless: evil.memoryless holds ../\\x1b[31mevil, which is no part of a model: name a "
        "file that memoryless pack wrote\n",
    )
    assert sorted(Path().iterdir()) == before
