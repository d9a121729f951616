"""The table of heads: what each says of itself is so."""

from __future__ import annotations

import pytest
import torch

from conftest import gather, generator, on_sphere
from memoryless.heads import HEADS, ProjectionSums
from memoryless.statistics import Statistics
from memoryless.transports import TRANSPORTS

READS = {"layer", "rows", "means", "covariances", "projection"}


def source(reads: str) -> tuple:
    """What a head that reads this is made from, of three classes and six features."""
    features, labels = on_sphere()
    if reads in ("layer", "rows"):
        return torch.randn(3, 6), torch.randn(3)
    if reads == "projection":
        return (ProjectionSums.empty(10).add(features, labels, 3),)
    statistics = gather(features, labels, "full")
    # A head of means must do without covariances.
    return (statistics if reads == "covariances" else Statistics(torch.ones(3), statistics.mean),)


@pytest.mark.parametrize("name", HEADS)
def test_a_head_is_made_of_what_it_says_it_reads(name):
    head = HEADS[name]
    assert head.name == name
    assert head.reads in READS
    assert head.gives_logits == (head.reads in ("layer", "rows"))
    assert head.reads_statistics == (head.reads in ("means", "covariances"))
    more = (*on_sphere(), generator()) if head.fitted else ()
    made = head.make(*source(head.reads), *more)
    if head.gives_logits:
        W, b = made
        assert (W.shape, b.shape) == ((3, 6), (3,))
    else:
        assert made(on_sphere()[0]).shape == (120, 3)


@pytest.mark.parametrize("name", HEADS)
def test_every_head_can_be_read_as_its_state_left_it(name):
    assert HEADS[name].reads in TRANSPORTS["none"].moves


@pytest.mark.parametrize("name", [h.name for h in HEADS.values() if h.shrinks])
def test_a_shrinkage_changes_the_scores(name):
    statistics = gather(*on_sphere(), "full")
    few, much = (HEADS[name].make(statistics, g)(on_sphere()[0]) for g in (0.01, 5.0))
    assert not torch.allclose(few, much)
