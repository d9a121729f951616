"""Fixed: the backbone never learns, and sees each image of a state once."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from torch import nn

from conftest import (
    STREAM,
    Interrupt,
    assert_same_run,
    make_learner,
    make_toy,
    toy_learner,
)
from memoryless.lab.config import Config
from memoryless.lab.experiment import run
from memoryless.lab.frame import results_with
from memoryless.lab.runs import RunFolder, last_state
from memoryless.lab.stream import Stream
from memoryless.stats.methods import build_scorer, grid_of, parse_method
from memoryless.stats.record import EndOfState
from memoryless.stats.scorers import View, square_roots
from memoryless.tensors import from_bytes
from memoryless.train.backbones.resnet import ResNet18
from memoryless.train.checkpoint import Checkpoint


class Counting(nn.Module):
    """Counts the images that it has turned into features."""

    def __init__(self, features: int = 5):
        super().__init__()
        self.linear, self.seen = nn.Linear(64, features), 0

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        self.seen += len(images)
        return self.linear(images.flatten(1)).relu()


def fixed_learner(config: Config, backbone: nn.Module | None = None, **settings):
    config = replace(config, strategy="fixed", **settings)
    return make_learner(config, STREAM[0].train, backbone=backbone)


def test_the_backbone_stays_bit_for_bit(tiny):
    learner = toy_learner(tiny, strategy="fixed")
    weights = {k: v.clone() for k, v in learner.network.backbone.named_parameters()}
    learner.learn(STREAM[0].train, 2)
    norms = {k: v.clone() for k, v in learner.network.backbone.named_buffers()}
    learner.learn(STREAM[1].train, 2)
    now = learner.network.backbone.state_dict()
    assert all(torch.equal(part, now[name]) for name, part in (weights | norms).items())


@pytest.mark.parametrize("epochs", [1, 7])
def test_each_image_is_seen_once_however_many_epochs(tiny, epochs):
    learner = fixed_learner(tiny, Counting(), epochs=epochs, statistics="tied", held_out=0.25)
    backbone = learner.network.backbone
    for state in STREAM[:2]:
        backbone.seen = 0
        learned = learner.learn(state.train, 2)
        assert backbone.seen == len(state.train)
        assert len(learned.history.loss) == epochs


def test_the_layer_learns_from_the_features(tiny):
    learner = fixed_learner(tiny, Counting(32), epochs=30, lr=0.1)
    learned = learner.learn(STREAM[0].train, 2)
    assert learned.history.loss[-1] < 0.5 * learned.history.loss[0]
    scores = learner.all_features(STREAM[0].train) @ learner.layer[0].T + learner.layer[1]
    assert (scores.argmax(1) == STREAM[0].train.labels).mean() > 0.9


def test_a_checkpoint_holds_the_layer_alone(tiny, tmp_path):
    learner, file = fixed_learner(tiny), tmp_path / "checkpoint.safetensors"
    learner.learn(STREAM[0].train, 2, Checkpoint(file))
    names = {name for name in from_bytes(file.read_bytes())[0] if name.startswith("network.")}
    assert names == {"network.layer.weight", "network.layer.bias"}


def test_an_untrained_backbone_gets_its_batch_statistics_from_state_0(tiny):
    """Of equal batches: the mean over them is the mean over all images."""
    learner = toy_learner(tiny, strategy="fixed", batch_size=6)
    images, backbone = STREAM[0].train, learner.network.backbone
    assert isinstance(backbone, ResNet18)
    learner.learn(images, 2)
    with torch.no_grad():
        prepared = learner.preparation.test(images.read(np.arange(len(images))))
        expected = backbone.conv1(prepared).mean((0, 2, 3))
    torch.testing.assert_close(backbone.bn1.running_mean, expected, rtol=1e-4, atol=1e-5)
    assert backbone.bn1.momentum == 0.1
    assert not backbone.training


def test_batch_statistics_that_came_with_weights_stay(tiny):
    backbone = ResNet18(channels=1, width=2, small_images=True)
    for norm in backbone.modules():
        if isinstance(norm, nn.BatchNorm2d):
            norm.running_mean += 0.25
    before = {k: v.clone() for k, v in backbone.state_dict().items()}
    learner = fixed_learner(tiny, backbone)
    learner.learn(STREAM[0].train, 2)
    after = learner.network.backbone.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


@pytest.mark.parametrize("level", ["last", "middle"])
def test_resumed_to_the_bit_with_statistics(gathering, toy, level):
    config = replace(gathering, strategy="fixed", level=level, square_roots=True, projection=20)
    whole = run(replace(config, output=gathering.output / "whole"), toy)[0]
    for stop in (Interrupt(0, 1), Interrupt(1, 0), Interrupt(2, 1)):
        with pytest.raises(KeyboardInterrupt):
            run(config, toy, observer=stop)
    assert_same_run(run(config, toy)[0], whole)


def test_every_method_is_scored_again_from_the_folder(gathering, toy):
    config = replace(gathering, strategy="fixed", square_roots=True, projection=20)
    folder = RunFolder(run(config, toy)[0])
    stored = folder.results()
    names = [name for name in grid_of("fixed") if name in stored[-1].methods]
    again = results_with(folder, names)
    for state, scored in zip(stored, again, strict=True):
        if state.state < 2:  # only the last state's folder keeps a projection
            names = [name for name in names if "projection" not in name]
        assert {n: scored.methods[n].top1 for n in names} == {
            n: state.methods[n].top1 for n in names
        }
    assert {"fixed+lda", "fixed+rda", "fixed+ncm", "fixed+gaussian_replay"} <= set(names)


def end_of(learner) -> EndOfState:
    return EndOfState(learner.record, learner.layer, view=learner.view)


@pytest.mark.parametrize("form", ["tied", "full"])
def test_lda_is_that_of_all_images_at_once(tiny, form):
    """Deep SLDA: scikit-learn's on the square roots of features of all states."""
    learner = fixed_learner(tiny, Counting(), statistics=form)
    for state in STREAM[:3]:
        learner.learn(state.train, 2)
    scorer = build_scorer(parse_method("fixed+lda:6"), end_of(learner))
    X = np.concatenate([learner.all_features(s.train) for s in STREAM]).astype(np.float64)
    y = np.concatenate([s.train.labels for s in STREAM])
    g = 6 * X.shape[1] / len(y)  # S + 6 tr(S) / n I is S + g tr(S) / d I
    theirs = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=g / (1 + g))
    theirs.fit(square_roots(X), y)
    new = learner.all_features(STREAM[2].test)
    expected = theirs.decision_function(square_roots(new.astype(np.float64))) / (1 + g)
    mine = scorer(new)
    np.testing.assert_allclose(
        mine - mine[:, :1], expected - expected[:, :1], rtol=1e-3, atol=1e-3 * np.abs(mine).max()
    )


