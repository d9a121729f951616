"""Class statistics: by hand, against NumPy, in any order and split, and as they move and widen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import EVERY_FORM, Labelled, draw_classes, gather, single, statistics_with, sums_of
from memoryless.errors import ConfigError
from memoryless.stats import class_statistics
from memoryless.stats.class_statistics import (
    FORMS,
    ClassStatistics,
    check_form,
    low_rank,
)
from memoryless.stats.scorers import View, square_roots
from memoryless.threads import blas_threads

close = np.testing.assert_allclose


def draw(classes: int = 4, d: int = 5, seed: int = 0, n: int = 40) -> Labelled:
    generator = np.random.default_rng(seed)
    labels = np.r_[np.arange(classes), generator.integers(0, classes, n - classes)]
    centres = generator.normal(size=(classes, d)) * 2
    return centres[labels] + generator.normal(size=(n, d)), labels


def fixed(X: np.ndarray, y: np.ndarray, classes: int, **settings) -> ClassStatistics:
    return ClassStatistics.of(X, y, classes, fixed=True, **settings)


def with_scatters(statistics: ClassStatistics) -> dict[str, np.ndarray]:
    """The arrays, with each class's scatter in place of its spread."""
    arrays = statistics.arrays()
    for name in [name for name in arrays if name.endswith("spread")]:
        group = statistics.groups[int(name[0]) if name[0].isdigit() else 0]
        arrays[name] = np.array([R.T @ R for R in group.spreads(statistics.count)])
    return arrays


def assert_same(one: ClassStatistics, two: ClassStatistics, **tolerance) -> None:
    """The arrays of both are close, and so is what a spread, which is not unique, stands for."""
    one, two = with_scatters(one), with_scatters(two)
    assert one.keys() == two.keys()
    for name in one:
        close(one[name], two[name], err_msg=name, **tolerance)


def of_numpy(features: np.ndarray, labels: np.ndarray, classes: int = 3):
    groups = [features[labels == c].astype(np.float64) for c in range(classes)]
    covariances = np.stack([np.cov(g.T, ddof=0) for g in groups])
    return np.stack([g.mean(0) for g in groups]), covariances, np.array([len(g) for g in groups])


@settings(max_examples=30)
@given(st.integers(0, 99), st.permutations(range(60)))
def test_statistics_of_trained_features_are_those_of_numpy_in_any_order(seed, order):
    features, labels = draw_classes(seed)
    mean, covariances, count = of_numpy(features, labels)
    for form in EVERY_FORM:
        statistics = gather(features[order], labels[order], form)
        assert {a.dtype for a in statistics.arrays().values()} == {np.dtype(np.float32)}
        np.testing.assert_array_equal(statistics.count, count)
        close(statistics.mean, mean, rtol=1e-4, atol=1e-5)
        pooled = np.einsum("n,nij->ij", count / 60, covariances)
        if form in ("full", "tied"):
            close(statistics.pooled, pooled, rtol=1e-3, atol=1e-4)
        if form == "full":
            close(statistics.covariances, covariances, rtol=1e-3, atol=1e-4)
        if form.startswith("low-rank"):  # the widest directions as they are, of the rest the sum
            found, true = (np.linalg.eigvalsh(c) for c in (statistics.covariances, covariances))
            close(found[:, -2:], true[:, -2:], rtol=1e-3, atol=1e-4)
            close(found.sum(1), true.sum(1), rtol=1e-3, atol=1e-4)


def test_statistics_by_hand():
    X, y = np.array([[1.0, 0], [5, 4], [3, 2]]), np.array([1, 0, 1])
    statistics = fixed(X, y, 2)
    assert statistics.count.tolist() == [1, 2]
    assert statistics.mean.tolist() == [[5, 4], [2, 1]]
    assert statistics.first.scatter.tolist() == [[2, 2], [2, 2]]
    assert statistics.centre.tolist() == [3, 2]
    close(statistics.pooled, np.full((2, 2), 2 / 3))


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("offset", [0, 1e6])
@pytest.mark.parametrize("at_once", [1, 35, 50, 2**20])
def test_features_that_are_summed_in_chunks_give_the_same(monkeypatch, at_once, offset, kind):
    """Chunks end within classes or between them; far from zero nothing is lost by that."""
    X, y = draw()
    X = (X + offset).astype(kind)
    before = X.copy()
    monkeypatch.setattr(class_statistics, "AT_ONCE", at_once)
    found = fixed(X, y, 4, forgettable=True)
    assert np.array_equal(X, before)
    exact = X.astype(np.float64)
    mean = np.array([exact[y == c].mean(0) for c in range(4)])
    away = exact - mean[y]
    assert found.count.tolist() == np.bincount(y).tolist()
    close(found.mean, mean, rtol=1e-14)
    close(found.first.scatter, away.T @ away, rtol=1e-7)
    close(found.first.spread.T @ found.first.spread, away.T @ away, rtol=1e-7)


