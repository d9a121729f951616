"""Attacks, what they reach, and how sure that is: worked by hand, and against scikit-learn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from conftest import statistics_with, sums_of
from memoryless.stats import membership
from memoryless.stats.membership import by_distance, by_scatter, by_score, centred, separate
from memoryless.stats.metrics import auroc

numbers = st.lists(st.integers(-20, 20).map(float), min_size=2, max_size=30).map(np.array)


def test_rates_by_hand():
    """Above 3, the largest of the others, are two of four members; pairs: 4 + 4 + 3.5 + 1 of 16."""
    told = separate(np.array([5.0, 4, 3, 0.5]), np.array([3.0, 2, 1, 0]), 0)
    assert (told.members, told.others) == (4, 4)
    assert told.auroc.value == 100 * (4 + 4 + 3.5 + 1) / 16
    assert told.tpr.value == 50.0


@pytest.mark.parametrize(("number", "told"), [(99, 0.0), (100, 50.0), (199, 50.0), (200, 100.0)])
def test_one_in_a_hundred_others_may_be_taken_for_a_member(number, told):
    """Members lie below the first, and below the second, of others that count down from 0."""
    others = -np.arange(number, dtype=float)
    assert separate(np.array([-0.5, -1.5]), others, 0).tpr.value == told


@pytest.mark.parametrize(
    ("members", "others", "auroc", "tpr"),
    [(np.ones(5), np.ones(7), 50, 0), (np.array([2.0, 3]), np.array([0.0, 1]), 100, 100)],
    ids=["ties", "certainty"],
)
def test_where_every_draw_is_alike_there_is_no_interval(members, others, auroc, tpr):
    told = separate(members, others, 0)
    assert told.auroc == membership.Estimate(auroc, auroc, auroc)
    assert told.tpr == membership.Estimate(tpr, tpr, tpr)


@given(numbers, numbers)
def test_the_area_is_that_of_scikit_learn_and_of_metrics(members, others):
    told = separate(members, others, 0)
    truth = [1] * len(members) + [0] * len(others)
    expected = 100 * roc_auc_score(truth, np.concatenate([members, others]))
    assert told.auroc.value == pytest.approx(expected)
    assert told.auroc.value == pytest.approx(auroc(members, others))
    for of in (told.auroc, told.tpr):
        assert 0 <= of.low <= of.high <= 100
        assert 0 <= of.value <= 100


@given(numbers, numbers)
def test_only_the_order_of_numbers_counts(members, others):
    assert separate(members, others, 0) == separate(np.exp(members), np.exp(others), 0)


def test_weights_are_repeated_photos():
    """A draw in which photos count twice or never is the same as an array that holds them so."""
    random = np.random.default_rng(0)
    members, others = np.sort(random.normal(1, 1, 12)), np.sort(random.normal(0, 1, 15))
    times, others_times = (
        random.multinomial(12, [1 / 12] * 12),
        random.multinomial(15, [1 / 15] * 15),
    )
    drawn = membership.rates(members, others, times[None], others_times[None])
    repeated = np.repeat(members, times), np.repeat(others, others_times)
    again = membership.rates(*repeated, np.ones((1, 12)), np.ones((1, 15)))
    assert np.allclose(drawn, again)


def test_intervals_hold_the_truth_as_often_as_they_say():
    """Of two normal classes one apart, a member is above an other in 76.0 % of the pairs."""
    random = np.random.default_rng(0)
    held = 0
    for i in range(100):
        told = separate(random.normal(1, 1, 40), random.normal(0, 1, 40), i)
        assert told.auroc.low <= told.auroc.value <= told.auroc.high
        held += told.auroc.low <= 76.02 <= told.auroc.high
    assert held >= 88


def test_draws_are_a_function_of_seed_and_purpose(monkeypatch):
    random = np.random.default_rng(0)
    members, others = random.normal(1, 1, 20), random.normal(0, 1, 20)
    first = separate(members, others, 0, "ant")
    assert separate(members, others, 0, "ant") == first
    assert separate(members, others, 0, "bee") != first
    assert separate(members, others, 1, "ant") != first


def test_draws_are_made_in_bounded_parts(monkeypatch):
    monkeypatch.setattr(membership, "ENTRIES", 400)
    parts = list(membership._draws(30, 10, 0))
    assert [len(first) for first, _ in parts] == [10] * 100
    assert all(
        (first.sum(1) == 30).all() and (second.sum(1) == 10).all() for first, second in parts
    )


def test_classes_are_centred_between_their_means():
    """Means of 2 and 0, and of 12 and 8: the middles are 1 and 10."""
    members, others = centred(
        [np.array([1.0, 3]), np.array([12.0])], [np.array([0.0]), np.array([8.0, 8])]
    )
    assert members.tolist() == [0, 2, 2]
    assert others.tolist() == [-1, -2, -2]


def test_the_score_counts_above_the_best_other():
    scores = np.array([[3.0, 1, 2], [0, 5, 4]], dtype=np.float32)
    assert by_score(scores, np.array([0, 2])).tolist() == [1, -1]
    assert by_score(scores[:, :1], np.array([0, 0])).tolist() == [3, 0]


def test_distance_to_the_own_mean():
    statistics = statistics_with(np.array([[0.0, 0], [3, 4]]))
    assert by_distance(np.zeros((2, 2)), np.array([0, 1]), statistics).tolist() == [0, -5]


@pytest.mark.parametrize(
    ("photos", "d", "scatter", "distance"),
    [(6, 30, (100, 100), (60, 99)), (1000, 3, (45, 55), (45, 55))],
    ids=["few", "many"],
)
def test_a_scatter_tells_photos_that_are_few(photos, d, scatter, distance):
    """Twelve photos in thirty dimensions: the distance is not sure, the scatter is."""
    labels = np.repeat([0, 1], photos)
    members, others = np.random.default_rng(0).normal(size=(2, 2 * photos, d))
    statistics = sums_of([members], labels)
    for attack, (low, high) in ((by_scatter, scatter), (by_distance, distance)):
        each = (attack(photos, labels, statistics) for photos in (members, others))
        assert low <= auroc(*each) <= high


def test_photos_that_are_all_alike_have_no_scatter():
    features, labels = np.ones((4, 3)), np.zeros(4, dtype=int)
    assert by_scatter(features, labels, sums_of([features], labels)).tolist() == [0, 0, 0, 0]


def test_the_own_scatter_of_a_class_tells_more_than_the_shared_one():
    """400 samples of 20 classes fill all 30 directions together, and 20 of them do not."""
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(800, 30)), np.arange(800) % 20
    statistics = sums_of([X[:400]], labels[:400], forgettable=True)
    shared = replace(statistics, groups=(replace(statistics.first, spread=None),))
    reached = []
    for kept in (shared, statistics):
        found = by_scatter(X, labels, kept)
        reached.append(auroc(found[:400], found[400:]))
    assert reached[0] < 75
    assert reached[1] == 100
