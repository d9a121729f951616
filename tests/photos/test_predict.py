"""memoryless predict: answers for people and programs; broken files do not stop the others."""

from __future__ import annotations

import csv
import io
import json
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from conftest import call
from memoryless.images.files import Photo
from memoryless.images.read import UnreadableError
from memoryless.photos import predict
from memoryless.photos.predict import Answer, find_all, predict_photos, summary
from memoryless.stats.confidence import Prediction
from photo_toys import make_colours, tiny_flags


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return make_colours(tmp_path / "photos", "cat", "dog", number=2)


def names(*paths: str) -> list[str]:
    return [thing.name if isinstance(thing, Photo) else thing.error for thing in find_all(paths)[0]]


def test_files_and_folders(place):
    assert names("photos/dog/1.png", "photos/cat") == [
        "photos/dog/1.png", "photos/cat/0.png", "photos/cat/1.png",
    ]  # fmt: skip


def test_patterns_are_sorted_and_may_go_deep(place):
    assert names("photos/*/1.*") == ["photos/cat/1.png", "photos/dog/1.png"]
    assert len(names("photos/**/*.png")) == 4


def test_a_file_whose_name_looks_like_a_pattern_is_a_file(place):
    (place / "cat" / "0.png").rename("photos/[x].png")
    assert names("photos/[x].png") == ["photos/[x].png"]


def test_what_is_not_there_is_told_and_the_rest_found(place):
    assert names("photos/*.jpg", "photos/cat/0.png", "nothing") == [
        "no file matches photos/*.jpg: check the pattern",
        "photos/cat/0.png",
        "there is no folder or file nothing (No such file or directory): check its name",
    ]


# Probabilities of ant, bee and cow, and the margin, of each photo that can be read.
GIVEN = {"a": ((0.1, 0.6, 0.3), 0.5), "c": ((0.3, 0.1, 0.6), -0.5)}


def judged(rows: np.ndarray) -> Prediction:
    """The answers for features that are numbers of `GIVEN`."""
    probabilities, margins = zip(*(list(GIVEN.values())[int(row)] for row in rows), strict=True)
    return Prediction(np.log(probabilities), np.array(probabilities), np.array(margins), 0.7)


@pytest.mark.parametrize("chunk", [1, 2, 256])
def test_answers_name_the_best_first(chunk, monkeypatch):
    model = SimpleNamespace(classes=("ant", "bee", "cow"), classify=judged)
    rows = [np.array(0), UnreadableError("b", "broken"), np.array(1)]
    monkeypatch.setattr(predict, "features", lambda *_: iter(rows))
    monkeypatch.setattr(predict, "CHUNK", chunk)
    a, b, c = (Photo(name, None, io.BytesIO) for name in "abc")
    found = list(predict_photos(model, [a, Answer("x", error="no"), b, c], top=2))
    assert found == [
        Answer("a", "unsure", (("bee", 0.6), ("cow", 0.3))),
        Answer("x", error="no"),
        Answer("b", error=str(UnreadableError("b", "broken"))),
        Answer("c", "unknown", (("cow", 0.6), ("ant", 0.3))),
    ]


HEAD = ["file", "answer", "label_1", "score_1", "label_2", "score_2", "error"]


@pytest.fixture
def taught(tmp_path, tiny_backbone, monkeypatch, capsys) -> None:
    """The working folder holds a model of two classes and test photos, one of an unknown class."""
    monkeypatch.chdir(tmp_path)
    make_colours(Path("photos"), "cat", "dog", number=20)
    assert call("learn", "model", "photos", *tiny_flags(tiny_backbone), capsys=capsys)[0] == 0
    make_colours(Path("test"), "cat", "dog", number=2, seed=1)
    make_colours(Path("strange"), "volcano", number=1)


def test_json_is_a_list_of_answers(taught, capsys):
    code, out, err = call("predict", "model", "test", "--json", capsys=capsys)
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert [answer["file"] for answer in found] == [
        "test/cat/0.png", "test/cat/1.png", "test/dog/0.png", "test/dog/1.png",
    ]  # fmt: skip
    assert [answer["top"][0]["label"] for answer in found] == ["cat", "cat", "dog", "dog"]
    for answer in found:
        assert set(answer) == {"file", "answer", "top"}
        assert answer["answer"] in ("known", "unsure")
        assert len(answer["top"]) == 2  # of three asked for, two are there
        assert sum(entry["score"] for entry in answer["top"]) == pytest.approx(1)


def test_none_of_these(taught, capsys):
    (answer,) = json.loads(call("predict", "model", "strange", "--json", capsys=capsys)[1])
    assert answer["answer"] == "unknown"
    assert len(answer["top"]) == 2
    first, _ = call("predict", "model", "strange", capsys=capsys)[1].split("\n", 1)
    assert "unknown" in first
    assert "%" not in first


def test_people_see_one_class_unless_they_ask_for_more(taught, capsys):
    out = call("predict", "model", "test/cat/0.png", capsys=capsys)[1]
    assert out.split()[:2] == ["test/cat/0.png", "cat"]
    assert "dog" not in out
    assert "dog" in call("predict", "model", "test/cat/0.png", "--top", "2", capsys=capsys)[1]


