"""Class statistics and transports against NumPy, known drifts and each other."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from memoryless.errors import ConfigError
from memoryless.statistics import FORMS, Moments, Statistics, check_form, low_rank
from memoryless.transports import (
    TRANSPORTS,
    Passage,
    backward_map,
    linear_map,
    measure_drift,
    residual,
    semantic_drift,
)

EVERY_FORM = ["mean", "diagonal", "low-rank:2", "tied", "full"]


def draw(seed: int, n: int = 60, d: int = 5, classes: int = 3) -> tuple[torch.Tensor, torch.Tensor]:
    """Features far from the origin, and labels in which every class occurs."""
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(classes), rng.integers(0, classes, n - classes)])
    features = rng.normal(0, 1, (n, d)) @ rng.normal(0, 1, (d, d)) + 10 * labels[:, None]
    return torch.from_numpy(features).float(), torch.from_numpy(labels)


def gather(features: torch.Tensor, labels: torch.Tensor, form: str, classes: int = 3) -> Statistics:
    moments = Moments(classes, features.shape[1], form)
    moments.add(features, labels)
    return moments.statistics()


def of_numpy(features: torch.Tensor, labels: torch.Tensor, classes: int = 3):
    groups = [features[labels == c].double().numpy() for c in range(classes)]
    covariances = np.stack([np.cov(g.T, ddof=0) for g in groups])
    return np.stack([g.mean(0) for g in groups]), covariances, np.array([len(g) for g in groups])


@settings(deadline=None)
@given(st.integers(0, 99), st.lists(st.integers(1, 59), max_size=4), st.randoms())
def test_one_pass_equals_numpy_in_any_order_and_batches(seed, cuts, random):
    features, labels = draw(seed)
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
        if form == "diagonal":
            expected = covariances.diagonal(axis1=1, axis2=2)
            np.testing.assert_allclose(statistics.diagonal, expected, rtol=1e-3, atol=1e-4)
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


def test_low_rank_keeps_all_when_it_can():
    features, labels = draw(1)
    whole, low = (gather(features, labels, form) for form in ("full", "low-rank:9"))
    torch.testing.assert_close(low.covariances, whole.covariances, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("form", ["full", "tied"])
def test_moved_statistics_are_those_of_moved_features(form):
    features, labels = draw(2)
    A = torch.randn(5, 5)
    moved, measured = gather(features, labels, form).move(A), gather(features @ A, labels, form)
    torch.testing.assert_close(moved.mean, measured.mean, rtol=1e-4, atol=1e-3)
    torch.testing.assert_close(moved.covariances, measured.covariances, rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize("form", EVERY_FORM)
def test_a_turn_and_back_changes_little_and_joining_is_gathering(form):
    features, labels = draw(3, classes=4)
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


def test_diagonal_and_low_rank_move_as_they_stand():
    features, labels = draw(4)
    A = torch.randn(5, 5)
    diagonal = gather(features, labels, "diagonal")
    expected = (A.T @ diagonal.covariances @ A).diagonal(dim1=1, dim2=2)
    torch.testing.assert_close(diagonal.move(A).diagonal, expected, rtol=1e-4, atol=1e-3)
    low = gather(features, labels, "low-rank:2")
    turn = torch.linalg.qr(A).Q
    moved = low.move(turn).covariances
    torch.testing.assert_close(moved, turn.T @ low.covariances @ turn, rtol=1e-3, atol=1e-2)


def test_means_alone_have_no_covariance():
    with pytest.raises(ConfigError, match="learn with `statistics=full`"):
        _ = gather(*draw(5), "mean").covariances


@pytest.mark.parametrize("form", FORMS)
def test_forms_are_known(form):
    assert check_form(form.replace(":K", ":8"))


@pytest.mark.parametrize("form", ["fool", "low-rank", "low-rank:0", "low-rank:K"])
def test_other_forms_are_not(form):
    with pytest.raises(ConfigError, match="choose from none, mean, diagonal"):
        check_form(form)


def test_a_known_linear_drift_is_recovered():
    old = torch.randn(500, 6)
    A = torch.eye(6) + 0.3 * torch.randn(6, 6)
    torch.testing.assert_close(linear_map(old, old @ A, shrink=1e-9), A, rtol=1e-4, atol=1e-4)
    passage = Passage(old, old @ A)
    back = backward_map(passage)
    torch.testing.assert_close(passage.forward @ back, torch.eye(6), rtol=0, atol=0.05)


def test_no_drift_is_the_identity_and_two_images_stay_near_it():
    old = torch.randn(200, 6)
    torch.testing.assert_close(linear_map(old, old), torch.eye(6))
    two = torch.randn(2, 6)
    moved = linear_map(two, two + 0.1 * torch.randn(2, 6))
    assert (moved - torch.eye(6)).norm() < 1
    other = torch.linalg.svd(two).Vh[2:]  # directions that the two images say nothing about
    torch.testing.assert_close(other @ moved, other, rtol=1e-3, atol=1e-3)


def test_dead_features_stay_as_they_are():
    torch.testing.assert_close(linear_map(torch.zeros(9, 4), torch.zeros(9, 4)), torch.eye(4))


def test_sdc_by_hand():
    """One image at the mean drifts by 1, one far away by 9: the near one counts."""
    means, old = torch.tensor([[0.0, 0.0]]), torch.tensor([[0.0, 0.0], [0.0, 4.0]])
    new = old + torch.tensor([[1.0, 0.0], [9.0, 0.0]])
    # distances 0 and 4; torch's median of two is the lower, so the width is clamped near 0
    torch.testing.assert_close(semantic_drift(means, old, new), torch.tensor([[1.0, 0.0]]))
    three = torch.tensor([[3.0, 0.0], [0.0, 3.0], [-3.0, 0.0]])
    moved = semantic_drift(means, three, three + torch.tensor([[3.0, 0.0], [0.0, 0.0], [0.0, 6.0]]))
    torch.testing.assert_close(moved, torch.tensor([[1.0, 2.0]]))  # all as far: the plain mean


def test_widened_covariances_are_those_of_features_that_drifted_with_noise():
    random = torch.Generator().manual_seed(0)
    turn, spread = torch.randn(4, 4, generator=random), torch.randn(4, 4, generator=random)

    def drifted(features: torch.Tensor) -> torch.Tensor:
        return features @ turn + torch.randn(len(features), 4, generator=random) @ spread

    current, past = torch.randn(2, 20_000, 4, generator=random) * torch.tensor([1, 2, 3, 1.0])
    drift = measure_drift(Passage(current, drifted(current)), {}, ())
    labels = torch.zeros(20_000, dtype=torch.long)
    born, now = (gather(f, labels, "full", 1) for f in (past, drifted(past)))
    moved = {t: TRANSPORTS[t].move(born, drift) for t in ("linear", "widened")}
    far = {t: (statistics.full - now.full).abs().max() for t, statistics in moved.items()}
    assert far["widened"] < 0.05 * now.full.abs().max() < far["linear"]


@pytest.mark.parametrize("form", EVERY_FORM)
def test_widening_adds_to_every_form(form):
    features, labels = draw(8)
    before, noise = gather(features, labels, form), torch.diag(torch.arange(1.0, 6.0))
    after = before.widen(noise)
    torch.testing.assert_close(after.mean, before.mean)
    if form == "mean":
        return
    added = after.covariances - before.covariances
    spread = 3 * torch.eye(5) if form.startswith("low-rank") else noise  # 3 is the mean variance
    torch.testing.assert_close(added, spread.expand(3, 5, 5))


def test_one_feature_is_enough():
    old, new = torch.randn(2, 50, 1)
    assert residual(Passage(old, new)).shape == (1, 1)


def test_rows_moved_backward_read_what_they_read():
    old = torch.randn(300, 6)
    new = old @ (torch.eye(6) + 0.2 * torch.randn(6, 6))
    W = torch.randn(4, 6)
    backward = TRANSPORTS["backward"]
    moved = backward.move(W, backward.measure(Passage(old, new), W))
    torch.testing.assert_close(new @ moved.T, old @ W.T, rtol=0, atol=0.1)


@pytest.mark.parametrize("form", EVERY_FORM)
@pytest.mark.parametrize("name", TRANSPORTS)
def test_contract_of_transports(name, form):
    """Counts never change; all stays where nothing drifts; what drifts stays finite."""
    features, labels = draw(7)
    transport = TRANSPORTS[name]
    if "means" in transport.moves or "covariances" in transport.moves:
        past = gather(features, labels, form)
        still = transport.measure(Passage(features, features), past)
        for part, tensor in transport.move(past, still).tensors().items():
            torch.testing.assert_close(tensor, past.tensors()[part], rtol=1e-3, atol=1e-3)
        turned = transport.measure(Passage(features[:2], -features[:2]), past)
        moved = transport.move(past, turned)
        assert torch.equal(moved.count, past.count)
        assert all(part.isfinite().all() for part in moved.tensors().values())
    if "rows" in transport.moves:
        W = torch.randn(3, 5)
        still = transport.measure(Passage(features, features), W)
        torch.testing.assert_close(transport.move(W, still), W, rtol=1e-3, atol=1e-3)


def test_each_transport_moves_what_it_says():
    features, labels = draw(6)
    past = gather(features, labels, "full")
    drift = {"forward": 2 * torch.eye(5), "residual": torch.eye(5), "sdc": past.mean + 1}
    moved = {t: TRANSPORTS[t].move(past, drift) for t in ("none", "linear", "widened", "sdc")}
    torch.testing.assert_close(moved["linear"].mean, past.mean * 2)
    torch.testing.assert_close(moved["linear"].full, past.full * 4)
    torch.testing.assert_close(moved["widened"].mean, past.mean * 2)
    torch.testing.assert_close(moved["widened"].full, past.full * 4 + torch.eye(5))
    torch.testing.assert_close(moved["sdc"].mean, past.mean + 1)
    torch.testing.assert_close(moved["sdc"].full, past.full)
    assert moved["none"] is past


def test_only_what_can_be_had_later_is_measured_unasked():
    features, labels = draw(6)
    held = {"sdc": gather(features, labels, "mean")}
    passage = Passage(features, features)
    assert measure_drift(passage, held, ("linear",)).keys() == {"forward", "residual", "backward"}
    assert "sdc" in measure_drift(passage, held, ("sdc",))
    assert "sdc" not in measure_drift(passage, {}, ("sdc",))
