"""A report counts, for each class of its call, how many photos were right."""

from __future__ import annotations

import numpy as np

from memoryless.model import LearningReport, Suspect
from memoryless.stats.confidence import Confidence

NAMES = ["wren", "owl", "cat", "elk"]


def test_photos_are_counted_by_class():
    report = LearningReport.of(
        NAMES,
        brought=np.array([1, 2]),
        answers=np.array([1, 0, 2]),
        labels=np.array([1, 1, 2]),
        confidence=Confidence(2.0, -1.0),
        unlike={"owl": 4.0},
        suspects=(Suspect(1, "owl", "wren", 0.001),),
    )
    assert (report.checked, report.correct) == (3, 2)
    assert list(report.correct_by_class.items()) == [("cat", (1, 1)), ("owl", (1, 2))]
    assert (report.temperature, report.threshold, report.unlike) == (2.0, -1.0, {"owl": 4.0})
    assert report.suspects == [(1, "owl", "wren", 0.001)]


def test_confused_pairs_count_both_directions_and_the_most_comes_first():
    labels = np.array([0, 0, 0, 1, 1, 2, 2, 3])
    answers = np.array([1, 1, 3, 0, 1, 3, 2, 2])
    report = LearningReport.of(NAMES, np.arange(4), answers, labels, Confidence())
    assert report.confused == [
        ("wren", "owl", 3, 5),
        ("cat", "elk", 2, 3),
        ("wren", "elk", 1, 4),
    ]


def test_where_none_is_checked_classes_have_none():
    none = np.zeros(0, np.int64)
    report = LearningReport.of(["a"], np.array([0]), none, none, Confidence())
    assert (report.checked, report.correct_by_class, report.confused) == (0, {"a": (0, 0)}, [])
    assert report.suspects == []