@pytest.mark.parametrize("form", EVERY_FORM)
def test_statistics_are_of_a_view(form):
    X, y = draw()
    found = ClassStatistics.of(X, y, 4, view=View(2, True), form=form)
    assert_same(found, gather(square_roots(X[:, 2:]), y, form, 4), rtol=1e-6)


def test_more_than_256_classes_stand_in_their_order():
    y = np.random.default_rng(0).permutation(300)
    assert fixed(y[:, None].astype(float), y, 300).mean[:, 0].tolist() == list(range(300))


@pytest.mark.parametrize(
    ("variances", "rest", "kept"),
    [([1.0, 9, 1, 4], 1.0, [0.0, 8, 0, 3]), ([9.0, 1, 4], 1.0, [8.0, 0, 3])],
)
def test_low_rank_keeps_the_two_widest_directions(variances, rest, kept):
    """And what is left as the same variance in every direction."""
    factors, left = low_rank(np.diag(variances)[None], 2)
    close(left, [rest])
    close(np.square(factors[0]).sum(0), kept, atol=1e-12)


def test_low_rank_keeps_all_when_it_can():
    whole, low = (gather(*draw_classes(1), form) for form in ("full", "low-rank:9"))
    close(low.covariances, whole.covariances, rtol=1e-3, atol=1e-3)


TURN = np.linalg.qr(single(5, 5))[0]


