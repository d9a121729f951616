"""What each strategy changes, and what it must not."""

from __future__ import annotations

import copy
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import conftest
from conftest import make_toy
from memoryless.backbones import ResNet18
from memoryless.lab.config import Config
from memoryless.lab.experiment import run
from memoryless.lab.runs import RunFolder
from memoryless.lab.stream import Stream
from memoryless.learner import Learner
from memoryless.methods import methods_of
from memoryless.network import CosineLayer
from memoryless.strategies import STRATEGIES, Arrival
from memoryless.strategies.replay import herding
from test_experiment import Interrupt, assert_same_run

STREAM = Stream(make_toy(), "3")


def make_learner(config: Config, **settings) -> Learner:
    return conftest.make_learner(replace(config, **settings), STREAM[0].train)


@pytest.mark.parametrize("name", STRATEGIES)
def test_end_to_end_and_resumed_to_the_bit(name, tiny, toy):
    config = replace(tiny, strategy=name, memory=0.2)
    whole = run(replace(config, output=tiny.output / "whole"), toy)[0]
    last = 0 if STRATEGIES[name].one_state else 2
    with pytest.raises(KeyboardInterrupt):
        run(config, toy, observer=Interrupt(last, 1))
    assert_same_run(run(config, toy)[0], whole)
    results = RunFolder(whole).results()
    assert len(results) == last + 1
    assert set(results[-1]["methods"]) == set(methods_of(name))
    assert results[-1]["classes_seen"] == 6


@pytest.mark.parametrize("name", STRATEGIES)
def test_only_heads_that_mean_something_are_scored(name):
    heads = {method.head for method in methods_of(name).values()}
    assert heads <= set(STRATEGIES[name].heads or heads)


@pytest.mark.parametrize("name", ["lwf", "lwf_kd", "lucir"])
def test_the_teacher_does_not_change(name, tiny, monkeypatch):
    """Neither its parameters nor its batch statistics, and it is gone after the state."""
    learner = make_learner(tiny, strategy=name)
    learner.learn(STREAM[0].train, 2)
    before = copy.deepcopy(learner.network.state_dict())
    strategy = learner.strategy
    seen = []
    original = strategy.end_state

    def end_state(*arguments):
        seen.append(copy.deepcopy(strategy.teacher.state_dict()))
        assert not strategy.teacher.training
        original(*arguments)

    monkeypatch.setattr(strategy, "end_state", end_state)
    learner.learn(STREAM[1].train, 2)
    assert all(torch.equal(before[key], seen[0][key]) for key in before)
    assert strategy.teacher is None
    assert not torch.equal(before["backbone.conv1.weight"], learner.network.backbone.conv1.weight)


@pytest.mark.parametrize(("outputs", "sizes"), [("seen", [2, 4]), ("all", [6, 6])])
def test_lwf_outputs(outputs, sizes, tiny):
    learner = make_learner(tiny, strategy="lwf", outputs=outputs)
    for state, size in zip(STREAM[:2], sizes, strict=True):
        learner.learn(state.train, 2)
        assert learner.network.classes == size
        assert learner.layer[0].shape[0] == 2 * state.index + 2


def test_lwf_kd_loss_is_new_cross_entropy_and_weighted_distillation(tiny):
    learner = make_learner(tiny, strategy="lwf_kd", kd_weight=3.0)
    learner.learn(STREAM[0].train, 2)
    strategy, network = learner.strategy, learner.network
    strategy.past = 2
    generator = torch.Generator().manual_seed(0)
    strategy.begin_state(Arrival(network, STREAM[1].train, 2, learner.features, generator))
    images = torch.randn(5, 1, 8, 8)
    labels = torch.tensor([2, 3, 3, 2, 2])
    network.eval()
    logits, old = network(images), strategy.teacher(images)
    soft = (old / 2).softmax(1)
    kd = -(soft * (logits[:, :2] / 2).log_softmax(1)).sum(1).mean()
    expected = F.cross_entropy(logits[:, 2:], labels - 2) + 3 * kd
    torch.testing.assert_close(strategy.loss(network, images, labels), expected)


def test_lucir_fixes_old_rows_and_weighs_old_classes(tiny):
    learner = make_learner(tiny, strategy="lucir")
    learner.learn(STREAM[0].train, 2)
    assert learner.strategy.weight == 0
    rows = learner.network.layer.rows.detach().clone()
    learner.learn(STREAM[1].train, 2)
    assert learner.strategy.weight == pytest.approx(5 * math.sqrt(2 / 2))
    torch.testing.assert_close(learner.network.layer.rows[:2], rows)
    learner.learn(STREAM[2].train, 2)
    assert learner.strategy.weight == pytest.approx(5 * math.sqrt(4 / 2))