def test_photos_are_sorted_as_people_count(taught, capsys):
    for i in (10, 9, 100):
        Path("test/dog/1.png").rename(f"test/dog/{i}.png")
        make_colours(Path("test"), "dog", number=2, seed=1)
    found = json.loads(call("predict", "model", "test/dog", "--json", capsys=capsys)[1])
    assert [Path(answer["file"]).stem for answer in found] == ["0", "1", "9", "10", "100"]


def test_the_summary_counts_every_answer():
    given = [("known", "bee"), ("unsure", "bee"), ("known", "ant"), ("unknown", "ant")]
    text = summary([Answer(str(i), a, ((c, 0.9),)) for i, (a, c) in enumerate(given)])
    assert text.startswith("4 photos: 2 bee, 1 ant, 1 unknown. The model is unsure about 1 ")


def test_csv(taught, capsys):
    Path("test/cat/0.png").rename("=1+1.png")
    words = ["=1+1.png", "test/cat", "none.jpg", "--csv", "new/answers.csv"]
    assert call("predict", "model", *words, capsys=capsys)[0] == 1
    head, *rows = csv.reader(Path("new/answers.csv").read_text().splitlines())
    assert head == HEAD
    assert [row[0] for row in rows] == ["'=1+1.png", "test/cat/1.png", "none.jpg"]
    assert {row[1] for row in rows[:2]} <= {"known", "unsure"}
    assert 0.5 < float(rows[0][3]) <= 1
    assert rows[2][1:6] == [""] * 5
    assert "none.jpg" in rows[2][6]
    assert call("predict", "model", *words, capsys=capsys)[0] == 1  # its own file is replaced


def test_paths_from_standard_input(taught, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("test/dog/1.png\n\ntest/cat/*\n"))
    out = call("predict", "model", "-", "--json", capsys=capsys)[1]
    assert [answer["file"] for answer in json.loads(out)] == [
        "test/dog/1.png", "test/cat/0.png", "test/cat/1.png",
    ]  # fmt: skip


@pytest.mark.parametrize("form", ["--json", "--csv=answers.csv", "--top=1"])
def test_a_path_that_is_no_text(form, taught, capsys, monkeypatch):
    name = b"test/dog/\xff.png"
    Path("test/dog/1.png").rename(os.fsdecode(name))
    typed = io.TextIOWrapper(io.BytesIO(name + b"\n"), encoding="utf-8")
    monkeypatch.setattr("sys.stdin", typed)
    code, out, err = call("predict", "model", "-", form, capsys=capsys)
    assert (code, err) == (0, "")
    assert "test/dog/" in (Path("answers.csv").read_text() if "csv" in form else out)


@pytest.mark.parametrize("typed", [io.StringIO("\n"), None])  # None where it is closed
def test_standard_input_without_a_path(typed, taught, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", typed)
    code, out, err = call("predict", "model", "-", "--json", capsys=capsys)
    assert (code, out) == (0, "[]\n")
    assert err == "standard input names no photo: give one path a line\n"


def test_broken_files_are_listed_and_the_rest_answered(taught, capsys):
    Path("test/cat/0.png").write_text("text")
    code, out, err = call("predict", "model", "test", "no.png", "--json", capsys=capsys)
    problems = [
        "the photo test/cat/0.png cannot be read (not an image): repair it, or take it out",
        "there is no folder or file no.png (No such file or directory): check its name",
    ]
    assert code == 1
    assert err == "".join(f"memoryless: {line}\n" for line in problems)
    found = json.loads(out)
    assert [answer.get("error") for answer in found] == [problems[0], None, None, None, problems[1]]
    assert found[0] == {"file": "test/cat/0.png", "answer": None, "top": [], "error": problems[0]}
    code, out, err = call("predict", "model", "no.png", capsys=capsys)
    assert (code, out, err) == (1, "", f"memoryless: {problems[1]}\n")


BAD = {
    "predict nothing test": (3, "there is no model nothing.memoryless: "),
    "predict strange test": (3, "there is no model strange.memoryless: "),
    "predict test/cat/0.png test": (3, "test/cat/0.png is no model: "),
    "predict model empty": (1, "empty holds no photo: name another place"),
    "predict model": (2, "name at least one photo or folder, or - for one path a line"),
    "predict model test --top 0": (2, "--top 0 names no class: choose 1 or more"),
    "predict model test --jsn": (2, "unknown option: --jsn: there are --top, --json, --csv and"),
    "predict model test --csv model.memoryless": (2, "model.memoryless is a model: choose"),
    "predict model test --csv notes.csv": (2, "notes.csv is there and is no table of answers"),
}


@pytest.mark.parametrize("command", BAD)
def test_bad_input(command, taught, capsys):
    Path("empty").mkdir()
    Path("notes.csv").write_text("mine")
    code, out, err = call(*command.split(), capsys=capsys)
    assert (code, out) == (BAD[command][0], "")
    assert err.startswith(f"memoryless: {BAD[command][1]}")
    assert err.count("\n") == 1
    assert not Path("nothing").exists()
