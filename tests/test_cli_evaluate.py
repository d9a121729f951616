"""memoryless evaluate: numbers for people and programs, and a page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import call
from memoryless.pages import MARK
from photo_toys import make_colours, tiny_flags


@pytest.fixture
def taught(tmp_path, tiny_backbone, monkeypatch, capsys) -> None:
    """The working folder holds a model of three classes in two states, and test photos."""
    monkeypatch.chdir(tmp_path)
    make_colours(Path("first"), "cat", "dog", number=20)
    make_colours(Path("second"), "owl", number=20)
    call("learn", "model", "first", *tiny_flags(tiny_backbone), capsys=capsys)
    assert call("learn", "model", "second", capsys=capsys)[0] == 0
    make_colours(Path("test"), "cat", "dog", "owl", number=5, seed=1)


def test_json_alone_is_printed(taught, capsys):
    make_colours(Path("test"), "volcano", number=3)
    code, out, err = call("evaluate", "model", "test", "--json", capsys=capsys)
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["top1"] == found["top5"] == 100.0
    assert {c["class"]: c["photos"] for c in found["classes"]} == {"cat": 5, "dog": 5, "owl": 5}
    assert [s["state"] for s in found["states"]] == [1, 2]
    assert found["unknown"] == {"volcano": 3}
    assert found["auroc"] > 50


def test_tables_for_people(taught, capsys):
    Path("test/cat").rename("test/dog2")
    Path("test/dog").rename("test/cat")  # all of cat's photos are dogs now
    code, out, _ = call("evaluate", "model", "test", capsys=capsys)
    assert code == 0
    assert out.startswith("Of 10 photos of 2 classes, 50.0 % were put into their class (top-1), ")
    assert "5 more are of 1 class that the model does not know" in out
    lines = [line.split() for line in out.splitlines()]
    assert lines.index(["cat", "1", "5", "0.0"]) < lines.index(["owl", "2", "5", "100.0"])
    assert ["cat", "dog", "5", "of", "5"] in lines
    assert ["dog2", "5"] in lines


def test_a_page_is_written(taught, capsys):
    Path("test/cat").rename("test/other")
    Path("test/dog").rename("test/cat")
    code, out, _ = call("evaluate", "model", "test", "--html", "out/page.html", capsys=capsys)
    assert code == 0
    assert out.endswith("the page is out/page.html\n")
    assert Path("out/page.html").read_text().count("data:image/jpeg") == 5


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        (
            "model.memoryless",
            "model.memoryless is a model: choose another --html",
        ),
        ("test", "cannot write test (Is a directory): choose another --html"),
        (
            "test/cat/0.png/page.html",
            "cannot write test/cat/0.png/page.html (File exists): choose another --html",
        ),
    ],
)
def test_a_page_that_cannot_be_written_is_told_before_photos_are_judged(
    page, sentence, taught, capsys, monkeypatch
):
    monkeypatch.setattr("memoryless.photos.evaluation.evaluate", None)
    before = sorted(Path().rglob("*"))
    code, out, err = call("evaluate", "model", "test", "--html", page, capsys=capsys)
    assert (code, out, err) == (2, "", f"memoryless: {sentence}\n")
    assert sorted(Path().rglob("*")) == before


def test_a_page_that_is_there_stays_if_nothing_is_evaluated(taught, capsys):
    Path("page.html").write_text(MARK)
    Path("test").rename("strange")
    make_colours(Path("test"), "volcano")
    assert call("evaluate", "model", "test", "--html", "page.html", capsys=capsys)[0] == 2
    assert Path("page.html").read_text() == MARK
    assert call("evaluate", "model", "test", "--html", "new.html", capsys=capsys)[0] == 2
    assert not Path("new.html").exists()


def test_of_two_halves_the_test_half_is_read(taught, capsys):
    Path("all").mkdir()
    Path("first").rename("all/train")
    Path("test").rename("all/test")
    out = call("evaluate", "model", "all", capsys=capsys)[1]
    assert out.startswith("all/test is read; what stands beside it is left alone: train/\nOf 15 ")


def test_broken_photos_are_told(taught, capsys):
    Path("test/cat/0.png").write_text("text")
    Path("test/cat/notes.txt").touch()
    code, out, err = call("evaluate", "model", "test", capsys=capsys)
    assert code == 1
    assert err == (
        "memoryless: the photo test/cat/0.png cannot be read (not an image): mend it, or take it "
        "out\n"
    )
    assert out.startswith("not read: 1: test/cat/notes.txt (not an image by its name)\nOf 14 ")
    assert "1 photo could not be read." in out