@pytest.mark.parametrize(
    ("form", "A"),
    [("full", single(5, 5)), ("tied", single(5, 5)), *((form, TURN) for form in EVERY_FORM)],
)
def test_moved_statistics_are_those_of_moved_features(form, A):
    """Those of the low-rank forms where the map turns features."""
    features, labels = draw_classes(2)
    moved, measured = gather(features, labels, form).move(A), gather(features @ A, labels, form)
    close(moved.mean, measured.mean, rtol=1e-4, atol=1e-3)
    if form != "mean":
        close(moved.covariances, measured.covariances, rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("form", EVERY_FORM)
def test_joining_new_classes_is_gathering_them_at_once(form):
    features, labels = draw_classes(3, classes=4)
    first, second = labels < 2, labels >= 2
    joined = gather(features[first], labels[first], form, 2).join(
        gather(features[second], labels[second] - 2, form, 2)
    )
    assert_same(joined, gather(features, labels, form, 4), rtol=1e-5, atol=1e-3)


def test_the_rest_of_a_low_rank_form_grows_by_the_mean_square_of_a_map():
    low = statistics_with(np.ones((1, 2)), factors=np.ones((1, 1, 2)), rest=np.ones(1))
    moved = low.move(np.diag([2.0, 4.0])).first
    close(moved.rest, [10.0])  # (4 + 16) / 2
    close(moved.factors, [[[2.0, 4.0]]])
    close(moved.mean, [[2.0, 4.0]])


def test_means_alone_have_no_covariance():
    means = gather(*draw_classes(5), "mean")
    assert not means.has_covariances
    with pytest.raises(ConfigError, match="learn with `statistics=full`"):
        _ = means.covariances


@pytest.mark.parametrize("form", [form.replace(":K", ":8") for form in FORMS])
def test_forms_are_known(form):
    assert check_form(form) == form


@pytest.mark.parametrize("form", ["fool", "low-rank", "low-rank:0", "low-rank:K"])
def test_other_forms_are_refused(form):
    with pytest.raises(ConfigError, match=f"choose from {', '.join(FORMS)}, K a number"):
        check_form(form)


@pytest.mark.parametrize("form", EVERY_FORM)
def test_widening_adds_to_every_form(form):
    before, noise = gather(*draw_classes(8), form), np.diag(np.arange(1.0, 6.0))
    after = before.widen(noise)
    close(after.mean, before.mean)
    if form == "mean":
        return
    added = after.covariances - before.covariances
    spread = 3 * np.eye(5) if form.startswith("low-rank") else noise  # 3 is the mean variance
    close(added, np.broadcast_to(spread, (3, 5, 5)), rtol=1e-5, atol=1e-5)


def test_past_means_come_to_the_length_of_new_ones_on_average():
    """Past means of lengths 1 and 3 against a new one of 4: twice as long, spreads four times."""
    means = np.array([[1.0, 0], [0, 3.0], [4.0, 0]])
    statistics = statistics_with(means, own=np.broadcast_to(np.eye(2), (3, 2, 2)))
    level = statistics.levelled(np.array([False, False, True]))
    close(level.mean, [[2.0, 0], [0, 6.0], [4.0, 0]])
    close(level.covariances[:, 0, 0], [4.0, 4.0, 1.0])
    assert statistics.levelled(np.full(3, True)) is statistics  # a first state
    zero = statistics_with(np.array([[0.0, 0], [0, 3.0]]))
    assert zero.levelled(np.array([False, True])) is zero


@pytest.mark.parametrize("form", EVERY_FORM[1:])
def test_scaling_features_scales_their_statistics(form, data):
    """A factor for all classes, of which tied and low-rank forms know everything too."""
    features, labels = data
    statistics, expected = gather(features, labels, form), gather(2 * features, labels, form)
    found = statistics.scale(np.full(3, 2.0))
    assert found.arrays().keys() == expected.arrays().keys()
    close(found.mean, expected.mean, rtol=1e-5)
    close(found.covariances, expected.covariances, rtol=1e-4, atol=1e-6)


def test_tied_scatters_are_scaled_by_the_mean_over_images():
    """Counts 3 and 1, factors 1 and 3: (3 + 9) / 4."""
    statistics = statistics_with(np.ones((2, 2)), np.array([3.0, 1.0]), scatter=np.eye(2))
    close(statistics.scale(np.array([1.0, 3.0])).first.scatter, 3 * np.eye(2))


@pytest.mark.parametrize("form", EVERY_FORM)
@pytest.mark.parametrize("fixed", [False, True])
def test_statistics_come_back_from_their_arrays(form, fixed):
    """Of a scatter, which is symmetric, one triangle is stored."""
    statistics = ClassStatistics.of(*draw_classes(1), 3, form=form, fixed=fixed)
    arrays = statistics.arrays()
    again = ClassStatistics.restore(arrays | {"other": np.ones(1)}, fixed)
    assert_same(again, statistics, rtol=0)
    assert again.fixed == fixed
    precision = "f8" if fixed and form == "tied" else "f4"
    assert {array.dtype for array in again.arrays().values()} == {np.dtype(precision)}
    if form == "tied":
        assert arrays["scatter"].shape == (15,)
        close(again.first.scatter, statistics.first.scatter, rtol=1e-6)


def test_more_images_of_a_class_move_its_mean_and_widen_the_scatter():
    """Class 0 has 1 and 3, then 8: mean 4, scatter 9 + 1 + 16; class 1 is new."""
    past = fixed(np.array([[1.0], [3.0]]), np.array([0, 0]), 1)
    more = fixed(np.array([[8.0], [5.0]]), np.array([0, 1]), 2)
    both = past.join(more, np.array([0, 1]))
    assert both.count.tolist() == [3, 1]
    assert both.mean.tolist() == [[4.0], [5.0]]
    assert both.first.scatter.item() == pytest.approx(26)


def test_without_its_spread_a_forgotten_class_stays_in_the_covariance_with_its_weight():
    X, y = np.array([[0.0], [2.0], [0.0], [4.0], [8.0]]), np.array([0, 0, 1, 1, 1])
    statistics = fixed(X, y, 2)
    left = statistics.without(np.array([False, True]))
    assert (left.count.tolist(), left.mean.tolist()) == ([2], [[1.0]])
    close(left.pooled, statistics.pooled)


def test_the_spread_of_a_class_is_its_scatter_and_no_image():
    X = np.random.default_rng(0).normal(size=(5, 9))
    spread = fixed(X, np.zeros(5, dtype=int), 1, forgettable=True).first.spread
    assert spread.shape == (4, 9)
    close(spread.T @ spread, np.cov(X.T, bias=True) * 5)
    differences = (X[:, None] - X).reshape(-1, 9)
    away = np.concatenate([X, X - X.mean(0), differences])
    for sign in (1, -1):
        assert np.abs(spread[:, None] - sign * away).max(2).min() > 1e-3


@pytest.mark.parametrize("other", [False, True])
def test_joined_statistics_can_be_forgotten_exactly_if_both_can(other):
    X, y = draw()
    mine, theirs = fixed(X, y, 4, forgettable=True), fixed(X, y, 4, forgettable=other)
    assert mine.join(theirs).forgettable == theirs.join(mine).forgettable == other


def test_each_group_joins_forgets_and_comes_back_by_itself():
    """Images of four classes come in two parts; a fifth class is in the second alone."""
    X, y = single(40, 5), np.arange(40) % 5
    first = (y < 4) & (np.arange(40) < 20)

    def sums(rows: np.ndarray, gone: int = 0) -> ClassStatistics:
        """Of the first two and of the other features, in a group each."""
        return sums_of([X[rows, :2], X[rows, 2:]], y[rows] - gone, forgettable=True)

    joined, whole = sums(first).join(sums(~first), np.arange(5)), sums(y >= 0)
    assert [group.d for group in joined.groups] == [2, 3]
    assert_same(joined, whole, rtol=0, atol=1e-12)
    left = whole.without(np.arange(5) == 0)
    assert_same(left, sums(y > 0, gone=1), rtol=0, atol=1e-12)
    parts = ["mean", "scatter", "spread"]
    assert [*whole.arrays()] == ["count", *parts, *(f"1.{part}" for part in parts)]
    assert_same(ClassStatistics.restore(whole.arrays(), fixed=True), whole, rtol=0)


def test_sums_use_one_thread_and_leave_the_number_as_it_was(monkeypatch):
    """More threads would round in another order."""
    seen, before, tied = [], blas_threads(), class_statistics._tied

    def watched(*given):
        seen.append(blas_threads())
        return tied(*given)

    monkeypatch.setattr(class_statistics, "_tied", watched)
    ClassStatistics.of(*draw(), 4, fixed=True)
    assert seen == [1]
    assert blas_threads() == before
