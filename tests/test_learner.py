"""A learner after its states: what it knows, and that no image is left."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from conftest import learn, make_learner, make_toy
from memoryless.data.dataset import ArrayImages, Split
from memoryless.errors import ConfigError, TrainingError
from memoryless.features import extract_features
from memoryless.lab.experiment import run
from memoryless.lab.stream import Stream
from memoryless.learner import prepare


def test_held_out_images_have_no_part_in_statistics(gathered):
    births = [gathered.tensors(t, "birth") for t in range(3)]
    assert all(b["birth.count"].tolist() == [9, 9] for b in births)  # of 12
    held = gathered.tensors(1, "held_out")
    assert held["labels"].bincount().tolist() == [0, 0, 3, 3]


def test_middle_features_of_other_backbones_are_refused(tiny, toy):
    config = replace(tiny, level="middle")
    with pytest.raises(ConfigError, match="level middle reads the stages of a ResNet"):
        run(config, toy, backbone=torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 8)))
    with pytest.raises(ConfigError, match="level middle reads the stages of a ResNet"):
        replace(config, backbone="timm:resnet50").resolved(8)
    assert not config.output.exists()


def test_mu_is_the_mean_of_the_largest_or_the_true_logit(tiny):
    stream = Stream(make_toy(), tiny.states)
    labels = torch.from_numpy(stream[0].train.labels)
    for mu in ("largest", "true"):
        learner = learn(replace(tiny, mu=mu), states=1)
        W, b = learner.layer
        logits = learner.features(stream[0].train) @ W.T + b
        expected = logits.max(1).values if mu == "largest" else logits[range(len(labels)), labels]
        torch.testing.assert_close(learner.record.mu[0], expected.mean())


def test_normalisation_is_measured_on_state_0(tiny):
    stream = Stream(make_toy(), "3")
    first = prepare(tiny, stream[0].train, stream.dataset.image_size, stream.dataset.augment)
    pixels = stream[0].train.read(np.arange(24)).numpy() / 255
    assert first.mean == pytest.approx([pixels.mean()])
    assert first.std == pytest.approx([pixels.std()], rel=1e-5)


def test_weights_that_overflow_in_the_last_step_are_noticed(tiny):
    config = replace(tiny, lr=1e30, epochs=1, batch_size=100)
    with pytest.raises(TrainingError, match="the model of state 0 gives nan, no scores: lower"):
        learn(config, states=1)


def test_held_out_images_are_watched_and_not_trained_on(tiny):
    config = replace(tiny, held_out=0.25, schedule="plateau")
    learner = make_learner(config, make_toy().train)
    history = learner.learn(Stream(make_toy(), "3")[0].train, 2).history
    assert history.images == [18, 18]  # of 24
    assert history.watched != history.loss


def test_any_module_can_be_the_backbone(tiny):
    backbone = nn.Sequential(nn.Flatten(), nn.Linear(64, 5), nn.ReLU(), nn.Dropout(0.5))
    assert learn(tiny, backbone=backbone).record.W.shape == (4, 5)


def test_given_normalisation_is_used(tiny):
    split = make_toy()
    given = prepare(replace(tiny, mean=(0.1,), std=(0.3,)), split.train, 8, ())
    assert (given.mean, given.std) == ((0.1,), (0.3,))
    with pytest.raises(ConfigError, match="mean and std need 1 values each"):
        prepare(replace(tiny, mean=(0.1, 0.1), std=(0.3, 0.3)), split.train, 8, ())


def test_no_image_or_feature_is_reachable_after_a_state(tiny, monkeypatch):
    """The images are gone with the caller's last reference; so is every per-image tensor."""
    features = []

    def watched(*args):
        out = extract_features(*args)
        features.append(weakref.ref(out))
        return out

    monkeypatch.setattr("memoryless.learner.extract_features", watched)
    learner = learn(tiny, states=0)
    pixels = torch.randint(0, 256, (24, 1, 8, 8), dtype=torch.uint8)
    images = ArrayImages(pixels)
    split = Split.whole(images, np.repeat([0, 1], 12))
    watch = [weakref.ref(x) for x in (pixels, images, split)]
    learner.learn(split, 2)
    del pixels, images, split
    gc.collect()
    assert features
    assert [ref() for ref in watch + features] == [None] * (3 + len(features))
