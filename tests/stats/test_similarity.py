"""New images of a class look like those before, or not: by hand, and on drawn features."""

from __future__ import annotations

import numpy as np
import pytest

from conftest import sums_of
from memoryless.stats.similarity import chance_shift, mean_shift


def test_images_of_another_kind_lie_many_standard_errors_away():
    rng = np.random.default_rng(0)
    old, same, other = rng.normal(size=(3, 50, 40)) + np.array([0, 0, 0.5])[:, None, None]
    zeros = np.zeros(50, dtype=int)
    past = sums_of([old], zeros)
    for images, away in ((same, False), (other, True)):
        after = past.join(sums_of([images], zeros), np.array([0]))
        (errors,) = mean_shift(past, after)
        direct = np.linalg.norm(images.mean(0) - old.mean(0))
        variance = after.first.scatter.trace() / 99
        assert errors == pytest.approx(direct / np.sqrt(variance * 2 / 50))
        assert (errors > chance_shift(after)) == away
    without = past.join(sums_of([other], zeros))  # new images show another class
    assert mean_shift(past, without).tolist() == [0]


def test_of_few_features_chance_is_wider():
    X, y = np.random.default_rng(0).normal(size=(90, 50)), np.arange(90) % 3
    assert chance_shift(sums_of([X], y)) == pytest.approx(1.5, abs=0.1)
    alone = chance_shift(sums_of([X[:, :1]], y))
    assert alone == pytest.approx(np.sqrt(1 + 5 * np.sqrt(2)))
