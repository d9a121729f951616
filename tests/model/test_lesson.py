"""A lesson counts, for each class of its state, how many held-out photos were right."""

from __future__ import annotations

import numpy as np

from memoryless.model import Lesson
from memoryless.stats.confidence import Confidence


def test_held_out_photos_are_counted_by_class():
    scores = np.array([[0, 5, 1], [9, 0, 0], [0, 0, 2]])
    lesson = Lesson.of(
        ["wren", "owl", "cat"],
        taught=np.array([2, 2, 1, 1]),
        scores=scores,
        labels=np.array([1, 1, 2]),
        confidence=Confidence(2.0, -1.0),
        unlike={"owl": 4.0},
    )
    assert (lesson.held_out, lesson.right) == (3, 2)
    assert list(lesson.right_by_class.items()) == [("cat", (1, 1)), ("owl", (1, 2))]
    assert (lesson.temperature, lesson.threshold, lesson.unlike) == (2.0, -1.0, {"owl": 4.0})


def test_where_none_is_held_out_classes_have_none():
    none = np.zeros(0, np.int64)
    lesson = Lesson.of(["a"], np.array([0]), np.zeros((0, 1)), none, Confidence())
    assert (lesson.held_out, lesson.right_by_class) == (0, {"a": (0, 0)})
