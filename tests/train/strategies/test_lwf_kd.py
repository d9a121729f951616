"""LwF as later work uses it."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from conftest import STREAM, begin_second_state, toy_learner
from memoryless.train.strategies.base import Arrival


def test_lwf_kd_loss_is_new_cross_entropy_and_weighted_distillation(tiny):
    learner = toy_learner(tiny, strategy="lwf_kd", kd_weight=3.0)
    learner.learn(STREAM[0].train, 2)
    strategy, network = learner.strategy, learner.network
    strategy.past = 2
    generator = torch.Generator().manual_seed(0)
    strategy.begin_state(Arrival(network, STREAM[1].train, 2, learner.features, generator))
    images = torch.randn(5, 1, 8, 8)
    labels = torch.tensor([2, 3, 3, 2, 2])
    network.eval()
    logits, old = network(images), strategy.teacher(images)
    soft = (old / 2).softmax(1)
    kd = -(soft * (logits[:, :2] / 2).log_softmax(1)).sum(1).mean()
    expected = F.cross_entropy(logits[:, 2:], labels - 2) + 3 * kd
    torch.testing.assert_close(strategy.loss(network, images, labels), expected)


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
