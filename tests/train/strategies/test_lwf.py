"""LwF's outputs, of the classes seen or of all."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from conftest import STREAM, begin_second_state, toy_learner
from memoryless.errors import ConfigError
from memoryless.train.network import LinearLayer, Network
from memoryless.train.strategies.base import Arrival, make_trainer


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
