"""Sums over photos: by hand, against another computation, and in any order and split."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from memoryless import sums as sums_module
from memoryless.scorers import Linear
from memoryless.sums import Sums, closest, far, moved


def draw(classes: int = 4, d: int = 5, seed: int = 0, n: int = 40):
    generator = np.random.default_rng(seed)
    labels = np.r_[np.arange(classes), generator.integers(0, classes, n - classes)]
    centres = generator.normal(size=(classes, d)) * 2
    return centres[labels] + generator.normal(size=(n, d)), labels


def test_sums_by_hand():
    sums = Sums.of(np.array([[1.0, 0], [5, 4], [3, 2]]), np.array([1, 0, 1]), 2)
    assert sums.count.tolist() == [1, 2]
    assert sums.mean.tolist() == [[5, 4], [2, 1]]
    assert sums.scatter.tolist() == [[2, 2], [2, 2]]
    assert sums.centre.tolist() == [3, 2]


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("offset", [0, 1e6])
@pytest.mark.parametrize("at_once", [1, 35, 50, 2**20])
def test_features_that_are_summed_in_chunks_give_the_same(monkeypatch, at_once, offset, kind):
    """Chunks end within classes or between them; far from zero nothing is lost by that."""
    X, y = draw()
    X = (X + offset).astype(kind)
    monkeypatch.setattr(sums_module, "AT_ONCE", at_once)
    found = Sums.of(X, y, 4, forgettable=True)
    exact = X.astype(np.float64)
    mean = np.array([exact[y == c].mean(0) for c in range(4)])
    away = exact - mean[y]
    assert found.count.tolist() == np.bincount(y).tolist()
    assert np.allclose(found.mean, mean, rtol=1e-15)
    assert np.allclose(found.scatter, away.T @ away, rtol=1e-8)
    assert np.allclose(found.spread.T @ found.spread, away.T @ away, rtol=1e-8)


def test_the_sums_over_some_rows_are_those_over_these_alone():
    X, y = draw()
    rows = np.flatnonzero(np.arange(len(y)) % 3)
    some, alone = Sums.of(X, y[rows], 4, rows=rows), Sums.of(X[rows], y[rows], 4)
    for name in ("count", "mean", "scatter"):
        assert np.array_equal(getattr(some, name), getattr(alone, name))


def test_features_stay_as_they_are():
    X, y = draw()
    before = X.copy()
    Sums.of(X, np.sort(y), 4, forgettable=True)
    assert np.array_equal(X, before)


def test_the_layer_is_linear_discriminant_analysis():
    """Scores differ from -1/2 of the squared Mahalanobis distances by what all classes share."""
    X, y = draw()
    sums = Sums.of(X, y, 4)
    inverse = np.linalg.inv(sums.covariance)
    means = [*(X[y == c].mean(0) for c in range(4)), X.mean(0)]
    distances = np.array([[(x - m) @ inverse @ (x - m) for m in means] for x in X])
    found = sums.discriminant()(X)
    assert found.shape == (40, 5)
    assert np.allclose(found - found[:, :1], (distances[:, :1] - distances) / 2)


def test_the_covariance_is_shrunk_towards_a_sphere():
    X, y = draw()
    sums = Sums.of(X, y, 4)
    away = X - np.array([X[y == c].mean(0) for c in range(4)])[y]
    plain = away.T @ away / len(X)
    added = sums.covariance - plain
    assert np.allclose(added, added[0, 0] * np.eye(5))
    assert added[0, 0] > 0


def test_photos_that_are_all_alike_give_scores():
    sums = Sums.of(np.ones((6, 3)), np.array([0, 0, 0, 1, 1, 1]), 2)
    assert np.isfinite(sums.discriminant()(np.ones((1, 3)))).all()


@given(st.integers(0, 10_000), st.permutations(range(5)), st.integers(1, 5))
def test_any_order_and_any_split_into_states_gives_the_same_scores(seed, order, states):
    X, y = draw(5, 4, seed, 30)
    whole = Sums.of(X, y, 5).discriminant()(X)
    parts: Sums | None = None
    for classes in np.array_split(np.array(order), states):
        mask = np.isin(y, classes)
        own = np.searchsorted(np.sort(classes), y[mask])
        shuffled = np.random.default_rng(seed).permutation(mask.sum())
        state = Sums.of(X[mask][shuffled], own[shuffled], len(classes))
        parts = parts.join(state) if parts else state
    columns = np.concatenate([np.sort(c) for c in np.array_split(np.array(order), states)])
    found = parts.discriminant()(X)[:, :-1]
    assert np.abs(found - whole[:, columns]).max() <= 1e-6 * np.ptp(whole)


def test_sums_come_back_from_their_arrays():
    sums = Sums.of(*draw(), 4)
    arrays = sums.arrays()
    assert arrays["scatter"].shape == (15,)
    again = Sums.restore(arrays)
    assert np.array_equal(again.scatter, np.triu(sums.scatter) + np.triu(sums.scatter, 1).T)
    assert np.array_equal(again.mean, sums.mean)
    assert np.array_equal(again.count, sums.count)


def test_the_closest_pairs_and_what_they_lose():
    """Under the identity, means at 0, 1, 10 and 12: the new two and their nearest neighbours."""
    mean = np.array([[0.0], [1.0], [10.0], [12.0]])
    sums = Sums(np.ones(4), mean, np.zeros((1, 1)))
    layer = Linear(np.r_[mean, [[0.0]]], -(np.r_[mean[:, 0], 0.0] ** 2) / 2)
    pairs = closest(sums, layer, 2, temperature=1.0)
    assert [pair[:2] for pair in pairs] == [(3, 2), (2, 1), (2, 0)]
    assert pairs[0][2] == pytest.approx(norm.cdf(-1))
    assert closest(sums, layer, 2, temperature=4.0)[0][2] == pytest.approx(norm.cdf(-0.5))
    assert closest(sums, layer, 4, 1.0, number=1)[0][:2] == (1, 0)


def test_one_class_has_no_pair():
    sums = Sums.of(np.random.default_rng(0).normal(size=(5, 2)), np.zeros(5, dtype=int), 1)
    assert closest(sums, sums.discriminant(), 1, 1.0) == []


def test_more_photos_of_a_class_move_its_mean_and_widen_the_scatter():
    """Class 0 has 1 and 3, then 8: mean 4, scatter 9 + 1 + 16; class 1 is new."""
    past = Sums.of(np.array([[1.0], [3.0]]), np.array([0, 0]), 1)
    more = Sums.of(np.array([[8.0], [5.0]]), np.array([0, 1]), 2)
    both = past.join(more, np.array([0, 1]))
    assert both.count.tolist() == [3, 1]
    assert both.mean.tolist() == [[4.0], [5.0]]
    assert both.scatter.item() == pytest.approx(26)


def test_without_its_spread_a_forgotten_class_stays_in_the_covariance_with_its_weight():
    sums = Sums.of(np.array([[0.0], [2.0], [0.0], [4.0], [8.0]]), np.array([0, 0, 1, 1, 1]), 2)
    left = sums.without(np.array([False, True]))
    assert (left.count.tolist(), left.mean.tolist()) == ([2], [[1.0]])
    assert left.scatter / 2 == pytest.approx(sums.scatter / 5)


def test_with_its_spread_a_class_is_forgotten_as_if_it_had_never_been():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 9)), rng.integers(0, 4, 60)
    left = Sums.of(X, y, 4, forgettable=True).without(np.arange(4) == 2)
    places = np.array([0, 1, 0, 2])  # of the classes that stay
    never = Sums.of(X[y != 2], places[y[y != 2]], 3, forgettable=True)
    for name in ("count", "mean", "scatter"):
        assert np.allclose(getattr(left, name), getattr(never, name), rtol=0, atol=1e-12)


def test_the_spread_of_a_class_is_its_scatter_and_no_photo():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5, 9))
    sums = Sums.of(X, np.zeros(5, dtype=int), 1, forgettable=True)
    assert sums.spread.shape == (4, 9)
    assert np.allclose(sums.spread.T @ sums.spread, np.cov(X.T, bias=True) * 5)
    away = np.concatenate(
        [X, X - X.mean(0), X[:, None].repeat(5, 1).reshape(-1, 9) - np.tile(X, (5, 1))]
    )
    for sign in (1, -1):
        assert np.abs(sums.spread[:, None] - sign * away).max(2).min() > 1e-3


def test_photos_of_another_kind_lie_many_standard_errors_away():
    rng = np.random.default_rng(0)
    old, same, other = rng.normal(size=(3, 50, 40)) + np.array([0, 0, 0.5])[:, None, None]
    zeros = np.zeros(50, dtype=int)
    past = Sums.of(old, zeros, 1)
    for photos, away in ((same, False), (other, True)):
        after = past.join(Sums.of(photos, zeros, 1), np.array([0]))
        (errors,) = moved(past, after)
        direct = np.linalg.norm(photos.mean(0) - old.mean(0))
        variance = after.scatter.trace() / 99
        assert errors == pytest.approx(direct / np.sqrt(variance * 2 / 50))
        assert (errors > far(after)) == away


def test_classes_without_new_photos_have_not_moved():
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2
    past = Sums.of(X, y, 2)
    after = past.join(Sums.of(X + 9, y, 2), np.array([1, 2]))
    errors = moved(past, after)
    assert errors[0] == 0
    assert errors[1] > far(after)


def test_of_few_features_chance_is_wider():
    X, y = np.random.default_rng(0).normal(size=(90, 50)), np.arange(90) % 3
    assert far(Sums.of(X, y, 3)) == pytest.approx(1.5, abs=0.1)
    assert far(Sums.of(X[:, :1], y, 3)) == pytest.approx(np.sqrt(1 + 5 * np.sqrt(2)))


def test_rounding_is_no_spread():
    """Photos that are all alike, in two parts: nothing but rounding differs, and scores are those
    of the identity.
    """
    X, y = np.array([[0.1, 0.7]] * 6 + [[0.3, 0.2]] * 5), np.array([0] * 6 + [1] * 5)
    parts = (
        Sums.none(2)
        .join(Sums.of(X[1::2], y[1::2], 2))
        .join(Sums.of(X[::2], y[::2], 2), np.array([0, 1]))
    )
    assert np.allclose(parts.covariance, np.eye(2))
