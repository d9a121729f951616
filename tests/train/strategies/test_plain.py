"""Strategies that train as fine-tuning does: frozen, independent; fixed has its own file."""

from __future__ import annotations

import copy
from dataclasses import replace

import torch
from torch import nn

from conftest import STREAM, make_toy, toy_learner
from memoryless.lab.stream import Stream
from memoryless.train.network import LinearLayer, Network
from memoryless.train.strategies.base import Arrival, make_trainer


def test_frozen_changes_nothing_but_the_layer(tiny):
    learner = toy_learner(tiny, strategy="frozen")
    learner.learn(STREAM[0].train, 2)
    before = copy.deepcopy(learner.network.backbone.state_dict())
    learner.learn(STREAM[1].train, 2)
    after = learner.network.backbone.state_dict()
    assert all(torch.equal(before[key], after[key]) for key in before)
    assert not any(p.requires_grad for p in learner.network.backbone.parameters())


def test_the_backbone_learns_in_state_0(tiny):
    learner = toy_learner(tiny, strategy="frozen")
    before = learner.network.backbone.conv1.weight.detach().clone()
    learner.learn(STREAM[0].train, 2)
    assert not torch.equal(learner.network.backbone.conv1.weight, before)


def test_independent_states_start_from_scratch(tiny):
    """The second state's weights do not depend on the first state's images."""
    other = make_toy()
    other.train.images.pixels[other.train.labels < 2] = 0
    backbones = []
    for stream in (STREAM, Stream(other, "3")):
        learner = toy_learner(tiny, strategy="independent")
        learner.learn(stream[0].train, 2)
        learner.learn(stream[1].train, 2)
        backbones.append(learner.network.backbone.state_dict())
    assert all(torch.equal(backbones[0][key], backbones[1][key]) for key in backbones[0])


def test_the_backbone_is_drawn_anew_and_the_callers_numbers_go_on(tiny):
    backbone = nn.Sequential(nn.Flatten(), nn.Linear(64, 4), nn.BatchNorm1d(4), nn.Linear(4, 4))
    network = Network(backbone, LinearLayer(4))
    strategy = make_trainer(replace(tiny, strategy="independent").resolved(8))

    def drawn(past: int, seed: int) -> list[torch.Tensor]:
        with torch.no_grad():
            for p in backbone.parameters():
                p.fill_(7.0)
        strategy.past = past
        random = torch.Generator().manual_seed(seed)
        strategy.begin_state(Arrival(network, STREAM[0].train, 1, None, random))
        return [p.detach().clone() for p in (backbone[1].weight, backbone[3].weight)]

    torch.manual_seed(3)
    expected = torch.rand(3)
    torch.manual_seed(3)
    first, again, other = drawn(2, 0), drawn(2, 0), drawn(2, 1)
    assert torch.equal(torch.rand(3), expected)
    for one, same, another in zip(first, again, other, strict=True):
        assert torch.equal(one, same)
        assert not torch.equal(one, another)
        assert one.abs().max() < 1
    assert all((weights == 7).all() for weights in drawn(0, 0))  # state 0 begins as it was given
