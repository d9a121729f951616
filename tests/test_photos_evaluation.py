"""Numbers of an evaluation, worked by hand on a model whose verdicts are given."""

from __future__ import annotations

import io
from types import SimpleNamespace

import numpy as np
import pytest

from memoryless.errors import DataError
from memoryless.images.read import Photo, UnreadableError
from memoryless.photos import evaluation
from memoryless.photos.evaluation import evaluate
from memoryless.photos.seeing import Verdict

MODEL = SimpleNamespace(classes=("ant", "bee", "cow"), class_state=(0, 0, 1))
# label, probabilities of ant, bee, cow, margin
GIVEN = [
    ("ant", (0.8, 0.1, 0.1), 2.0),
    ("ant", (0.2, 0.7, 0.1), 1.0),
    ("bee", (0.1, 0.9, 0.0), 3.0),
    ("cow", (0.9, 0.0, 0.1), -1.0),
    ("cow", (0.1, 0.3, 0.6), 4.0),
    ("elk", (0.4, 0.3, 0.3), -2.0),
    ("elk", (0.5, 0.3, 0.2), 1.5),
    ("bee", UnreadableError("7", "not an image"), 0.0),
]


def photo(name: str, label: str) -> Photo:
    return Photo(name, label, io.BytesIO)


@pytest.fixture
def found(monkeypatch):
    verdicts = [
        given
        if isinstance(given, UnreadableError)
        else Verdict(np.log(np.array(given) + 1e-9), np.array(given), m)
        for _, given, m in GIVEN
    ]
    monkeypatch.setattr(evaluation, "judge", lambda model, photos, progress: iter(verdicts))
    return evaluate(MODEL, [photo(str(i), label) for i, (label, *_) in enumerate(GIVEN)])


def test_accuracies_leave_unknown_classes_out(found):
    assert (found.photos, found.top1, found.top5) == (5, 60.0, 100.0)


def test_by_state_the_first_is_1(found):
    assert found.states == [
        {"state": 1, "classes": 2, "photos": 3, "top1": pytest.approx(200 / 3)},
        {"state": 2, "classes": 1, "photos": 2, "top1": 50.0},
    ]


def test_by_class_worst_first(found):
    assert found.classes == [
        {"class": "ant", "state": 1, "photos": 2, "top1": 50.0},
        {"class": "cow", "state": 2, "photos": 2, "top1": 50.0},
        {"class": "bee", "state": 1, "photos": 1, "top1": 100.0},
    ]


def test_confused_pairs(found):
    assert found.confused == [
        {"class": "ant", "taken_for": "bee", "times": 1, "photos": 2},
        {"class": "cow", "taken_for": "ant", "times": 1, "photos": 2},
    ]


def test_the_surest_mistake_comes_first(found):
    told = [(m.photo.name, m.answer, m.probability, m.own) for m in found.mistakes]
    assert told == [("3", "ant", 0.9, 0.1), ("1", "bee", 0.7, 0.2)]


def test_known_against_unknown(found):
    """Of 5 x 2 pairs, the known one is above but for -1 and 1 against 1.5."""
    assert found.unknown == {"elk": 2}
    assert found.auroc == 80.0
    assert (found.accepted, found.rejected) == (80.0, 50.0)


def test_calibration_by_hand(found):
    """Each in a bin of its own, but for 0.9 twice: one of these is right."""
    gaps = [abs(0.8 - 1), 0.7, abs(0.9 + 0.9 - 1), abs(0.6 - 1)]
    assert found.ece == pytest.approx(100 * sum(gaps) / 5)


def test_broken_photos_are_told(found):
    assert found.broken == {"7": str(GIVEN[7][1])}


def test_as_json_names_no_photo_but_broken_ones(found):
    told = found.as_json()
    assert {"top1", "top5", "classes", "states", "confused", "ece", "auroc"} <= set(told)
    assert "mistakes" not in told


def test_without_unknown_classes_there_is_no_auroc(monkeypatch):
    verdicts = [Verdict(np.array([2.0, 1, 0]), np.array([0.8, 0.1, 0.1]), 1.0)]
    monkeypatch.setattr(evaluation, "judge", lambda *_: iter(verdicts))
    found = evaluate(MODEL, [photo("0", "ant")])
    assert found.auroc is found.rejected is None


def test_no_class_is_known():
    with pytest.raises(DataError) as error:
        evaluate(MODEL, [photo("0", "owl"), photo("1", "elk")])
    assert str(error.value) == (
        "the model knows none of the classes there (elk, owl): it knows ant, bee, cow"
    )


def test_no_photo_of_a_known_class_can_be_read(monkeypatch):
    monkeypatch.setattr(evaluation, "judge", lambda *_: iter([UnreadableError("0", "broken")]))
    with pytest.raises(DataError) as error:
        evaluate(MODEL, [photo("0", "ant")])
    assert (
        str(error.value)
        == f"no photo of a known class can be read: {UnreadableError('0', 'broken')}"
    )
