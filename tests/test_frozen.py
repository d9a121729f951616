"""A frozen backbone stays as state 0 left it."""

from __future__ import annotations

import copy
from dataclasses import replace

import torch

from conftest import STREAM, begin_second_state, make_learner, toy_learner
from memoryless.train.backbones import ResNet18


def test_frozen_changes_nothing_but_the_layer(tiny):
    learner = toy_learner(tiny, strategy="frozen")
    learner.learn(STREAM[0].train, 2)
    before = copy.deepcopy(learner.network.backbone.state_dict())
    learner.learn(STREAM[1].train, 2)
    after = learner.network.backbone.state_dict()
    assert all(torch.equal(before[key], after[key]) for key in before)
    assert not any(p.requires_grad for p in learner.network.backbone.parameters())


def test_what_is_fixed_in_a_backbone_stays_fixed(tiny):
    backbone = ResNet18(channels=1, width=2, small_images=True)
    backbone.conv1.requires_grad_(False)
    config, before = replace(tiny, strategy="frozen").resolved(8), backbone.conv1.weight.clone()
    learner = make_learner(config, STREAM[0].train, backbone=backbone)
    learner.learn(STREAM[0].train, 2)
    assert torch.equal(learner.network.backbone.conv1.weight, before)


def test_batch_statistics_change_in_state_0_only(tiny):
    strategy = toy_learner(tiny, strategy="frozen").strategy
    network = ResNet18(channels=1, width=2, small_images=True)
    for past, training in ((0, True), (2, False)):
        strategy.past = past
        strategy.train_mode(network)
        assert network.training == network.bn1.training == training


def test_only_the_layer_learns_in_later_states(tiny):
    strategy, network, _ = begin_second_state(tiny, strategy="frozen")
    assert strategy.parameters(network).keys() == {"layer.weight", "layer.bias"}


def test_the_backbone_learns_in_state_0(tiny):
    learner = toy_learner(tiny, strategy="frozen")
    before = learner.network.backbone.conv1.weight.detach().clone()
    learner.learn(STREAM[0].train, 2)
    assert not torch.equal(learner.network.backbone.conv1.weight, before)
