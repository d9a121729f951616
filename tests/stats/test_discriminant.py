"""The discriminant over fixed features: formulas by hand, an unbiased layer, its unit."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from memoryless.stats.class_statistics import ClassStatistics
from memoryless.stats.discriminant import Discriminant


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def of_groups(features, labels, classes):
    """Class statistics of several feature groups."""
    each = [ClassStatistics.of(rows, labels, classes, fixed=True) for rows in features]
    return ClassStatistics(each[0].count, tuple(one.first for one in each), fixed=True)


def draw(rng, counts, sizes):
    """Features of each group, and labels, of Gaussian classes with so many photos."""
    y = np.repeat(np.arange(len(counts)), counts)
    return [
        3 * rng.normal(size=(len(counts), d))[y] + rng.normal(size=(len(y), d)) for d in sizes
    ], y


def test_the_layer_is_that_of_the_formulas(rng):
    (features,), y = draw(rng, [4, 9, 20], [5])
    statistics = of_groups([features], y, 3)
    W, b = Discriminant.of(statistics, (0.3,), (1.0,)).layer
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


def test_groups_are_added_by_their_weights(rng):
    features, y = draw(rng, [10, 10, 12], [4, 6])
    statistics = of_groups(features, y, 3)
    W, b = Discriminant.of(statistics, (1.0, 0.1), (1.0, 0.5)).layer
    each = [
        Discriminant.of(of_groups([rows], y, 3), (c,), (1.0,)).layer
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
        W, b = Discriminant.of(of_groups([features], y, 2), (1.0,), (1.0,)).layer
        taken.append((new @ W[:2].T + b[:2]).argmax(1))
    right = np.mean(np.concatenate(taken) == 0)
    assert right > 0.6


def test_equal_classes_keep_their_order(rng):
    (features,), y = draw(rng, [12, 12, 12], [6])
    discriminant = Discriminant.of(of_groups([features], y, 3), (1.0,), (1.0,))
    (group,) = discriminant.groups
    biased = (features - group.centre) @ group.W.T - group.own / 2
    scores = features @ discriminant.layer[0].T + discriminant.layer[1]
    assert_allclose(np.diff(scores[:, :3]), np.diff(biased), atol=1e-9)


def test_the_variance_of_score_differences_is_that_of_the_formula(rng):
    (features,), y = draw(rng, [20, 30, 40], [8])
    (group,) = Discriminant.of(of_groups([features], y, 3), (0.5,), (1.0,)).groups
    S = np.linalg.inv(group.inverse) - group.added * np.eye(8)
    away = group.W[2] - group.W[0]
    expected = group.optimism**2 * away @ S @ away * 90 / 87
    assert_allclose(group.variances(np.array([2]), np.array([0])), expected)


def test_the_unit_grows_with_the_scores(rng):
    features, y = draw(rng, [20, 30, 40], [8])
    statistics = of_groups(features, y, 3)
    one, two = (Discriminant.of(statistics, (1.0,), (weight,)).unit for weight in (1.0, 2.0))
    assert_allclose(two, 2 * one)


@pytest.mark.parametrize("counts", [[1, 1], [5], [2, 2, 2]])
def test_where_little_is_known_nothing_is_corrected(rng, counts):
    (features,), y = draw(rng, counts, [4])
    discriminant = Discriminant.of(of_groups([features], y, len(counts)), (1.0,), (1.0,))
    assert discriminant.groups[0].tau == 0
    assert np.isfinite(discriminant.layer[1]).all()
    assert discriminant.unit > 0


def test_classes_of_identical_photos_are_separated_by_their_means():
    features = np.repeat(np.eye(3)[:2], 20, axis=0)
    y = np.repeat([0, 1], 20)
    W, b = Discriminant.of(of_groups([features], y, 2), (1.0,), (1.0,)).layer
    assert (features @ W[:2].T + b[:2]).argmax(1).tolist() == y.tolist()
