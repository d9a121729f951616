"""The contract of every strategy; those that learn from the model before leave it as it was."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from conftest import STREAM, begin_second_state, make_learner, make_toy, toy_learner
from memoryless.images.dataset import Split
from memoryless.lab.stream import Stream
from memoryless.stats.record import Record
from memoryless.strategies import STRATEGIES
from memoryless.train.network import LinearLayer, Network
from memoryless.train.strategies.base import Arrival, Teacher, make_trainer, trainer_class


def no_features(split: Split) -> torch.Tensor:
    raise AssertionError("nothing here needs features")


@pytest.mark.parametrize("name", STRATEGIES)
def test_strategy_contract(name, tiny):
    """It learns, grows by the new classes, and its record holds their rows as trained."""
    stream = Stream(make_toy(), "3")
    config = replace(tiny, strategy=name)
    learner = make_learner(config, stream[0].train)
    learner.learn(stream[0].train, 2)
    assert np.array_equal(learner.record.W, learner.layer[0])
    before = learner.record
    history = learner.learn(stream[1].train, 2).history
    assert len(history.loss) == 2
    assert learner.layer[0].shape == (4, 16)
    assert learner.record.class_state.tolist() == [0, 0, 1, 1]
    assert np.array_equal(learner.record.W[:2], before.W)  # initial rows never change
    assert np.array_equal(learner.record.W[2:], learner.layer[0][2:])
    assert len(learner.record.mu) == 2


@pytest.mark.parametrize(("init", "kept"), [("reset", False), ("grow", True)])
def test_classifier_init(init, kept, tiny):
    network = Network(nn.Flatten(), LinearLayer(4))
    strategy = make_trainer(replace(tiny, classifier_init=init))
    generator = torch.Generator().manual_seed(0)
    images = make_toy().train
    strategy.begin_state(Arrival(network, images, 2, no_features, generator))
    old = network.layer.weight.detach().clone()
    strategy.begin_state(Arrival(network, images, 3, no_features, generator))
    assert network.layer.weight.shape == (5, 4)
    assert torch.equal(network.layer.weight[:2], old) == kept
    assert network.layer.weight.abs().max() <= 0.5  # 1 / sqrt(4)


def test_only_rows_of_new_classes_join_the_record(tiny):
    network = Network(nn.Flatten(), LinearLayer(4))
    network.layer.grow(6, True, torch.Generator().manual_seed(0))  # more outputs than classes
    strategy = make_trainer(tiny)
    W, b = network.layer.as_linear()
    record = strategy.remember(Record.empty(4), network, 2, 1.5)
    record = strategy.remember(record, network, 3, 2.5)
    assert np.array_equal(record.W, W[:5])
    assert np.array_equal(record.b, b[:5])
    assert record.class_state.tolist() == [0, 0, 1, 1, 1]
    assert record.mu.tolist() == [1.5, 2.5]


def test_what_is_fixed_does_not_learn(tiny):
    network = Network(nn.Sequential(nn.Flatten(), nn.Linear(4, 4)), LinearLayer(4))
    network.backbone[1].weight.requires_grad_(False)
    learning = make_trainer(tiny).parameters(network)
    assert learning.keys() == {"backbone.1.bias", "layer.weight", "layer.bias"}


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
