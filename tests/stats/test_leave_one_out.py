"""Leave-one-out in closed form equals a model that was really made without the photos."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from conftest import draw_groups, sums_of
from memoryless.stats.discriminant import Discriminant
from memoryless.stats.leave_one_out import UNLIKELY, Sample, leave_one_out, unlikely

COUNTS = (2, 3, 5, 8, 13, 21, 34)
SHRINKAGES, WEIGHTS = (1.0, 0.3), (1.0, 0.5)


@pytest.fixture
def learned():
    """Features of two groups far from zero, labels, and the discriminant of their sums."""
    features, y = draw_groups(COUNTS, (60, 45), (1.0, 1.0))
    features = [50 + rows for rows in features]
    return features, y, solved(features, y)


def solved(features, y):
    return Discriminant.of(
        sums_of(features, y), SHRINKAGES[: len(features)], WEIGHTS[: len(features)]
    )


def refitted(discriminant, features, y, out):
    """Scores of photos `out`, and of the mean of all others, by a model of the others alone."""
    keep = np.setdiff1d(np.arange(len(y)), out)
    N, C = len(y), len(discriminant.groups[0].count)
    scores, of_mean = 0.0, 0.0
    each = zip(discriminant.groups, features, discriminant.weights, strict=True)
    for group, rows, weight in each:
        means = np.stack([rows[keep][y[keep] == c].mean(0) for c in range(C)])
        away = rows[keep] - means[y[keep]]
        L = np.linalg.inv(away.T @ away / N + group.added * np.eye(rows.shape[1]))
        n, centre = np.bincount(y[keep], minlength=C), rows[keep].mean(0)
        own = rows[out] @ L @ means.T - np.einsum("ij,jk,ik->i", means, L, means) / 2
        scores = scores + weight * (own + group.tau / 2 / n)
        mean = rows[out] @ L @ centre - centre @ L @ centre / 2 + group.tau / 2 / len(keep)
        of_mean = of_mean + weight * mean
    return scores, of_mean


def gaps_of(discriminant, features, y, alike):
    """How far the best class of each photo scores above its own."""
    gaps = np.full(len(y), -np.inf)
    for part in leave_one_out(discriminant, features, y, alike):
        own = part.scores[np.arange(len(part.photos)), y[part.photos]]
        gaps[part.photos] = part.scores.max(1) - own
    return gaps


def check_against_refits(discriminant, features, y, alike):
    seen = []
    for part in leave_one_out(discriminant, features, y, alike):
        for photo, scores, margin in zip(part.photos, part.scores, part.margins, strict=True):
            out = np.flatnonzero((y == y[photo]) & (alike == alike[photo]))
            expected, mean = refitted(discriminant, features, y, out)
            own = expected[out.tolist().index(photo)]
            assert_allclose(scores - scores[0], own - own[0], atol=1e-7)
            assert_allclose(margin, own.max() - mean[out.tolist().index(photo)], atol=1e-7)
            seen.append(int(photo))
    return sorted(seen)


def test_each_photo_is_scored_as_by_a_model_without_it(learned):
    """Photos that are nearly the same are left out together; a class without others is not scored.

    All photos of class 0 are one, and the last class has a single photo.
    """
    features, y, _ = learned
    features = [np.concatenate([rows, rows[:1] + 1]) for rows in features]
    y, alike = np.append(y, len(COUNTS)), np.arange(len(y) + 1)
    alike[y == 0] = alike[np.flatnonzero(y == 5)[:4]] = alike[np.flatnonzero(y == 6)[:3]] = 1000
    seen = check_against_refits(solved(features, y), features, y, alike)
    assert seen == list(range(2, len(y) - 1))


@settings(deadline=None, max_examples=20)
@given(st.lists(st.integers(2, 6), min_size=2, max_size=5), st.integers(1, 12), st.integers())
def test_any_small_model_equals_its_refits(counts, d, seed):
    rng = np.random.default_rng(abs(seed))
    y = np.repeat(np.arange(len(counts)), counts)
    features = [rng.normal(size=(len(counts), d))[y] + rng.normal(size=(len(y), d))]
    alike = rng.integers(0, 4, len(y))
    check_against_refits(solved(features, y), features, y, alike)


def test_scores_do_not_depend_on_how_many_are_in_work(learned, monkeypatch):
    features, y, discriminant = learned
    whole = list(leave_one_out(discriminant, features, y, np.arange(len(y))))
    monkeypatch.setattr("memoryless.stats.leave_one_out.AT_ONCE", 500)
    parts = list(leave_one_out(discriminant, features, y, np.arange(len(y))))
    assert len(parts) > len(whole)
    scores = np.concatenate([part.scores for part in parts])
    assert_allclose(scores, np.concatenate([part.scores for part in whole]), rtol=1e-12)


@given(
    st.lists(st.integers(1, 99), max_size=4, unique=True),
    st.permutations(range(5)),
    st.sampled_from([6, 30, 1000]),
)
@settings(deadline=None)
def test_the_same_rows_wait_in_any_order_and_any_chunks(cuts, order, most):
    """Of each class as many as of any other, as far as it has so many."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 3)).astype(np.float32), np.repeat(np.arange(5), 20)
    whole, parts = Sample(5, 10), Sample(5, 10)
    for sample in (whole, parts):
        sample.size, sample.quota = most, max(1, most // 5)
    whole.add(X, y)
    X, y = X.reshape(5, 20, 3)[order].reshape(100, 3), y.reshape(5, 20)[order].ravel()
    for rows, labels in zip(np.split(X, sorted(cuts)), np.split(y, sorted(cuts)), strict=True):
        parts.add(rows, labels)
    assert len(whole.rows) == min(100, 5 * whole.quota)
    assert set(np.bincount(whole.labels)) == {min(20, whole.quota)}
    assert np.array_equal(parts.rows, X[parts.numbers])
    assert np.array_equal(parts.labels, y[parts.numbers])
    assert sorted(map(tuple, parts.rows)) == sorted(map(tuple, whole.rows))


@pytest.mark.parametrize(
    ("brought", "classes", "size", "quota"),
    [(40, 40, 20_000, 500), (1000, 10_000, 5_000, 5), (3000, 10**6, 2_000, 1)],
)
def test_how_many_rows_wait(brought, classes, size, quota):
    sample = Sample(brought, classes)
    assert (sample.size, sample.quota) == (size, quota)
    sample.add(np.random.default_rng(0).normal(size=(2 * size, 2)), np.arange(2 * size) % brought)
    assert len(sample.rows) == size


@pytest.mark.parametrize("temperature", [0.1, 0.5, 1.0])
def test_unlikely_photos_are_those_of_real_refits(learned, temperature):
    """One photo in six has another label; three of these are nearly the same and of one class."""
    features, y, _ = learned
    rng = np.random.default_rng(1)
    y = np.where(rng.random(len(y)) < 1 / 6, rng.permutation(y), y)
    alike = np.arange(len(y))
    alike[np.flatnonzero(y == 5)[:3]] = 1000
    discriminant = solved(features, y)
    found = unlikely(
        discriminant, features, y, alike, gaps_of(discriminant, features, y, alike), temperature
    )
    expected = []
    for i in range(len(y)):
        out = np.flatnonzero((y == y[i]) & (alike == alike[i]))
        if len(out) < (y == y[i]).sum():
            scores = refitted(discriminant, features, y, out)[0][out.tolist().index(i)]
            p = 1 / np.exp((scores - scores[y[i]]) / temperature).sum()
            if p < UNLIKELY and scores.argmax() != y[i]:
                expected.append((p, i, scores.argmax()))
    probabilities, photos, answers = zip(*sorted(expected), strict=True)
    assert found.photos.tolist() == [*photos]
    assert found.answers.tolist() == [*answers]
    assert_allclose(found.probabilities, probabilities, rtol=1e-6)


def test_a_photo_whose_own_class_fits_best_is_not_unlikely():
    """Of 150 classes under a high temperature, each has a probability below `UNLIKELY`."""
    features, y = draw_groups((3,) * 150, (40,), (9.0,))
    discriminant, alike = solved(features, y), np.arange(450)
    gaps = gaps_of(discriminant, features, y, alike)
    assert (gaps == 0).all()
    assert len(unlikely(discriminant, features, y, alike, gaps, 1e9).photos) == 0


def test_photos_that_cannot_be_unlikely_are_not_scored_again(learned, monkeypatch):
    features, y, discriminant = learned
    gaps = np.full(len(y), -np.inf)
    gaps[7], gaps[8] = 5.0, 4.0  # of 7 classes, so that a probability is at least exp(-gap / T) / 7
    scored = []

    def noted(*given):
        for part in leave_one_out(*given):
            scored.extend(part.photos.tolist())
            yield part

    monkeypatch.setattr("memoryless.stats.leave_one_out.leave_one_out", noted)
    unlikely(discriminant, features, y, np.arange(len(y)), gaps, 1.7)
    assert scored == [7]  # 5 is above 1.7 log(100 / 7) = 4.5


def test_only_some_photos_are_scored_with_those_left_out_with_them(learned):
    features, y, discriminant = learned
    alike = np.arange(len(y))
    alike[np.flatnonzero(y == 5)[:3]] = alike[np.flatnonzero(y == 6)[:2]] = 1000
    only = np.zeros(len(y), dtype=bool)
    only[[0, np.flatnonzero(y == 5)[1]]] = True
    whole = {}
    for part in leave_one_out(discriminant, features, y, alike):
        whole |= dict(zip(part.photos.tolist(), part.scores, strict=True))
    found = {}
    for part in leave_one_out(discriminant, features, y, alike, only):
        found |= dict(zip(part.photos.tolist(), part.scores, strict=True))
    assert sorted(found) == [0, *np.flatnonzero(y == 5)[:3]]
    for photo, scores in found.items():
        assert_allclose(scores, whole[photo], rtol=1e-9)