def test_lucir_imprints_mean_directions_at_the_mean_length():
    layer = CosineLayer(3)
    generator = torch.Generator().manual_seed(0)
    layer.grow(2, True, generator)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[3.0, 0, 0], [0, 5.0, 0]]))
    layer.grow(1, True, generator)
    layer.imprint(torch.tensor([[0.0, 2, 0], [0, 0, 7.0]]), torch.tensor([2, 2]))
    expected = torch.tensor([0, 0.5**0.5, 0.5**0.5]) * 4  # lengths 3 and 5
    torch.testing.assert_close(layer.weight[0].detach(), expected)


def test_a_cosine_layer_ranks_as_the_linear_layer_it_gives():
    layer = CosineLayer(4)
    layer.grow(3, True, torch.Generator().manual_seed(0))
    features = torch.randn(9, 4)
    W, b = layer.as_linear()
    length = features.norm(dim=1, keepdim=True)
    torch.testing.assert_close(layer(features).detach(), (features @ W.T + b) / length)


def test_lucirs_features_may_be_negative(tiny):
    assert make_learner(tiny, strategy="lucir").features(STREAM[0].train).min() < 0
    assert make_learner(tiny).features(STREAM[0].train).min() >= 0


def test_frozen_changes_nothing_but_the_layer(tiny):
    learner = make_learner(tiny, strategy="frozen")
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
    learner = conftest.make_learner(config, STREAM[0].train, backbone=backbone)
    learner.learn(STREAM[0].train, 2)
    assert torch.equal(learner.network.backbone.conv1.weight, before)


def test_independent_states_start_from_scratch(tiny):
    """The second state's weights do not depend on the first state's images."""
    other = make_toy()
    other.train.images.pixels[other.train.labels < 2] = 0
    backbones = []
    for stream in (STREAM, Stream(other, "3")):
        learner = make_learner(tiny, strategy="independent")
        learner.learn(stream[0].train, 2)
        learner.learn(stream[1].train, 2)
        backbones.append(learner.network.backbone.state_dict())
    assert all(torch.equal(backbones[0][key], backbones[1][key]) for key in backbones[0])


@pytest.mark.parametrize("exemplars", ["herding", "random"])
@pytest.mark.parametrize("share", [0.05, 0.1, 0.3])
def test_replay_never_exceeds_its_budget(exemplars, share, tiny):
    learner = make_learner(tiny, strategy="replay", memory=share, exemplars=exemplars)
    for state in STREAM:
        before = learner.strategy.memory
        learner.learn(state.train, 2)
        memory = learner.strategy.memory
        assert len(memory) == min(round(share * 72), 24 * (state.index + 1))
        counts = np.bincount(memory.labels, minlength=2 * state.index + 2)
        assert counts.max() - counts.min() <= 1
        if before is not None:  # classes only ever lose images
            old = memory.labels < 2 * state.index
            assert set(memory.indices[old]) <= set(before.indices)


def test_herding_equals_a_direct_greedy_search():
    features = torch.randn(12, 5, generator=torch.Generator().manual_seed(3))
    directions = (features / features.norm(dim=1, keepdim=True)).numpy()
    mean = directions.mean(0) / np.linalg.norm(directions.mean(0))
    chosen: list[int] = []
    for _ in range(6):
        left = [i for i in range(12) if i not in chosen]
        gaps = [np.linalg.norm(mean - directions[[*chosen, i]].mean(0)) for i in left]
        chosen.append(left[int(np.argmin(gaps))])
    assert herding(features, 6).tolist() == chosen
    assert sorted(herding(features, 99).tolist()) == list(range(12))


def test_recipes_fill_what_a_config_leaves_open():
    assert Config(strategy="lwf").resolved().lr == 2.0
    assert Config(strategy="lwf", lr=0.3).resolved().lr == 0.3
    assert replace(Config(), strategy="lucir").resolved().epochs == 160
    assert Config().resolved().classifier_init == "reset"
    assert Config(strategy="lwf_kd").resolved().lr_later == 0.05
    assert Config(strategy="lwf_kd", lr_later="t+1").resolved().lr_later == "t+1"
