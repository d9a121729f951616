"""The size of an experiment: passes and bytes by hand, and one sentence where memory is short."""

from __future__ import annotations

from dataclasses import replace

import pytest
from torch import nn

from conftest import make_toy
from memoryless.errors import ConfigError
from memoryless.images import Dataset
from memoryless.images.sources import SOURCES, Source
from memoryless.lab import estimate as module
from memoryless.lab.estimate import (
    OVERHEAD,
    features_bytes,
    free_bytes,
    passes,
    training_bytes,
)
from memoryless.lab.experiment import run
from memoryless.lab.stream import Stream
from memoryless.train.augment import Preparation
from memoryless.train.backbones.resnet import ResNet18
from memoryless.train.learner import Learner
from memoryless.train.loop import LESS


def photos() -> Dataset:
    """The toy images, as a network for photos sees them."""
    return replace(make_toy(classes=4, train=4, test=2), image_size=65)


def test_bytes_by_hand():
    """Three outputs a pixel, then four numbers; thirteen parameters count four times."""
    layers = nn.Sequential(nn.Conv2d(1, 3, 1), nn.Flatten(), nn.Linear(3 * 4, 4))
    outputs = 5 * (3 * 4 + 3 * 4 + 4)  # of five images of two by two
    parameters = 3 * 1 + 3 + 12 * 4 + 4
    expected = 4 * (OVERHEAD * outputs + 4 * parameters)
    assert training_bytes(layers, (1, 2, 2), 5) == expected


def test_bytes_grow_with_the_batch_and_the_stem():
    small, large = ResNet18(3, 4, small_images=True), ResNet18(3, 4)
    assert training_bytes(small, (3, 64, 64), 8) > 5 * training_bytes(large, (3, 64, 64), 8)
    one, two = (training_bytes(large, (3, 64, 64), n) for n in (8, 16))
    assert one < two < 2 * one


def test_free_memory_is_told_here():
    assert 2**20 < free_bytes() < 2**50


def test_features_are_estimated_by_what_is_held_at_once(tiny):
    """Weights, a batch, thrice the widest layer, and the features of the most images."""
    config = replace(tiny, strategy="fixed", states="2", batch_size=4).resolved(65)
    layers = nn.Sequential(nn.Conv2d(1, 3, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    learner = Learner(config, 0, 1, Preparation(65, (0.5,), (0.5,)), layers)
    pixels, most = 4 * 65**2, 8  # two of four classes with four images each
    expected = 4 * (6 + pixels + 3 * 3 * pixels + most * 3)
    assert features_bytes(learner, Stream(photos(), "2")) == expected


@pytest.mark.parametrize(
    ("strategy", "what", "fix"),
    [("finetune", "training on batches of 256 images of 65 pixels", LESS),
     ("fixed", "the features of a state", "split the classes into more `states`")],
)  # fmt: skip
def test_too_little_memory_is_said_before_anything_is_written(
    strategy, what, fix, tiny, monkeypatch
):
    monkeypatch.setattr(module, "free_bytes", lambda: 1000)
    monkeypatch.setitem(SOURCES, "toy", Source(lambda settings: photos(), 65))
    config = replace(tiny, data="toy", states="2", batch_size=256, strategy=strategy)
    with pytest.raises(ConfigError) as caught:
        run(config)
    assert str(caught.value).startswith(what)
    assert str(caught.value).endswith(fix)
    assert not tiny.output.exists()


@pytest.mark.parametrize(
    ("strategy", "statistics", "by_hand"),
    [
        ("finetune", "none", [(5 * 8, 8 + 4), (3 * 8, 8 + 8)]),
        ("finetune", "full", [(5 * 8, 8 + 4), (3 * 8, 2 * 8 + 8)]),  # before and after training
        ("lwf", "full", [(5 * 8, 8 + 4), (3 * 8, 2 * 8 + 8)]),
        ("untrained", "full", [(0, 8 + 4), (0, 8 + 4)]),  # features of the past are read back
    ],
)
def test_image_passes_by_hand(strategy, statistics, by_hand, tiny):
    """Four classes with four training and two test images each, in two states."""
    settings = replace(tiny, strategy=strategy, statistics=statistics, epochs=5, epochs_later=3)
    assert passes(settings.resolved(8), Stream(photos(), "2")) == by_hand
