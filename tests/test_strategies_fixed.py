"""Fixed: the backbone never learns."""

from __future__ import annotations

import torch

from conftest import make_learner, make_toy
from memoryless.lab.config import Config
from memoryless.lab.stream import Stream


def test_the_backbone_stays_bit_for_bit(tiny):
    stream = Stream(make_toy(), "3")
    config = Config(strategy="fixed", backbone="resnet18_3x3", width=2, epochs=2, batch_size=16)
    learner = make_learner(config, stream[0].train)
    weights = {k: v.clone() for k, v in learner.network.backbone.named_parameters()}
    learner.learn(stream[0].train, 2)
    learner.learn(stream[1].train, 2)
    now = dict(learner.network.backbone.named_parameters())
    assert all(torch.equal(weights[name], now[name]) for name in weights)


def test_by_default_it_is_the_backbone_with_weights():
    assert Config(strategy="fixed").resolved().backbone == "efficientnet-lite0"
