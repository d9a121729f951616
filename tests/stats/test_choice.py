"""The choice of weights and shrinkages: its criterion by the formula, and what it chooses."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from conftest import draw_groups, sums_of
from memoryless.stats import choice
from memoryless.stats.choice import choose


def expected_error(features, y, chosen):
    """The criterion, pair by pair as in its definition."""
    C, n, N = y.max() + 1, np.bincount(y), len(y)
    total = []
    for i in range(C):
        if n[i] == 1:
            continue
        error = 0.0
        for j in set(range(C)) - {i}:
            D, s = 0.0, []
            for rows, (w, c) in zip(features, chosen, strict=True):
                m = np.stack([rows[y == k].mean(0) for k in range(C)]) - rows.mean(0)
                away = rows - rows.mean(0) - m[y]
                S = away.T @ away / N
                L = np.linalg.inv(S + c * np.trace(S) / N * np.eye(len(S)))
                df = np.trace(S @ L)
                a = 1 / max(1 - df / (N - C), 0.02)
                tau, W = a * df * N / (N - C), m @ L
                b = [-m[k] @ L @ m[k] / 2 + tau / 2 / n[k] for k in range(C)]
                D += w * ((W[i] - W[j]) @ m[i] + b[i] - b[j] - a * df / n[i])
                V = a**2 * (W[i] - W[j]) @ S @ (W[i] - W[j]) * N / (N - C)
                s.append(w * np.sqrt(V))
            V = 0.5 * sum(x * x for x in s) + 0.5 * sum(s) ** 2
            error += norm.cdf(-D / np.sqrt(max(V, 1e-12)))
        total.append(min(1.0, error))
    return np.mean(total)


@pytest.mark.parametrize("counts", [(20,) * 6, (3, 30, 8, 1, 12, 20)])
def test_the_criterion_is_that_of_the_formula(counts):
    features, y = draw_groups(counts, (12, 9), (0.7, 0.5))
    errors = choice._Errors(sums_of(features, y))
    for chosen in ([(1.0, 1.0), (0.5, 0.3)], [(1.0, 0.1), (4.0, 1.0)]):
        assert_allclose(errors(chosen), expected_error(features, y, chosen), rtol=1e-9)
    alone = expected_error(features[:1], y, [(1.0, 0.3)])
    assert_allclose(errors([(1.0, 0.3), (0.0, 1.0)]), alone, rtol=1e-9)


def test_a_group_that_tells_classes_apart_gets_weight_and_noise_gets_none():
    features, y = draw_groups((40,) * 6, (12, 9, 10), (0.3, 1.0, 0.0))
    found = choose(sums_of(features, y))
    assert found.weights[1] >= 1
    assert found.weights[::2] == (1.0, 0.0)


def test_the_choice_lowers_the_criterion_by_two_percent_or_stays():
    features, y = draw_groups((20,) * 6, (12, 9), (0.5, 0.5))
    statistics = sums_of(features, y)
    errors, found = choice._Errors(statistics), choose(statistics)
    start = errors([(1.0, 1.0), (0.0, 1.0)])
    assert errors([*found.chosen]) < 0.98 * start


@pytest.mark.parametrize(
    ("counts", "distances"),
    [((30,), (1.0, 1.0)), ((5, 5, 5), (1.0, 1.0)), ((30, 30), (40.0, 40.0))],
    ids=["one class", "few photos", "no error"],
)
def test_where_nothing_is_known_the_start_stays(counts, distances):
    features, y = draw_groups(counts, (12, 9), distances)
    assert choose(sums_of(features, y)).weights == (1.0, 0.0)


def test_identical_photos_tell_nothing():
    features = [np.repeat(np.eye(3)[:2], 20, axis=0)] * 2
    assert choose(sums_of(features, np.repeat([0, 1], 20))).weights == (1.0, 0.0)


def test_of_many_classes_some_are_compared_with_their_nearest(monkeypatch):
    features, y = draw_groups((10,) * 60, (12, 9), (0.6, 0.4))
    statistics = sums_of(features, y)
    whole = choice._Errors(statistics)
    monkeypatch.setattr(choice, "ALL", 40)
    some = choice._Errors(statistics)
    start = [(1.0, 1.0), (0.0, 1.0)]
    taken = norm.cdf(-np.divide(*whole._pairs(0, 1.0)))[some.rows]
    nearest = -np.sort(-taken, axis=1)[:, :20].sum(1)
    assert some(start) == pytest.approx(np.minimum(nearest, 1).mean(), rel=0.02)
    assert some.pairs[0, 1.0][0].shape == (40, 20)


def test_the_order_of_classes_does_not_change_which_are_compared(monkeypatch):
    monkeypatch.setattr(choice, "ALL", 40)
    features, y = draw_groups((10,) * 60, (12, 9), (0.6, 0.4))
    swapped = np.random.default_rng(1).permutation(60)
    one, other = (choice._Errors(sums_of(features, labels)) for labels in (y, swapped[y]))
    assert set(other.rows.tolist()) == set(swapped[one.rows].tolist())
    assert one([(1.0, 0.3), (0.5, 1.0)]) == pytest.approx(other([(1.0, 0.3), (0.5, 1.0)]))
