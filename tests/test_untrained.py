"""Untrained: the control, a network of the same shape whose weights stay as they were drawn."""

from __future__ import annotations

import torch

from conftest import STREAM, toy_learner
from memoryless.lab.config import Config


def test_its_weights_are_those_that_training_begins_with(tiny):
    control, trained = (toy_learner(tiny, strategy=name) for name in ("untrained", "finetune"))
    drawn = {k: v.clone() for k, v in trained.network.backbone.named_parameters()}
    for state in STREAM[:2]:
        control.learn(state.train, 2)
    stayed = dict(control.network.backbone.named_parameters())
    assert all(torch.equal(stayed[name], weights) for name, weights in drawn.items())


def test_its_batch_statistics_are_of_state_0(tiny):
    learner = toy_learner(tiny, strategy="untrained")
    learner.learn(STREAM[0].train, 2)
    first = {k: v.clone() for k, v in learner.network.backbone.named_buffers()}
    assert first["bn1.running_mean"].any()
    learner.learn(STREAM[1].train, 2)
    now = dict(learner.network.backbone.named_buffers())
    assert all(torch.equal(now[name], value) for name, value in first.items())


def test_it_has_the_network_that_would_be_trained():
    for settings in ({"data": "cifar100"}, {"data": "folder"}):
        trained, control = (
            Config(**settings, strategy=name).resolved() for name in ("finetune", "untrained")
        )
        assert (control.backbone, control.width) == (trained.backbone, trained.width)
