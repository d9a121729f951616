"""Class statistics against NumPy, and how they move, widen and join."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import EVERY_FORM, draw_classes, gather
from memoryless.errors import ConfigError
from memoryless.statistics import FORMS, Moments, Statistics, check_form, low_rank


def of_numpy(features: torch.Tensor, labels: torch.Tensor, classes: int = 3):
    groups = [features[labels == c].double().numpy() for c in range(classes)]
    covariances = np.stack([np.cov(g.T, ddof=0) for g in groups])
    return np.stack([g.mean(0) for g in groups]), covariances, np.array([len(g) for g in groups])


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 99), st.lists(st.integers(1, 59), max_size=4), st.randoms())
def test_one_pass_equals_numpy_in_any_order_and_batches(seed, cuts, random):
    features, labels = draw_classes(seed)
    order = list(range(60))
    random.shuffle(order)
    mean, covariances, count = of_numpy(features, labels)
    for form in EVERY_FORM:
        moments = Moments(3, 5, form)
        for part in np.split(np.array(order), sorted(cuts)):
            moments.add(features[part], labels[part])
        statistics = moments.statistics()
        np.testing.assert_array_equal(statistics.count, count)
        np.testing.assert_allclose(statistics.mean, mean, rtol=1e-4, atol=1e-5)
        pooled = np.einsum("n,nij->ij", count / 60, covariances)
        if form in ("full", "tied"):
            np.testing.assert_allclose(statistics.pooled, pooled, rtol=1e-3, atol=1e-4)
        if form == "full":
            np.testing.assert_allclose(statistics.full, covariances, rtol=1e-3, atol=1e-4)
        if form.startswith("low-rank"):  # the widest directions as they are, of the rest the sum
            found, true = (np.linalg.eigvalsh(c) for c in (statistics.covariances, covariances))
            np.testing.assert_allclose(found[:, -2:], true[:, -2:], rtol=1e-3, atol=1e-4)
            np.testing.assert_allclose(found.sum(1), true.sum(1), rtol=1e-3, atol=1e-4)


def test_low_rank_by_hand():
    """Variances 9, 4, 1, 1: two directions are kept, and 1 in every direction as the rest."""
    factors, rest = low_rank(torch.diag(torch.tensor([1.0, 9, 1, 4]))[None], 2)
    torch.testing.assert_close(rest, torch.tensor([1.0]))
    widths = factors[0].square().sum(0)
    torch.testing.assert_close(widths, torch.tensor([0.0, 8, 0, 3]))


def test_the_rest_may_be_one_direction():
    _, rest = low_rank(torch.diag(torch.tensor([9.0, 1, 4]))[None], 2)
    torch.testing.assert_close(rest, torch.tensor([1.0]))


def test_low_rank_keeps_all_when_it_can():
    features, labels = draw_classes(1)
    whole, low = (gather(features, labels, form) for form in ("full", "low-rank:9"))
    torch.testing.assert_close(low.covariances, whole.covariances, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("form", ["full", "tied"])
def test_moved_statistics_are_those_of_moved_features(form):
    features, labels = draw_classes(2)
    A = torch.randn(5, 5)
    moved, measured = gather(features, labels, form).move(A), gather(features @ A, labels, form)
    torch.testing.assert_close(moved.mean, measured.mean, rtol=1e-4, atol=1e-3)
    torch.testing.assert_close(moved.covariances, measured.covariances, rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("form", EVERY_FORM)
def test_a_turn_and_back_changes_little_and_joining_is_gathering(form):
    features, labels = draw_classes(3, classes=4)
    first, second = labels < 2, labels >= 2
    joined = gather(features[first], labels[first], form, 2).join(
        gather(features[second], labels[second] - 2, form, 2)
    )
    at_once = gather(features, labels, form, 4)
    assert joined.tensors().keys() == at_once.tensors().keys()
    torch.testing.assert_close(joined.mean, at_once.mean)
    if form != "mean":
        torch.testing.assert_close(joined.covariances, at_once.covariances, rtol=1e-3, atol=1e-3)
    still = at_once.move(torch.eye(5))
    for name, part in at_once.tensors().items():
        torch.testing.assert_close(still.tensors()[name], part)


def test_low_rank_moves_as_it_stands():
    features, labels = draw_classes(4)
    A = torch.randn(5, 5)
    low = gather(features, labels, "low-rank:2")
    turn = torch.linalg.qr(A).Q
    moved = low.move(turn).covariances
    torch.testing.assert_close(moved, turn.T @ low.covariances @ turn, rtol=1e-3, atol=1e-2)


def test_means_alone_have_no_covariance():
    with pytest.raises(ConfigError, match="learn with `statistics=full`"):
        _ = gather(*draw_classes(5), "mean").covariances


@pytest.mark.parametrize("form", FORMS)
def test_forms_are_known(form):
    assert check_form(form.replace(":K", ":8")) == form.replace(":K", ":8")


@pytest.mark.parametrize("form", ["fool", "low-rank", "low-rank:0", "low-rank:K"])
def test_other_forms_are_not(form):
    with pytest.raises(ConfigError, match=f"choose from {', '.join(FORMS)}, K a number"):
        check_form(form)


@pytest.mark.parametrize("form", EVERY_FORM)
def test_widening_adds_to_every_form(form):
    features, labels = draw_classes(8)
    before, noise = gather(features, labels, form), torch.diag(torch.arange(1.0, 6.0))
    after = before.widen(noise)
    torch.testing.assert_close(after.mean, before.mean)
    if form == "mean":
        return
    added = after.covariances - before.covariances
    spread = 3 * torch.eye(5) if form.startswith("low-rank") else noise  # 3 is the mean variance
    torch.testing.assert_close(added, spread.expand(3, 5, 5))


def test_the_rest_of_a_low_rank_form_grows_by_the_mean_square_of_a_map():
    low = Statistics(
        torch.ones(1), torch.ones(1, 2), factors=torch.ones(1, 1, 2), rest=torch.ones(1)
    )
    A = torch.tensor([[2.0, 0], [0, 4.0]])
    moved = low.move(A)
    torch.testing.assert_close(moved.rest, torch.tensor([10.0]))  # (4 + 16) / 2
    torch.testing.assert_close(moved.factors, torch.tensor([[[2.0, 4.0]]]))
    torch.testing.assert_close(moved.mean, torch.tensor([[2.0, 4.0]]))


def test_past_means_come_to_the_length_of_new_ones_on_average():
    """Past means of lengths 1 and 3 against a new one of 4: twice as long, spreads four times."""
    means = torch.tensor([[1.0, 0], [0, 3.0], [4.0, 0]])
    statistics = Statistics(torch.ones(3), means, full=torch.eye(2).expand(3, 2, 2))
    level = statistics.levelled(torch.tensor([False, False, True]))
    torch.testing.assert_close(level.mean, torch.tensor([[2.0, 0], [0, 6.0], [4.0, 0]]))
    torch.testing.assert_close(level.full[:, 0, 0], torch.tensor([4.0, 4.0, 1.0]))


def test_a_first_state_and_past_means_of_zero_stay():
    statistics = Statistics(torch.ones(2), torch.tensor([[0.0, 0], [0, 3.0]]))
    for is_new in ([True, True], [False, True]):
        assert statistics.levelled(torch.tensor(is_new)) is statistics


@pytest.mark.parametrize("form", EVERY_FORM[1:])
def test_scaling_features_scales_their_statistics(form, data):
    """A factor for all classes, of which tied and low-rank forms know everything too."""
    features, labels = data
    scaled = gather(features, labels, form).scale(torch.full((3,), 2.0)).tensors()
    for name, part in gather(2 * features, labels, form).tensors().items():
        if name != "factors":  # roots: only what they make together is compared
            torch.testing.assert_close(scaled[name], part)
    if "factors" in scaled:
        theirs = gather(2 * features, labels, form).factors
        mine = scaled["factors"]
        torch.testing.assert_close(mine.mT @ mine, theirs.mT @ theirs)


def test_tied_covariances_are_scaled_by_the_mean_over_images():
    """Counts 3 and 1, factors 1 and 3: (3 + 9) / 4."""
    statistics = Statistics(torch.tensor([3.0, 1.0]), torch.ones(2, 2), tied=torch.eye(2))
    scaled = statistics.scale(torch.tensor([1.0, 3.0]))
    torch.testing.assert_close(scaled.tied, 3 * torch.eye(2))
