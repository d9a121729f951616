"""Losses against numbers worked by hand, and their gradients against finite differences."""

from __future__ import annotations

import math

import pytest
import torch

from memoryless.train.losses import distillation, less_forget, one_vs_all


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def bce(logit: float, target: float) -> float:
    p = sigmoid(logit)
    return -(target * math.log(p) + (1 - target) * math.log(1 - p))


def test_one_vs_all_by_hand():
    logits = torch.tensor([[0.5, -1.0, 2.0]])
    expected = (bce(0.5, 0) + bce(-1, 0) + bce(2, 1)) / 3
    assert one_vs_all(logits, torch.tensor([2])).item() == pytest.approx(expected, rel=1e-6)


def test_old_outputs_are_held_to_the_old_model():
    logits, old = torch.tensor([[0.5, -1.0, 2.0]]), torch.tensor([[3.0, 0.0]])
    expected = (bce(0.5, sigmoid(3)) + bce(-1, 0.5) + bce(2, 1)) / 3
    assert one_vs_all(logits, torch.tensor([2]), old).item() == pytest.approx(expected, rel=1e-6)


def test_distillation_by_hand():
    # softened old outputs of (2 ln 3, 0) at temperature 2 are 3/4 and 1/4, new ones 1/2 and 1/2
    old, new = torch.tensor([[2 * math.log(3), 0.0]]), torch.tensor([[1.0, 1.0]])
    assert distillation(new, old, temperature=2).item() == pytest.approx(math.log(2), rel=1e-6)


def test_distillation_is_least_for_equal_outputs():
    old = torch.randn(4, 5)
    entropy = distillation(old, old, 2)
    assert all(distillation(old + torch.randn(4, 5), old, 2) > entropy for _ in range(5))


def test_less_forget_by_hand():
    features, old = torch.tensor([[3.0, 4.0], [1.0, 0.0]]), torch.tensor([[3.0, 4.0], [0.0, 2.0]])
    assert less_forget(features, old).item() == pytest.approx(0.5)


@pytest.mark.parametrize(
    "loss",
    [
        lambda x: one_vs_all(x, torch.tensor([0, 2]), torch.full((2, 1), 0.3).double()),
        lambda x: distillation(x, torch.ones(2, 3).double().cumsum(1), 2),
        lambda x: less_forget(x, torch.ones(2, 3).double().cumsum(1)),
    ],
)
def test_gradients(loss):
    x = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(loss, x)


def test_distillation_softens_new_outputs_too():
    # at temperature 2 the old are 3/4 and 1/4, the new 9/10 and 1/10
    old, new = torch.tensor([[2 * math.log(3), 0.0]]), torch.tensor([[2 * math.log(9), 0.0]])
    expected = -(0.75 * math.log(0.9) + 0.25 * math.log(0.1))
    assert distillation(new, old, temperature=2).item() == pytest.approx(expected, rel=1e-6)
