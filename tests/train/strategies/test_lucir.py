"""LUCIR without memory."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from conftest import STREAM, begin_second_state, toy_learner
from memoryless.train.strategies.lucir import less_forget


def test_lucir_fixes_old_rows_and_weighs_old_classes(tiny):
    learner = toy_learner(tiny, strategy="lucir")
    learner.learn(STREAM[0].train, 2)
    assert learner.strategy.weight == 0
    rows = learner.network.layer.rows.detach().clone()
    learner.learn(STREAM[1].train, 2)
    assert learner.strategy.weight == pytest.approx(5 * math.sqrt(2 / 2))
    torch.testing.assert_close(learner.network.layer.rows[:2], rows)
    learner.learn(STREAM[2].train, 2)
    assert learner.strategy.weight == pytest.approx(5 * math.sqrt(4 / 2))


def test_lucirs_features_may_be_negative(tiny):
    assert toy_learner(tiny, strategy="lucir").features(STREAM[0].train).min() < 0
    assert toy_learner(tiny).features(STREAM[0].train).min() >= 0


def test_the_loss_keeps_directions_of_features(tiny):
    strategy, network, before = begin_second_state(tiny, strategy="lucir", lambda_base=3.0)
    images, labels = torch.randn(5, 1, 8, 8), torch.tensor([2, 3, 3, 2, 2])
    new, old = network.backbone(images), before.backbone(images)
    kept = (1 - F.cosine_similarity(new, old)).mean()
    expected = F.cross_entropy(network.layer(new), labels) + 3 * math.sqrt(2 / 2) * kept
    loss = strategy.loss(network, images, labels)
    torch.testing.assert_close(loss, expected)
    loss.backward()
    assert all(p.grad is None for p in strategy.teacher.parameters())


def test_new_rows_begin_as_mean_directions_of_their_images(tiny):
    """Of features under the model before, at the mean length of the rows there are."""
    _, network, before = begin_second_state(tiny, strategy="lucir")
    images = STREAM[1].train
    learner = toy_learner(tiny)
    prepared = learner.preparation.test(images.read(np.arange(len(images))))
    directions = F.normalize(before.backbone(prepared))
    for row, label in enumerate((2, 3)):
        mean = directions[torch.from_numpy(images.labels) == label].mean(0)
        expected = F.normalize(mean, dim=0) * before.layer.rows.norm(dim=1).mean()
        torch.testing.assert_close(network.layer.weight[row], expected)


def test_less_forget_by_hand():
    features, old = torch.tensor([[3.0, 4.0], [1.0, 0.0]]), torch.tensor([[3.0, 4.0], [0.0, 2.0]])
    assert less_forget(features, old).item() == pytest.approx(0.5)
    x = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    old = torch.ones(2, 3).double().cumsum(1)
    assert torch.autograd.gradcheck(lambda new: less_forget(new, old), x)
