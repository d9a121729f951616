"""Answers: which photos paths mean, and what is said of each."""

from __future__ import annotations

import io
from types import SimpleNamespace

import numpy as np
import pytest

from memoryless.errors import ConfigError
from memoryless.images.read import Photo, UnreadableError
from memoryless.photos import prediction
from memoryless.photos.prediction import Answer, answers, check_top, find_all
from memoryless.photos.seeing import Verdict
from photo_toys import make_colours


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


MODEL = SimpleNamespace(classes=("ant", "bee", "cow"))


def test_answers_name_the_best_first(monkeypatch):
    verdicts = [
        Verdict(np.array([1.0, 3.0, 2.0]), np.array([0.1, 0.6, 0.3]), 0.5),
        UnreadableError("b", "broken"),
        Verdict(np.array([1.0, 0.0, 2.0]), np.array([0.3, 0.1, 0.6]), -0.5),
    ]
    monkeypatch.setattr(prediction, "judge", lambda *_: iter(verdicts))
    a, b, c = (Photo(name, None, io.BytesIO) for name in "abc")
    found = list(answers(MODEL, [a, Answer("x", error="no"), b, c], top=2))
    assert found == [
        Answer("a", True, (("bee", 0.6), ("cow", 0.3))),
        Answer("x", error="no"),
        Answer("b", error=str(UnreadableError("b", "broken"))),
        Answer("c", False, (("cow", 0.6), ("ant", 0.3))),
    ]


def test_answers_for_programs():
    sound, broken = Answer("a", True, (("bee", 0.6),)), Answer("b", error="no")
    assert sound.as_json() == {"file": "a", "known": True, "top": [{"label": "bee", "score": 0.6}]}
    assert broken.as_json() == {"file": "b", "known": None, "top": [], "error": "no"}
    assert sound.as_row(2) == {
        "file": "a", "known": True, "label_1": "bee", "score_1": 0.6, "label_2": "", "score_2": "",
        "error": "",
    }  # fmt: skip
    assert list(broken.as_row(2)) == list(sound.as_row(2))


def test_top_is_bounded_by_the_classes():
    assert check_top(3, 2) == 2
    with pytest.raises(ConfigError) as error:
        check_top(0, 2)
    assert str(error.value) == "`top=0` names no class: choose 1 or more"