@pytest.mark.parametrize("given", [False, True])
def test_statistics_are_of_square_roots_whatever_is_given(tiny, given):
    learner = fixed_learner(tiny, Counting(), statistics="tied", square_roots=given)
    learner.learn(STREAM[0].train, 2)
    assert learner.view == View(square_roots=True, groups=(5,))
    roots = square_roots(learner.all_features(STREAM[0].train).astype(np.float64))
    mean = roots[STREAM[0].train.labels == 0].mean(0)
    np.testing.assert_allclose(learner.record.statistics["none"].mean[0], mean, rtol=1e-9)


def test_heads_over_statistics_do_not_read_lengths(tiny):
    learner = fixed_learner(tiny, Counting(), statistics="full", projection=20)
    learned = learner.learn(STREAM[0].train, 2)
    end = replace(end_of(learner), fitted=learned.fitted)
    features = learner.all_features(STREAM[0].test)
    for head in ("ncm", "lda", "mahalanobis", "rda", "ridge", "projection"):
        scorer = build_scorer(parse_method(f"fixed+{head}"), end)
        np.testing.assert_allclose(scorer(7 * features), scorer(features), rtol=1e-4, atol=1e-4)


def test_nothing_is_kept_twice_and_no_drift_is_measured(gathering, toy):
    folder = RunFolder(run(replace(gathering, strategy="fixed"), toy)[0])
    assert set(last_state(folder).record.statistics) == {"none"}
    assert not [name for name in folder.arrays(2, "birth") if name.startswith("drift.")]


def test_random_changes_are_not_made(tiny):
    assert fixed_learner(tiny).preparation.augment == ()


def test_an_untrained_control_has_the_weights_that_training_begins_with(tiny):
    control, trained = (toy_learner(tiny, strategy=name) for name in ("untrained", "finetune"))
    drawn = {k: v.clone() for k, v in trained.network.backbone.named_parameters()}
    for state in STREAM[:2]:
        control.learn(state.train, 2)
    stayed = dict(control.network.backbone.named_parameters())
    assert all(torch.equal(stayed[name], weights) for name, weights in drawn.items())


def test_a_stream_learned_in_another_order_gives_the_same_scores(tiny):
    """Since nothing moves, statistics are sums."""
    scores = []
    for states in ("2", "6"):
        stream = Stream(make_toy(), states)
        learner = fixed_learner(tiny, nn.Flatten(), statistics="tied")
        for state in stream:
            learner.learn(state.train, stream.sizes[state.index])
        scorer = build_scorer(parse_method("fixed+lda"), end_of(learner))
        scores.append(scorer(learner.all_features(stream[-1].test)))
    assert np.abs(scores[0] - scores[1]).max() < 1e-5 * np.ptp(scores[0])
