"""Strategies that learn from the model before leave it as it was."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from conftest import STREAM, begin_second_state, toy_learner
from memoryless.strategies import STRATEGIES
from memoryless.train.network import LinearLayer, Network
from memoryless.train.strategies.base import Arrival, trainer_class
from memoryless.train.strategies.teacher import Teacher, freeze


@pytest.mark.parametrize("name", [n for n in STRATEGIES if issubclass(trainer_class(n), Teacher)])
def test_the_teacher_does_not_change(name, tiny, monkeypatch):
    """Neither its parameters nor its batch statistics, and it is gone after the state."""
    learner = toy_learner(tiny, strategy=name)
    learner.learn(STREAM[0].train, 2)
    before = copy.deepcopy(learner.network.state_dict())
    strategy = learner.strategy
    seen = []
    original = strategy.end_state

    def end_state(*arguments):
        seen.append(copy.deepcopy(strategy.teacher.state_dict()))
        assert not strategy.teacher.training
        original(*arguments)

    monkeypatch.setattr(strategy, "end_state", end_state)
    learner.learn(STREAM[1].train, 2)
    assert all(torch.equal(before[key], seen[0][key]) for key in before)
    assert strategy.teacher is None
    assert not torch.equal(before["backbone.conv1.weight"], learner.network.backbone.conv1.weight)


def test_a_frozen_copy_is_a_copy():
    network = Network(nn.Sequential(nn.Flatten(), nn.BatchNorm1d(4)), LinearLayer(4)).train()
    network.layer.grow(2, True, torch.Generator())
    copied = freeze(network)
    assert not copied.training
    assert not any(p.requires_grad for p in copied.parameters())
    assert network.training
    assert all(p.requires_grad for p in network.parameters())
    copied.layer.weight.zero_()
    assert network.layer.weight.abs().sum() > 0


@pytest.mark.parametrize("name", [n for n in STRATEGIES if issubclass(trainer_class(n), Teacher)])
def test_old_logits_are_of_past_classes(name, tiny):
    strategy, _, before = begin_second_state(tiny, strategy=name)
    images = torch.randn(5, 1, 8, 8)
    old = strategy.old_logits(images)
    torch.testing.assert_close(old, before(images)[:, :2].detach())
    assert not old.requires_grad


def test_in_state_0_there_is_no_teacher(tiny):
    strategy = toy_learner(tiny, strategy="lwf").strategy
    strategy.teacher = object()  # of a state that was broken off
    network = Network(nn.Flatten(), LinearLayer(64))
    strategy.begin_state(Arrival(network, STREAM[0].train, 2, None, torch.Generator()))
    assert strategy.old_logits(torch.randn(2, 1, 8, 8)) is None
