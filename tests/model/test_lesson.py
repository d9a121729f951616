"""A lesson counts, for each class of its call, how many photos were right."""

from __future__ import annotations

import numpy as np

from memoryless.model import Lesson, Suspect
from memoryless.stats.confidence import Confidence

NAMES = ["wren", "owl", "cat", "elk"]


def test_photos_are_counted_by_class():
    lesson = Lesson.of(
        NAMES,
        brought=np.array([1, 2]),
        answers=np.array([1, 0, 2]),
        labels=np.array([1, 1, 2]),
        confidence=Confidence(2.0, -1.0),
        unlike={"owl": 4.0},
        suspects=(Suspect(1, "owl", "wren", 0.001),),
    )
    assert (lesson.checked, lesson.right) == (3, 2)
    assert list(lesson.right_by_class.items()) == [("cat", (1, 1)), ("owl", (1, 2))]
    assert (lesson.temperature, lesson.threshold, lesson.unlike) == (2.0, -1.0, {"owl": 4.0})
    assert lesson.suspects == [(1, "owl", "wren", 0.001)]


def test_confused_pairs_count_both_directions_and_the_most_comes_first():
    labels = np.array([0, 0, 0, 1, 1, 2, 2, 3])
    answers = np.array([1, 1, 3, 0, 1, 3, 2, 2])
    lesson = Lesson.of(NAMES, np.arange(4), answers, labels, Confidence())
    assert lesson.confused == [
        ("wren", "owl", 3, 5),
        ("cat", "elk", 2, 3),
        ("wren", "elk", 1, 4),
    ]


def test_where_none_is_checked_classes_have_none():
    none = np.zeros(0, np.int64)
    lesson = Lesson.of(["a"], np.array([0]), none, none, Confidence())
    assert (lesson.checked, lesson.right_by_class, lesson.confused) == (0, {"a": (0, 0)}, [])
    assert lesson.suspects == []
