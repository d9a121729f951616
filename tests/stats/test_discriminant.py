"""The discriminant over fixed features: formulas by hand, an unbiased layer, its unit."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from conftest import draw_groups, sums_of
from memoryless.stats.discriminant import Discriminant


def test_the_layer_is_that_of_the_formulas():
    (features,), y = draw_groups([4, 9, 20], [5])
    statistics = sums_of([features], y)
    W, b = Discriminant.of(statistics, (0.3,)).layer
    N, C, d = 33, 3, 5
    means = np.stack([features[y == c].mean(0) for c in range(C)])
    S = (features - means[y]).T @ (features - means[y]) / N
    L = np.linalg.inv(S + 0.3 * np.trace(S) / N * np.eye(d))
    df = np.trace(S @ L)
    tau = df / (1 - df / (N - C)) * N / (N - C)
    scores = features @ W.T + b
    centre = features.mean(0)
    for i, (m, n) in enumerate([*zip(means, [4, 9, 20], strict=True), (centre, N)]):
        expected = features @ L @ m - m @ L @ m / 2 + tau / 2 / n
        offset = features @ L @ centre - centre @ L @ centre / 2  # the same for all classes
        assert_allclose(scores[:, i], expected - offset, atol=1e-9)


def test_groups_are_added_by_their_weights():
    features, y = draw_groups([10, 10, 12], [4, 6])
    statistics = sums_of(features, y)
    W, b = Discriminant.of(statistics, (1.0, 0.1), (1.0, 0.5)).layer
    each = [
        Discriminant.of(sums_of([rows], y), (c,)).layer
        for rows, c in zip(features, (1.0, 0.1), strict=True)
    ]
    assert_allclose(W, np.concatenate([each[0][0], each[1][0] / 2], axis=1))
    assert_allclose(b, each[0][1] + each[1][1] / 2)


def test_classes_with_few_photos_are_not_at_a_disadvantage():
    """Equal classes with 3 and 60 photos: each gets about as many new photos as the other."""
    taken = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        means = rng.normal(size=(2, 40)) * 0.4
        y = np.repeat([0, 1], [3, 60])
        features = means[y] + rng.normal(size=(63, 40))
        new = means[0] + rng.normal(size=(200, 40))
        W, b = Discriminant.of(sums_of([features], y)).layer
        taken.append((new @ W[:2].T + b[:2]).argmax(1))
    right = np.mean(np.concatenate(taken) == 0)
    assert right > 0.6


def test_the_variance_of_score_differences_is_that_of_the_formula():
    (features,), y = draw_groups([20, 30, 40], [8])
    (group,) = Discriminant.of(sums_of([features], y), (0.5,)).groups
    S = np.linalg.inv(group.inverse) - group.added * np.eye(8)
    away = group.W[2] - group.W[0]
    expected = group.optimism**2 * away @ S @ away * 90 / 87
    assert_allclose(group.variances(np.array([2]), np.array([0])), expected)


def test_the_unit_grows_with_the_scores():
    features, y = draw_groups([20, 30, 40], [8])
    statistics = sums_of(features, y)
    one, two = (Discriminant.of(statistics, (1.0,), (weight,)).unit for weight in (1.0, 2.0))
    assert_allclose(two, 2 * one)


@pytest.mark.parametrize("counts", [[1, 1], [5], [2, 2, 2]])
def test_where_little_is_known_nothing_is_corrected(counts):
    (features,), y = draw_groups(counts, [4])
    discriminant = Discriminant.of(sums_of([features], y))
    assert discriminant.groups[0].tau == 0
    assert np.isfinite(discriminant.layer[1]).all()
    assert discriminant.unit > 0


def in_two_parts(features, y):
    """Sums over every second photo, joined to those over the others."""
    odd = np.arange(len(y)) % 2 > 0
    one, two = (sums_of([features[part]], y[part]) for part in (odd, ~odd))
    return one.join(two, np.unique(y))


def test_features_far_from_zero_get_the_scores_of_those_around_it():
    (features,), y = draw_groups([10] * 4, [5])
    W, b = Discriminant.of(sums_of([features], y)).layer
    far_W, far_b = Discriminant.of(in_two_parts(features + 1e8, y)).layer
    scores, found = features @ W.T + b, (features + 1e8) @ far_W.T + far_b
    assert_allclose(found, scores, atol=1e-6 * np.ptp(scores))


def test_rounding_is_no_spread():
    """Photos of a class that are all alike, in two parts: scores are those of the identity."""
    features, y = np.array([[0.1, 0.7]] * 6 + [[0.3, 0.2]] * 5), np.array([0] * 6 + [1] * 5)
    rows = Discriminant.of(in_two_parts(features, y)).layer[0]
    assert_allclose(rows[:2], features[[0, 6]] - features.mean(0))
