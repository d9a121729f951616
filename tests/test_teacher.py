"""Strategies that learn from the model before leave it as it was."""

from __future__ import annotations

import copy

import pytest
import torch

from conftest import STREAM, toy_learner
from memoryless.strategies import STRATEGIES
from memoryless.strategies.teacher import Teacher


@pytest.mark.parametrize("name", [n for n, s in STRATEGIES.items() if issubclass(s, Teacher)])
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
