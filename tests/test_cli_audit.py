"""memoryless audit: tables, JSON, a page, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import call
from photo_toys import make_colours, tiny_flags

AUDIT = "audit model --members used --others new".split()


@pytest.fixture
def taught(tmp_path, tiny_backbone, monkeypatch, capsys) -> None:
    """The working folder holds a model of two classes, its photos, and others."""
    monkeypatch.chdir(tmp_path)
    make_colours(Path("used"), "cat", "dog")
    make_colours(Path("new"), "cat", "dog", seed=1)
    assert call("learn", "model", "used", *tiny_flags(tiny_backbone), capsys=capsys)[0] == 0


def test_sentences_and_tables_for_people(taught, capsys):
    Path("new/cat/notes.txt").touch()
    code, out, err = call(*AUDIT, capsys=capsys)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "not read: 1: new/cat/notes.txt (not an image by its name)"
    assert lines[1].startswith("Whoever has this model's file can tell for certain which of ")
    assert lines[1].endswith("Give others the ONNX file that memoryless export writes instead.")
    assert lines[2].endswith("for 2 classes; the smallest, cat, had 12 photos.")
    assert "by scatter, with one of 100.0 (100-100)." in lines[3]
    cells = [line.split() for line in lines]
    assert ["class", "by", "score", "by", "distance", "by", "scatter", "members", "others"] in cells
    assert sum([row[:1], row[-2:]] == [["cat"], ["12", "12"]] for row in cells) == 2
    assert lines[-2:] == [
        "An audit shows what these attacks reach with these photos. It is no proof that none "
        "reaches more.",
        "next      the same command with --html FILE writes a page for a data-protection file",
    ]


DOUBTS = {
    "new used": "Mind: the others look more used than the members: perhaps --members and --others "
    "are swapped, or the model was not taught with these members.",
    "more new": "Mind: 24 of 24 members cannot be among the photos that the model was taught with: "
    "check --members.",
}


@pytest.mark.parametrize("sides", DOUBTS)
def test_sides_that_are_swapped_or_were_never_taught(taught, capsys, sides):
    make_colours(Path("more"), "cat", "dog", seed=7)
    members, others = sides.split()
    code, out, _ = call("audit", "model", "--members", members, "--others", others, capsys=capsys)
    first, second, *_ = out.splitlines()
    assert (code, first) == (0, DOUBTS[sides])
    assert second == "So nothing that follows shows that the model is safe."
    assert "Whoever" not in out


def test_json_alone_is_printed(taught, capsys):
    code, out, err = call(*AUDIT, "--json", capsys=capsys)
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["all"]["scatter"]["auroc"]["value"] == 100
    assert found["places"] == {
        "members": "used: folders of classes",
        "others": "new: folders of classes",
    }


def test_a_page_in_place_of_a_model_is_refused(taught, capsys):
    whole = Path("model.memoryless").read_bytes()
    code, out, err = call(*AUDIT, "--html", "model.memoryless", capsys=capsys)
    sentence = "model.memoryless is a model: choose another --html"
    assert (code, out, err) == (2, "", f"memoryless: {sentence}\n")
    assert Path("model.memoryless").read_bytes() == whole


def test_a_page_is_written(taught, capsys):
    code, out, _ = call(*AUDIT, "--html", "out/page.html", capsys=capsys)
    assert code == 0
    assert out.endswith("the page is out/page.html\n")
    assert "<h1>Audit of model.memoryless</h1>" in Path("out/page.html").read_text()


def test_classes_without_photos_are_told(taught, capsys):
    for side in ("used", "new"):
        Path(f"{side}/cat").rename(f"{side}-cat")
    out = call(*AUDIT, capsys=capsys)[1]
    lines = [line.strip() for line in out.splitlines()]
    assert lines[lines.index("not audited") :].count("cat") == 1


def test_broken_photos_are_told(taught, capsys):
    Path("new/cat/0.png").write_text("text")
    code, _, err = call(*AUDIT, capsys=capsys)
    assert code == 1
    assert err == (
        "memoryless: the photo new/cat/0.png cannot be read (not an image): mend it, or take it "
        "out\n"
    )


def test_the_same_photos_on_both_sides(taught, capsys):
    words = ["audit", "model", "--members", "used", "--others", "used"]
    assert call(*words, capsys=capsys) == (
        2,
        "",
        "memoryless: --members and --others are the same photos, used: name photos for --others "
        "that the model was not taught with\n",
    )
