"""memoryless samples: drawings that the other commands take."""

from __future__ import annotations

from pathlib import Path

from conftest import call
from photo_toys import tiny_flags


def test_drawings_can_be_learned_and_evaluated(tmp_path, tiny_backbone, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, out, _ = call("samples", "some drawings", capsys=capsys)
    assert (code, out) == (0, "Next: memoryless learn MODEL 'some drawings'\n")
    code, out, _ = call("learn", "m", "some drawings", *tiny_flags(tiny_backbone), capsys=capsys)
    assert code == 0
    assert "300 photos of 10 new classes" in out
    assert out.endswith("memoryless evaluate m 'some drawings/test'\n")
    code, out, _ = call("evaluate", "m", "some drawings/test", capsys=capsys)
    assert code == 0
    assert " of 100 photos correct: " in out
    assert "(top-5)" in out


def test_a_folder_in_use(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("used").mkdir()
    Path("used/letter").touch()
    code, _, err = call("samples", "used", capsys=capsys)
    assert (code, err) == (2, "memoryless: the folder used is not empty: name a new one\n")
