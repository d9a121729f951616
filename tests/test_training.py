"""The training loop: its rates, orders, losses and advice."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
import torch

from conftest import learn, make_learner, make_toy
from memoryless.data.augment import Preparation
from memoryless.data.batches import batches
from memoryless.errors import DataError, TrainingError
from memoryless.lab.config import Config
from memoryless.lab.stream import Stream
from memoryless.learner import Learner
from memoryless.strategies import Strategy
from memoryless.training import advice


def weights(learner: Learner) -> dict[str, torch.Tensor]:
    return learner.network.state_dict()


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(a[name], b[name]) for name in a)


def test_training_lowers_the_loss_and_learns(tiny):
    config = replace(tiny, epochs=12, width=4, states="1", augment=("none",))
    stream = Stream(make_toy(), "1")
    learner = make_learner(config, stream[0].train)
    history = learner.learn(stream[0].train, 6).history
    assert history.loss[-1] < 0.3 * history.loss[0]
    W, b = learner.layer
    predictions = (learner.features(stream[0].test) @ W.T + b).argmax(1).numpy()
    assert (predictions == stream[0].test.labels).mean() > 0.9


def test_the_same_seed_gives_equal_weights_and_another_does_not(tiny):
    first = weights(learn(tiny, seed=1))
    torch.rand(7)  # other random numbers drawn in between change nothing
    assert same(first, weights(learn(tiny, seed=1)))
    assert not same(first, weights(learn(tiny, seed=2)))


class SpySGD(torch.optim.SGD):
    """Writes down the settings of every step."""

    steps: ClassVar[list[dict]] = []

    def step(self, *arguments):
        self.steps.append({k: v for k, v in self.param_groups[0].items() if k != "params"})
        return super().step(*arguments)


def test_every_step_uses_the_schedule_and_the_settings(tiny, monkeypatch):
    monkeypatch.setattr(torch.optim, "SGD", SpySGD)
    monkeypatch.setattr(SpySGD, "steps", [])
    learn(replace(tiny, batch_size=12, weight_decay=0.03, momentum=0.7), states=2)
    rates = [step["lr"] for step in SpySGD.steps]
    cosine = [(1 + math.cos(math.pi * i / 4)) / 2 for i in range(4)]  # 2 epochs of 2 batches
    assert rates == pytest.approx([0.1 * c for c in cosine] + [0.05 * c for c in cosine])
    assert {step["weight_decay"] for step in SpySGD.steps} == {0.03}
    assert {step["momentum"] for step in SpySGD.steps} == {0.7}


def test_plateau_watches_the_held_out_loss(tiny, monkeypatch):
    monkeypatch.setattr(torch.optim, "SGD", SpySGD)
    monkeypatch.setattr(SpySGD, "steps", [])
    monkeypatch.setattr("memoryless.training.StateTraining._evaluate", lambda self, split: 1.0)
    learn(replace(tiny, schedule="plateau", patience=1, epochs=3, held_out=0.25), states=1)
    rates = sorted({step["lr"] for step in SpySGD.steps}, reverse=True)
    assert rates == pytest.approx([0.1, 0.01])  # it never gets better than the first epoch


def test_held_out_loss_is_measured_without_augmentation_in_eval_mode(tiny, monkeypatch):
    prepared = []

    def test_only(self, images):
        prepared.append(len(images))
        return Preparation.normalise(self, images)

    modes = []
    original = Strategy.loss

    def loss(self, network, images, labels):
        modes.append((network.training, torch.is_grad_enabled()))
        return original(self, network, images, labels)

    monkeypatch.setattr(Strategy, "loss", loss)
    monkeypatch.setattr(Preparation, "train", lambda self, x, generator: self.normalise(x))
    monkeypatch.setattr(Preparation, "test", test_only)
    learn(replace(tiny, held_out=0.25, batch_size=64), states=1)
    assert modes == [(True, True), (False, False)] * 2
    assert prepared[:2] == [6, 6]


def test_orders_and_augmentation_differ_by_epoch_and_state(tiny, monkeypatch):
    orders, draws = [], []
    original = Preparation.train

    def train(self, images, generator):
        draws.append(int(torch.randint(2**60, (), generator=generator)))
        return original(self, images, generator)

    def watched(split, size, order=None):
        orders.append(tuple(order))
        return batches(split, size, order)

    monkeypatch.setattr(Preparation, "train", train)
    monkeypatch.setattr("memoryless.training.batches", watched)
    learn(replace(tiny, batch_size=64), states=2)
    assert len(set(orders)) == len(orders) == 4
    assert len(set(draws)) == len(draws) == 4


def test_augmentation_reaches_the_network(tiny):
    plain, flipped = (learn(replace(tiny, augment=(name,)), states=1) for name in ("none", "flip"))
    assert not same(weights(plain), weights(flipped))


def test_nan_loss_stops_with_advice(tiny):
    with pytest.raises(TrainingError, match=r"the loss of state 0 became (nan|inf) in epoch \d+"):
        learn(replace(tiny, lr=1e20))


def test_failed_allocations_become_advice():
    reason = "DefaultCPUAllocator: can't allocate memory: you tried to allocate"
    for begun, more in ((False, ""), (True, ", and choose another `output`")):
        with pytest.raises(TrainingError) as caught, advice(Config(batch_size=7), begun):
            raise RuntimeError(reason)
        assert str(caught.value) == (
            "there is not enough memory to train with batches of 7: lower `batch_size`, `width` or "
            f"`image_size`, or take `backbone=resnet18` for large images{more}"
        )
    with pytest.raises(TrainingError, match="leave out `compile`"), advice(Config(compile=True)):
        raise RuntimeError("no compiler")
    with pytest.raises(RuntimeError, match="other"), advice(Config().resolved()):
        raise RuntimeError("other")


def test_one_image_is_not_enough(tiny):
    split = make_toy().train.take(np.array([0]))
    learner = learn(tiny, states=0)
    with pytest.raises(DataError, match="state 0 has 1 images to train on, and needs at least 2"):
        learner.learn(split, 1)


def test_bfloat16_trains(tiny):
    learner = learn(replace(tiny, precision="bfloat16"))
    assert learner.record.W.dtype == torch.float32
    assert learner.record.W.isfinite().all()
    assert not same(weights(learner), weights(learn(tiny)))
