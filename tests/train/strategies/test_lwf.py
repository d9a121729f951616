"""LwF as the paper ran it and as later work uses it; its losses by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from conftest import STREAM, begin_second_state, toy_learner
from memoryless.errors import ConfigError
from memoryless.train.network import LinearLayer, Network
from memoryless.train.strategies.base import Arrival, make_trainer
from memoryless.train.strategies.lwf import distillation, one_vs_all


@pytest.mark.parametrize(("outputs", "sizes"), [("seen", [2, 4]), ("all", [6, 6])])
def test_lwf_outputs(outputs, sizes, tiny):
    learner = toy_learner(tiny, strategy="lwf", outputs=outputs)
    for state, size in zip(STREAM[:2], sizes, strict=True):
        learner.learn(state.train, 2)
        assert learner.network.classes == size
        assert learner.layer[0].shape[0] == 2 * state.index + 2


def test_the_loss_holds_old_outputs_to_the_model_before(tiny):
    strategy, network, before = begin_second_state(tiny, strategy="lwf")
    images, labels = torch.randn(5, 1, 8, 8), torch.tensor([2, 3, 3, 2, 2])
    loss = strategy.loss(network, images, labels)
    targets = torch.cat([before(images).sigmoid(), F.one_hot(labels - 2, 2).float()], dim=1)
    expected = F.binary_cross_entropy_with_logits(network(images), targets.detach())
    torch.testing.assert_close(loss, expected)
    loss.backward()
    assert all(p.grad is None for p in strategy.teacher.parameters())


def test_with_all_outputs_future_classes_are_negatives(tiny):
    strategy, network, before = begin_second_state(tiny, strategy="lwf", outputs="all")
    images, labels = torch.randn(5, 1, 8, 8), torch.tensor([2, 3, 3, 2, 2])
    targets = F.one_hot(labels, 6).float()
    targets[:, :2] = before(images)[:, :2].sigmoid().detach()
    expected = F.binary_cross_entropy_with_logits(network(images), targets)
    torch.testing.assert_close(strategy.loss(network, images, labels), expected)
    assert network.classes == 6


def test_all_outputs_need_a_stream_that_is_known(tiny):
    strategy = make_trainer(replace(tiny, strategy="lwf", outputs="all").resolved(8))
    arrival = Arrival(Network(nn.Flatten(), LinearLayer(4)), STREAM[0].train, 2, None, None)
    with pytest.raises(ConfigError) as caught:
        strategy.begin_state(arrival)
    assert str(caught.value) == (
        "`outputs=all` needs a stream whose classes are known in advance: use `outputs=seen`"
    )


def test_in_state_0_there_is_nothing_to_distil(tiny):
    learner = toy_learner(tiny, strategy="lwf_kd")
    strategy, network = learner.strategy, learner.network
    strategy.begin_state(Arrival(network, STREAM[0].train, 2, learner.features, torch.Generator()))
    network.eval()
    images, labels = torch.randn(5, 1, 8, 8), torch.tensor([0, 1, 1, 0, 0])
    expected = F.cross_entropy(network(images), labels)
    torch.testing.assert_close(strategy.loss(network, images, labels), expected)


def test_new_outputs_are_held_to_old_ones_and_not_the_other_way_round(tiny):
    strategy, network, before = begin_second_state(tiny, strategy="lwf_kd", kd_temperature=3.0)
    images, labels = torch.randn(5, 1, 8, 8), torch.tensor([2, 3, 3, 2, 2])
    logits, old = network(images), before(images).detach()
    soft = (old / 3).softmax(1)
    kd = -(soft * (logits[:, :2] / 3).log_softmax(1)).sum(1).mean()
    expected = F.cross_entropy(logits[:, 2:], labels - 2) + 10 * kd
    torch.testing.assert_close(strategy.loss(network, images, labels), expected)


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


@pytest.mark.parametrize(("new", "q"), [(1.0, 1 / 2), (1 + 2 * math.log(9), 9 / 10)])
def test_distillation_by_hand(new, q):
    """At temperature 2 old outputs are softened to 3/4 and 1/4, and new ones to q and 1 - q."""
    old, new = torch.tensor([[2 * math.log(3), 0.0]]), torch.tensor([[new, 1.0]])
    expected = -(0.75 * math.log(q) + 0.25 * math.log(1 - q))
    assert distillation(new, old, temperature=2).item() == pytest.approx(expected, rel=1e-6)


def test_distillation_is_least_for_equal_outputs():
    old = torch.randn(4, 5)
    entropy = distillation(old, old, 2)
    assert all(distillation(old + torch.randn(4, 5), old, 2) > entropy for _ in range(5))


@pytest.mark.parametrize(
    "loss",
    [
        lambda x: one_vs_all(x, torch.tensor([0, 2]), torch.full((2, 1), 0.3).double()),
        lambda x: distillation(x, torch.ones(2, 3).double().cumsum(1), 2),
    ],
)
def test_gradients(loss):
    x = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(loss, x)
