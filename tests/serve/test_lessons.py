"""Lessons in memory: places, several labels, expiry."""

from __future__ import annotations

import numpy as np
import pytest

from memoryless.images.read import Facts
from memoryless.serve.lessons import Entry, Lessons
from memoryless.serve.limits import Limits
from memoryless.serve.refusals import Refusal


def entry(label: str, digest: str = "a") -> Entry:
    return Entry(label, np.zeros(2), Facts(digest, 0, 1, 1, True))


def test_places_are_never_given_twice():
    lesson = Lessons(Limits()).open("net", ["cat"])
    assert lesson.add([entry("cat"), None, entry("dog")]) == [0, 1, 2]
    assert [*lesson.entries] == [0, 2]
    assert lesson.remove([2, 2, 9]) == 1
    assert lesson.add([entry("dog")]) == [3]
    assert lesson.counts() == {"cat": 1, "dog": 1}


def test_equal_photos_under_several_labels():
    lesson = Lessons(Limits()).open("net", [])
    lesson.add([entry("cat", "a"), entry("dog", "b"), entry("dog", "a"), entry("cat", "a")])
    assert lesson.under_several_labels() == [0, 2, 3]


def test_a_lesson_that_nobody_uses_is_dropped():
    time = [0.0]
    lessons = Lessons(Limits(lesson_seconds=10), clock=lambda: time[0])
    one, two = lessons.open("net", []), lessons.open("net", [])
    time[0] = 9.0
    assert lessons.get(one.id) is one
    time[0] = 11.0
    lessons.drop_old()
    assert len(lessons) == 1
    with pytest.raises(Refusal, match="perhaps it expired"):
        lessons.get(two.id)
    one.busy = True
    time[0] = 99.0
    lessons.drop_old()
    assert len(lessons) == 1  # it is being learned


def test_a_lesson_that_is_learned_takes_nothing_more():
    lessons = Lessons(Limits())
    lesson = lessons.open("net", [])
    lesson.busy = True
    with pytest.raises(Refusal, match="wait for the answer") as refused:
        lessons.get(lesson.id)
    assert refused.value.status == 409


def test_classes_of_a_lesson_are_limited():
    lessons = Lessons(Limits(classes=2))
    lesson = lessons.open("net", [])
    lesson.add([entry("cat"), entry("dog")])
    lessons.check_room(lesson, 1, ["dog"])
    with pytest.raises(Refusal, match="2 classes at most"):
        lessons.check_room(lesson, 1, ["elk"])


def test_a_copy_is_as_the_lesson_was():
    lesson = Lessons(Limits()).open("net", [])
    lesson.add([entry("cat")])
    copy = lesson.copy()
    lesson.remove([0])
    assert copy.counts() == {"cat": 1}
