"""Independent states share nothing."""

from __future__ import annotations

import torch

from conftest import STREAM, make_toy, toy_learner
from memoryless.lab.stream import Stream


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
