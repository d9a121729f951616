"""Doubts: classes that may be known ones, and photos that may be of another class."""

from __future__ import annotations

from collections import Counter, defaultdict
from types import SimpleNamespace

import numpy as np
import pytest

from memoryless.photos.doubts import (
    count_answers,
    larger_network,
    maybe_known,
    maybe_mislabelled,
    taken_for,
)


def test_only_classes_that_are_taken_for_one_known_class_count():
    """Three of five for cat; half and half; all that no class fits."""
    answers = [0, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0]
    found = SimpleNamespace(scores=np.eye(2)[answers], known=np.array([True] * 9 + [False] * 2))
    model, counts = SimpleNamespace(classify=lambda rows: found), defaultdict(Counter)
    labels = ["kitten"] * 5 + ["owl"] * 4 + ["elk"] * 2
    count_answers(model, np.zeros(11), labels, counts)
    assert taken_for(("cat", "dog"), counts) == {"kitten": ("cat", 3, 5)}


def test_a_class_that_is_recognised_once_it_is_learned_is_no_known_one():
    taken = {"kitten": ("cat", 3, 5), "owl": ("dog", 5, 5), "elk": ("dog", 5, 5)}
    report = SimpleNamespace(correct_by_class={"kitten": (2, 3), "owl": (3, 4), "elk": (0, 0)})
    (warning,) = maybe_known(taken, report)
    assert warning.startswith("kitten may be cat under another name: 3 of its 5 photos ")


def test_doubts_about_more_photos():
    """The cat's may be dogs, the dog's are dogs, the owl's are unlike; an elk is new."""
    taken = {"cat": ("dog", 9, 12), "dog": ("dog", 12, 12), "elk": ("cat", 12, 12)}
    report = SimpleNamespace(unlike={"cat": 4.0, "owl": 2.345})
    cat, owl = maybe_mislabelled(taken, ("cat", "dog", "owl"), report)
    assert cat.startswith("9 of the 12 new photos of cat were classified as dog ")
    assert owl.startswith("the new photos of owl differ ")
    assert " 2.3 " in owl


@pytest.mark.parametrize(
    ("backbone", "right", "named"),
    [
        ("efficientnet-lite0", 79, True),
        ("efficientnet-lite0", 80, False),
        ("efficientnet-lite0+lite2", 50, False),
        ("onnx:net.onnx", 50, False),
    ],
)
def test_a_larger_network_is_named_where_few_photos_are_right(backbone, right, named):
    found = [*larger_network(backbone, SimpleNamespace(correct=right, checked=100))]
    assert ["`backbone=efficientnet-lite0+lite2` may be" in sentence for sentence in found] == (
        [True] * named
    )
