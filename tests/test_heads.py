"""The table of heads: what each says of itself is so."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import gather, generator, on_sphere, single
from memoryless.stats.class_statistics import ClassStatistics
from memoryless.stats.heads import HEADS, ProjectionSums
from memoryless.stats.scorers import Linear, Scorer, describe, restore
from memoryless.stats.transports import TRANSPORTS
from memoryless.tensors import from_bytes, to_bytes

READS = {"layer", "rows", "means", "covariances", "projection"}
SHRINKING = [head.name for head in HEADS.values() if head.shrinkage is not None]


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
    assert head.reads in READS
    assert head.gives_logits == (head.reads in ("layer", "rows"))
    assert head.reads_statistics == (head.reads in ("means", "covariances"))
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


@pytest.mark.parametrize("name", HEADS)
def test_every_head_can_be_read_as_its_state_left_it(name):
    assert HEADS[name].reads in TRANSPORTS["none"].moves


@pytest.mark.parametrize("name", SHRINKING)
def test_a_shrinkage_changes_the_scores(name):
    statistics = gather(*on_sphere(), "full")
    few, much = (HEADS[name].over(statistics, g)(on_sphere()[0]) for g in (0.01, 5.0))
    assert not np.allclose(few, much)


@pytest.mark.parametrize("name", SHRINKING)
def test_a_head_has_a_shrinkage_of_its_own(name):
    head, statistics, features = HEADS[name], gather(*on_sphere(), "full"), on_sphere()[0]
    own = head.make(statistics, head.shrinkage)(features)
    assert np.array_equal(head.over(statistics)(features), own)


@pytest.mark.parametrize("given", [None, 0.0, 0.3])
def test_lda_shrinks_otherwise_over_fixed_features(given):
    """S + g tr(S) / n I with n = 120 images, g = 1 unless another is given."""
    features, labels = on_sphere()
    fixed = ClassStatistics.of(features, labels, 3, fixed=True)
    g = 1.0 if given is None else given
    S = fixed.pooled + g * fixed.pooled.trace() / 120 * np.eye(6)
    rows = np.linalg.solve(S, (fixed.mean - fixed.centre).T).T
    np.testing.assert_allclose(HEADS["lda"].over(fixed, given).W, rows, rtol=1e-5, atol=1e-5)
