"""The table of heads: what each says of itself is so."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import gather, generator, on_sphere, single
from memoryless.stats.heads import HEADS
from memoryless.stats.projection import ProjectionSums
from memoryless.stats.scorers import Linear, Scorer, describe, restore
from memoryless.stats.transports import TRANSPORTS
from memoryless.tensors import from_bytes, to_bytes


def source(reads: str, features: np.ndarray, labels: np.ndarray) -> tuple:
    """What a head that reads this is made from."""
    classes = int(labels.max()) + 1
    if reads in ("layer", "rows"):
        return single(classes, features.shape[1]), single(classes)
    if reads == "projection":
        return (ProjectionSums.empty(10).add(features, labels, classes),)
    # A head of means must do without covariances.
    form = "full" if reads == "covariances" else "mean"
    return (gather(features, labels, form, classes),)


def scorer_of(name: str, features: np.ndarray, labels: np.ndarray) -> Scorer:
    """The scorer of a head over these images, all of which are of the first state."""
    head, parts = HEADS[name], source(HEADS[name].reads, features, labels)
    if head.gives_logits:
        return Linear(*head.make(*parts))
    return head.make(*parts, features, labels, generator()) if head.fitted else head.over(*parts)


@pytest.mark.parametrize("name", HEADS)
def test_a_head_is_made_of_what_it_says_it_reads(name):
    head = HEADS[name]
    assert head.name == name
    assert head.reads in TRANSPORTS["none"].moves
    scores = scorer_of(name, *on_sphere())(on_sphere()[0])
    assert scores.shape == (120, 3)
    assert scores.dtype == np.float32


@pytest.mark.parametrize(("classes", "images", "d"), [(1, 20, 16), (5, 3, 100)])
@pytest.mark.parametrize("name", HEADS)
def test_a_head_scores_to_the_bit_as_before_it_was_stored(name, classes, images, d):
    """A product's last bits depend on how its matrices lie in memory."""
    features, labels = on_sphere(images, d, classes)
    scorer = scorer_of(name, features, labels)
    facts, arrays = describe(scorer)
    again = restore(facts, from_bytes(to_bytes(arrays))[0])
    assert np.array_equal(again(features), scorer(features))
