"""memoryless check: whole, or what is not."""

from __future__ import annotations

from pathlib import Path

from conftest import call


def test_a_whole_model(cat_and_dog, capsys):
    code, out, err = call("check", "model", capsys=capsys)
    assert (code, err) == (0, "")
    assert out == "model is whole: every file of 1 state is as it was written\n"


def test_a_flipped_byte(cat_and_dog, capsys):
    file = Path("model/states/0001/scorer.safetensors")
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    code, out, err = call("check", "model", capsys=capsys)
    assert (code, out) == (3, "")
    assert err.startswith(f"memoryless: the file {file} is ")


def test_every_problem_is_told_the_last_as_the_error(cat_and_dog, capsys):
    Path("model/states/0001/scorer.safetensors").unlink()
    Path("model/letter.txt").touch()
    code, out, err = call("check", "model", capsys=capsys)
    assert code == 3
    assert out == (
        "the file model/states/0001/scorer.safetensors is missing: restore it from a copy\n"
    )
    assert err == (
        "memoryless: the file model/letter.txt is no part of the model: move it elsewhere\n"
    )


def test_what_does_no_harm_is_a_note(cat_and_dog, capsys):
    Path("model/README.md").write_text("mine")
    code, out, _ = call("check", "model", capsys=capsys)
    assert code == 0
    assert out.startswith("note: model/README.md is not as this version would write it")


def test_there_is_no_model(tmp_path, capsys):
    code, _, err = call("check", str(tmp_path / "x"), capsys=capsys)
    assert code == 3
    assert err == (
        f"memoryless: there is no model in {tmp_path}/x: name a folder that a model was saved in\n"
    )
