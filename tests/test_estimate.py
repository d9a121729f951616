"""Estimates before a training: bytes by hand, time by a trial, and a refusal in one sentence."""

from __future__ import annotations

from dataclasses import replace

import pytest
from torch import nn

from conftest import make_toy
from memoryless.backbones import ResNet18
from memoryless.errors import ConfigError
from memoryless.images import SOURCES, Dataset, Source
from memoryless.images.augment import Preparation
from memoryless.lab import estimate as module
from memoryless.lab.config import Config
from memoryless.lab.estimate import (
    A_WHILE,
    FITTING,
    LAYER_ALONE,
    OVERHEAD,
    SCORING,
    Estimate,
    features_bytes,
    free_bytes,
    looks_long,
    plan,
    training_bytes,
)
from memoryless.lab.experiment import run
from memoryless.lab.observer import Observer
from memoryless.lab.stream import Stream
from memoryless.learner import Learner


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


def test_photos_are_estimated_before_they_are_trained(tiny, monkeypatch):
    told = []

    class Listen(Observer):
        def estimated(self, estimate: Estimate) -> None:
            told.append(estimate)

        def run_started(self, folder, work, finished):
            assert told

    config = replace(tiny, states="2", epochs=1, batch_size=4)
    run(config, photos(), observer=Listen())
    (estimate,) = told
    assert estimate.bytes > 10_000
    assert 0 < estimate.seconds < 600
    run(config, photos(), observer=Listen())
    assert len(told) == 1  # nothing is left to do


def test_features_are_estimated_by_what_is_held_at_once(tiny):
    """Weights, a batch, thrice the widest layer, and the features of the most images."""
    config = replace(tiny, strategy="fixed", states="2", batch_size=4).resolved(65)
    layers = nn.Sequential(nn.Conv2d(1, 3, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    learner = Learner(config, 0, 1, Preparation(65, (0.5,), (0.5,)), layers)
    pixels, most = 4 * 65**2, 8  # two of four classes with four images each
    expected = 4 * (6 + pixels + 3 * 3 * pixels + most * 3)
    assert features_bytes(learner, Stream(photos(), "2")) == expected


def test_too_little_memory_for_features_is_said_too(tiny, monkeypatch):
    monkeypatch.setattr(module, "free_bytes", lambda: 1000)
    monkeypatch.setitem(SOURCES, "toy", Source(lambda settings: photos(), 65))
    config = replace(tiny, data="toy", states="2", strategy="fixed")
    with pytest.raises(ConfigError) as caught:
        run(config)
    assert str(caught.value).startswith(
        "the features of a state and batches of 16 images of 65 pixels take about 0.0 GB, and 0.0 "
    )
    assert str(caught.value).endswith(
        "GB are free: lower `batch_size`, or split the classes into more `states`"
    )
    assert not tiny.output.exists()


def test_features_are_told_before_they_are_taken(tiny, monkeypatch):
    """Time is by images seen once in training and once in the test of each state."""
    told = []

    class Listen(Observer):
        def estimated(self, estimate: Estimate) -> None:
            told.append(estimate)

    monkeypatch.setattr(module, "images_per_second", lambda *given: 2.0)
    config = replace(tiny, states="2", strategy="fixed", epochs=50)
    run(config, photos(), observer=Listen())
    (estimate,) = told
    assert estimate.seconds == (8 + 4 + 8 + 4) / 2


def test_too_little_memory_is_said_before_anything_is_written(tiny, monkeypatch):
    monkeypatch.setattr(module, "free_bytes", lambda: 2_000_000)
    monkeypatch.setitem(SOURCES, "toy", Source(lambda settings: photos(), 65))
    config = replace(
        tiny, data="toy", states="2", width=16, batch_size=256, backbone="resnet18_3x3"
    )
    with pytest.raises(ConfigError) as caught:
        run(config)
    assert str(caught.value).startswith("batches of 256 images of 65 pixels take about ")
    assert str(caught.value).endswith(
        "GB to train on, and 0.0 GB are free: lower `batch_size`, `width` or `image_size`, or take "
        "`backbone=resnet18` for large images"
    )
    assert not tiny.output.exists()


def test_the_work_of_states_by_hand(tiny):
    """Four classes with four training and two test images each, in two states."""
    stream = Stream(photos(), "2")
    plain = replace(tiny, epochs=5, epochs_later=3).resolved(8)
    assert plan(plain, stream) == [
        {"training": 5 * 8 * 3, "features": 12, "fitting heads": 0, "scores": 4 * SCORING},
        {"training": 3 * 8 * 3, "features": 16, "fitting heads": 0, "scores": 8 * SCORING},
    ]
    gathers = plan(replace(plain, statistics="full"), stream)
    assert [state["features"] for state in gathers] == [8 + 4, 8 + 8 + 8]  # before and after
    assert [state["fitting heads"] for state in gathers] == [2 * FITTING, 4 * FITTING]


@pytest.mark.parametrize(
    ("strategy", "steps"),
    [("lwf", (3, 4)), ("frozen", (3, 1)), ("untrained", (LAYER_ALONE, LAYER_ALONE))],
)
def test_a_step_goes_through_what_learns_and_what_teaches(strategy, steps, tiny):
    settings = replace(tiny, strategy=strategy, epochs=1, epochs_later=1).resolved(8)
    work = plan(settings, Stream(photos(), "2"))
    assert tuple(state["training"] / 8 for state in work) == steps


def test_only_long_trainings_are_measured(toy):
    """The embedded drawings at their own settings are not; at the standard width they are."""
    drawings = replace(toy, image_size=28)
    config = Config().resolved()
    assert A_WHILE == 240_000 * (8 * 28) ** 2
    assert not looks_long(config, drawings, 240_000)
    assert looks_long(config, drawings, 250_000)
    assert looks_long(replace(config, width=64), drawings, 10_000)
    assert looks_long(config, photos(), 1)
    assert not looks_long(config, photos(), 0)


def test_what_would_make_it_shorter_is_told(tiny, monkeypatch):
    told = []

    class Listen(Observer):
        def estimated(self, estimate: Estimate) -> None:
            told.append(estimate.shorter)

    monkeypatch.setattr(module, "images_per_second", lambda *given: 2.0)
    monkeypatch.setattr("memoryless.lab.experiment.Run.finish", lambda self: None)
    config = replace(tiny, states="2", epochs=6, epochs_later=4)
    run(config, photos(), observer=Listen())
    run(replace(config, strategy="untrained", output=tiny.output / "u"), photos(), None, Listen())
    assert told == [
        {"epochs": 6, "epochs_later": 4, "width": 2, "image_size": 65},
        {"width": 2, "image_size": 65},
    ]
