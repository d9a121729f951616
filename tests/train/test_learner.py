"""A learner after its states: what it knows, and that no image is left."""

from __future__ import annotations

import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from conftest import STREAM, learn, make_learner, make_toy, toy_learner
from memoryless.errors import ConfigError, TrainingError
from memoryless.images.dataset import ArrayImages, Split
from memoryless.lab.experiment import run
from memoryless.lab.stream import Stream
from memoryless.stats.scorers import View
from memoryless.stats.transports import linear_map
from memoryless.train.features import extract_features
from memoryless.train.learner import prepare


def test_held_out_images_have_no_part_in_statistics(gathered):
    births = [gathered.arrays(t, "birth") for t in range(3)]
    assert all(b["birth.count"].tolist() == [9, 9] for b in births)  # of 12
    held = gathered.arrays(1, "held_out")
    assert np.bincount(held["labels"]).tolist() == [0, 0, 3, 3]


def test_middle_features_of_other_backbones_are_refused(tiny, toy):
    config = replace(tiny, level="middle")
    with pytest.raises(ConfigError, match="level middle reads the stages of a ResNet"):
        run(config, toy, backbone=torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 8)))
    with pytest.raises(ConfigError, match="level middle reads the stages of a ResNet"):
        replace(config, backbone="timm:resnet50").resolved(8)
    assert not config.output.exists()


def test_mu_is_the_mean_of_the_largest_or_the_true_logit(tiny):
    stream = Stream(make_toy(), tiny.states)
    labels = stream[0].train.labels
    for mu in ("largest", "true"):
        learner = learn(replace(tiny, mu=mu), states=1)
        W, b = learner.layer
        logits = learner.all_features(stream[0].train) @ W.T + b
        expected = logits.max(1) if mu == "largest" else logits[range(len(labels)), labels]
        assert learner.record.mu[0] == pytest.approx(expected.mean(), rel=1e-5)


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

    monkeypatch.setattr("memoryless.train.learner.extract_features", watched)
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


def test_statistics_are_of_the_new_classes_features_after_the_state(gathering):
    learner = toy_learner(gathering, held_out=0.0)
    for state in STREAM[:2]:
        before = None if not state.index else learner.all_features(state.train)
        learned = learner.learn(state.train, 2)
        after, labels = learner.all_features(state.train), state.train.labels
        own = [after[labels == 2 * state.index + c] for c in range(2)]
        assert learned.birth.count.tolist() == [12, 12]
        means, spreads = [f.mean(0) for f in own], [np.cov(f.T, ddof=0) for f in own]
        np.testing.assert_allclose(learned.birth.mean, means, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(learned.birth.first.own, spreads, rtol=1e-4, atol=1e-6)
        if before is None:
            assert learned.drift is None
        else:
            forward = linear_map(before, after)
            np.testing.assert_allclose(learned.drift["forward"], forward, rtol=1e-4, atol=1e-5)
    assert np.array_equal(learner.record.statistics["none"].mean[2:], learned.birth.mean)


def test_without_statistics_nothing_is_measured(tiny):
    learner = toy_learner(tiny)
    for state in STREAM[:2]:
        learned = learner.learn(state.train, 2)
        assert (learned.birth, learned.drift, learned.fitted, learned.held_out) == (
            None, None, {}, None,
        )  # fmt: skip
    assert learner.record.ledger.keys() == {"W", "b", "class_state", "mu"}


def test_heads_are_fitted_under_every_transport_that_is_kept(gathering):
    learner = toy_learner(gathering, transports=("none", "linear"))
    learned = learner.learn(STREAM[0].train, 2)
    kept = ("none", "linear")
    assert learned.fitted.keys() == {
        f"{h}+{t}" for h in ("fetril", "gaussian_replay") for t in kept
    }
    frozen = toy_learner(gathering, strategy="frozen", statistics="none", projection=9)
    assert frozen.learn(STREAM[0].train, 2).fitted.keys() == {"projection+none"}


def test_the_same_images_are_held_out_by_seed_and_state(gathering):
    """A quarter of each class, their features stored in half precision."""
    masks = {}
    for seed in (0, 0, 1):
        learner = make_learner(gathering, STREAM[0].train, seed=seed)
        for state in STREAM[:2]:
            held = learner._held_out(state.train, state.index)
            assert np.bincount(state.train.labels[held])[-2:].tolist() == [3, 3]
            masks.setdefault((seed, state.index), held.tolist())
            assert masks[seed, state.index] == held.tolist()
    assert len({str(mask) for mask in masks.values()}) == 4
    features, labels = learner.learn(STREAM[0].train, 2).held_out
    held = np.array(masks[1, 0])
    assert labels.tolist() == STREAM[0].train.labels[held].tolist()
    expected = learner.all_features(STREAM[0].train.take(held))
    np.testing.assert_allclose(features, expected, rtol=1e-2, atol=1e-2)
    assert features.dtype == np.float16


def test_the_first_weights_are_the_seeds_and_the_callers_numbers_go_on(tiny):
    torch.manual_seed(4)
    expected = torch.rand(2)
    torch.manual_seed(4)
    learners = [make_learner(tiny, STREAM[0].train, seed=seed) for seed in (1, 1, 2)]
    assert torch.equal(torch.rand(2), expected)
    one, same, other = (learner.network.backbone.conv1.weight for learner in learners)
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_augmentation_is_the_data_sets_unless_it_is_given(tiny):
    split = STREAM[0].train
    assert prepare(tiny, split, 8, ("flip",)).augment == ("flip",)
    assert prepare(replace(tiny, augment=("none",)), split, 8, ("flip",)).augment == ("none",)
    assert prepare(replace(tiny, augment=()), split, 12, ("flip",)).augment == ()
    assert prepare(tiny, split, 12, ()).size == 12


def test_mu_reads_the_classes_seen_and_nothing_behind_the_rows(gathering):
    """With an output for every class of the stream, and features of the middle."""
    learner = toy_learner(gathering, strategy="lwf", outputs="all", level="middle", epochs=1)
    learner.learn(STREAM[0].train, 2)
    W, b = learner.network.layer.as_linear()
    logits = learner.features(STREAM[0].train) @ W[:2].T + b[:2]
    assert learner.record.mu[0] == pytest.approx(logits.amax(1).mean().item(), rel=1e-5)
    assert learner.view == View(16)
    assert learner.all_features(STREAM[0].train).shape == (24, 64)
