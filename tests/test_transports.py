"""Transports against known drifts and each other."""

from __future__ import annotations

import pytest
import torch

from conftest import EVERY_FORM, draw_classes, gather
from memoryless.scorers import View, square_roots
from memoryless.transports import (
    TRANSPORTS,
    Passage,
    holds,
    linear_map,
    measure_drift,
    residual,
    semantic_drift,
)


def test_a_known_linear_drift_is_recovered():
    old = torch.randn(500, 6)
    A = torch.eye(6) + 0.3 * torch.randn(6, 6)
    torch.testing.assert_close(linear_map(old, old @ A, shrink=1e-9), A, rtol=1e-4, atol=1e-4)


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


def test_one_feature_is_enough():
    old, new = torch.randn(2, 50, 1)
    assert residual(Passage(old, new)).shape == (1, 1)


@pytest.mark.parametrize("form", EVERY_FORM)
@pytest.mark.parametrize("name", TRANSPORTS)
def test_contract_of_transports(name, form):
    """Counts never change; all stays where nothing drifts; what drifts stays finite."""
    features, labels = draw_classes(7)
    transport = TRANSPORTS[name]
    past = gather(features, labels, form)
    still = transport.measure(Passage(features, features), past)
    for part, tensor in transport.move(past, still).tensors().items():
        torch.testing.assert_close(tensor, past.tensors()[part], rtol=1e-3, atol=1e-3)
    turned = transport.measure(Passage(features[:2], -features[:2]), past)
    moved = transport.move(past, turned)
    assert torch.equal(moved.count, past.count)
    assert all(part.isfinite().all() for part in moved.tensors().values())


def test_each_transport_moves_what_it_says():
    features, labels = draw_classes(6)
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
    features, labels = draw_classes(6)
    held = {"sdc": gather(features, labels, "mean")}
    passage = Passage(features, features)
    assert measure_drift(passage, held, ("linear",)).keys() == {"forward", "residual"}
    assert "sdc" in measure_drift(passage, held, ("sdc",))
    assert "sdc" not in measure_drift(passage, {}, ("sdc",))


def test_sdc_weighs_by_half_the_median_distance():
    """Distances 1, 2, 3: the median is 2 and the width 1."""
    means = torch.zeros(1, 2)
    old = torch.tensor([[1.0, 0], [0, 2.0], [-3.0, 0]])
    moves = torch.tensor([[1.0, 0], [0, 1.0], [10.0, 0]])
    weights = torch.tensor([-0.5, -2.0, -4.5]).softmax(0)
    expected = torch.stack([weights[0] + 10 * weights[2], weights[1]])[None]
    torch.testing.assert_close(semantic_drift(means, old, old + moves), expected)


def test_a_shift_of_all_images_is_no_spread():
    old = torch.tensor([[1.0, 0], [-1.0, 0], [0, 1.0], [0, -1.0]])
    shifted = residual(Passage(old, old + torch.tensor([5.0, 0])))
    torch.testing.assert_close(shifted, torch.zeros(2, 2))
    noise = torch.tensor([[1.0, 0], [1.0, 0], [-1.0, 0], [-1.0, 0]])  # which no map explains
    torch.testing.assert_close(
        residual(Passage(old, old + noise)), torch.diag(torch.tensor([1.0, 0]))
    )


@pytest.mark.parametrize("form", EVERY_FORM)
@pytest.mark.parametrize("name", TRANSPORTS)
def test_what_a_record_keeps_under_a_transport(name, form):
    moves = TRANSPORTS[name].moves
    kept = "means" in moves or ("covariances" in moves and form != "mean")
    assert holds(name, gather(*draw_classes(1), form)) == kept


def test_a_passage_reads_its_view():
    before, after = torch.rand(2, 9, 5)
    passage = Passage(before, after, View(2, square_roots=True))
    torch.testing.assert_close(passage.old, square_roots(before[:, 2:]))
    torch.testing.assert_close(passage.new, square_roots(after[:, 2:]))


def test_the_pull_to_the_identity_by_hand():
    """One image of one feature, 2 that becomes 6: (2 * 6 + e) / (2 * 2 + e) with e = 0.5 * 4."""
    moved = linear_map(torch.tensor([[2.0]]), torch.tensor([[6.0]]), shrink=0.5)
    torch.testing.assert_close(moved, torch.tensor([[14 / 6]]))
