"""The training loop: its rates, orders, losses and advice."""

from __future__ import annotations

import math
from dataclasses import asdict, replace
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import nn

from conftest import learn, make_learner, make_toy
from memoryless.errors import DataError, TrainingError
from memoryless.images.dataset import Split
from memoryless.lab.config import Config
from memoryless.lab.stream import Stream
from memoryless.progress import TrainingProgress
from memoryless.randomness import numpy_generator
from memoryless.train.augment import Preparation
from memoryless.train.batches import batches
from memoryless.train.checkpoint import Checkpoint
from memoryless.train.learner import Learner
from memoryless.train.loop import StateTraining, advice
from memoryless.train.network import LinearLayer, Network
from memoryless.train.randomness import torch_generator
from memoryless.train.strategies.base import Trainer


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
    predictions = (learner.all_features(stream[0].test) @ W.T + b).argmax(1)
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
    monkeypatch.setattr("memoryless.train.loop.StateTraining._evaluate", lambda self, split: 1.0)
    learn(replace(tiny, schedule="plateau", patience=1, epochs=3, held_out=0.25), states=1)
    rates = sorted({step["lr"] for step in SpySGD.steps}, reverse=True)
    assert rates == pytest.approx([0.1, 0.01])  # it never gets better than the first epoch


def test_held_out_loss_is_measured_without_augmentation_in_eval_mode(tiny, monkeypatch):
    prepared = []

    def test_only(self, images):
        prepared.append(len(images))
        return Preparation.normalise(self, images)

    modes = []
    original = Trainer.loss

    def loss(self, network, images, labels):
        modes.append((network.training, torch.is_grad_enabled()))
        return original(self, network, images, labels)

    monkeypatch.setattr(Trainer, "loss", loss)
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
    monkeypatch.setattr("memoryless.train.loop.batches", watched)
    learn(replace(tiny, batch_size=64), states=2)
    assert len(set(orders)) == len(orders) == 4
    assert len(set(draws)) == len(draws) == 4
    times = [(0, 0), (0, 1), (1, 0), (1, 1)]  # state and epoch: a resumed run must draw the same
    assert orders == [tuple(numpy_generator(0, *at, "order").permutation(24)) for at in times]
    assert draws == [
        int(torch.randint(2**60, (), generator=torch_generator(0, *at, "augmentation")))
        for at in times
    ]


def test_augmentation_reaches_the_network(tiny):
    plain, flipped = (learn(replace(tiny, augment=(name,)), states=1) for name in ("none", "flip"))
    assert not same(weights(plain), weights(flipped))


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried")]
)
@pytest.mark.parametrize("begun", [False, True])
def test_failed_allocations_become_advice(error, begun):
    with pytest.raises(TrainingError) as caught, advice(Config(batch_size=7), begun):
        raise error
    assert "not enough memory to train with batches of 7: lower `batch_size`" in str(caught.value)
    assert str(caught.value).endswith("and choose another `output`") == begun


def test_other_failures_are_not_taken_for_a_lack_of_memory():
    with pytest.raises(TrainingError, match="leave out `compile`"), advice(Config(compile=True)):
        raise RuntimeError("no compiler")
    with pytest.raises(RuntimeError, match="other"), advice(Config().resolved()):
        raise RuntimeError("other")


def test_bfloat16_trains(tiny):
    learner = learn(replace(tiny, precision="bfloat16"))
    assert learner.record.W.dtype == np.float32
    assert np.isfinite(learner.record.W).all()
    assert not same(weights(learner), weights(learn(tiny)))


class Halves(Trainer):
    """The loss of a batch is half of its number of images, so that means can be worked out."""

    def loss(self, network, images, labels):
        return network(images).sum() * 0 + len(labels) / 2


def train(config: Config, state: int = 0, **parts) -> tuple[StateTraining, list[TrainingProgress]]:
    """A training of one state over ten images, and what it reports."""
    told: list[TrainingProgress] = []
    network = Network(nn.Flatten(), LinearLayer(64))
    network.layer.grow(2, True, torch.Generator().manual_seed(0))
    strategy = Halves(config)
    preparation = Preparation(8, (0.5,), (0.5,))
    return (
        StateTraining(
            network, strategy, preparation, config, 0, state, report=told.append, **parts
        ),
        told,
    )


def ten() -> Split:
    return make_toy().train.take(np.arange(10))


def test_losses_are_means_over_images(tiny):
    """Ten images in batches of 4, 3 and 3: (4 * 2 + 3 * 1.5 + 3 * 1.5) / 10."""
    training, _ = train(replace(tiny, batch_size=4).resolved(8))
    history = training.run(ten(), ten().take(np.arange(5)))
    assert history.loss == pytest.approx([1.7, 1.7])
    assert history.watched == pytest.approx([(3 * 1.5 + 2 * 1) / 5] * 2)
    assert history.images == [10, 10]
    assert len(history.seconds) == 2
    assert min(history.seconds) > 0
    training, _ = train(replace(tiny, batch_size=4).resolved(8))
    history = training.run(ten())
    assert history.watched == history.loss  # without held-out images


@pytest.mark.parametrize(("state", "epochs"), [(0, 2), (1, 3)])
def test_progress_is_told(tiny, monkeypatch, state, epochs):
    """After every batch here, where no time is too short."""
    monkeypatch.setattr("memoryless.train.loop.SECONDS_BETWEEN_REPORTS", -1)
    config = replace(tiny, batch_size=5, epochs=2, epochs_later=3).resolved(8)
    training, told = train(config, state)
    training.run(ten())
    assert [p.share for p in told] == pytest.approx(
        [i / 2 / epochs for i in range(1, 2 * epochs + 1)]
    )
    assert [p.epoch for p in told] == [i // 2 for i in range(2 * epochs)]
    assert {(p.state, p.epochs, p.loss) for p in told} == {(state, epochs, 2.5)}
    assert min(p.images_per_second for p in told) > 0


def test_progress_is_told_at_the_end_of_an_epoch_at_least(tiny, monkeypatch):
    monkeypatch.setattr("memoryless.train.loop.SECONDS_BETWEEN_REPORTS", 1e9)
    training, told = train(replace(tiny, batch_size=2).resolved(8))
    training.run(ten())
    # perf_counter may stand at anything, so the first batch may be told too
    assert [p.share for p in told if p.share in (0.5, 1.0)] == [0.5, 1.0]
    assert len(told) <= 4


def test_a_state_needs_two_images(tiny):
    training, _ = train(tiny.resolved(8))
    with pytest.raises(DataError, match="state 0 has 1 images to train on, and needs at least 2"):
        training.run(ten().take(np.arange(1)))
    assert training.run(ten().take(np.arange(2))).images == [2, 2]


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_a_checkpoint_holds_the_epochs_so_far(tiny, tmp_path, momentum):
    config = replace(tiny, epochs=3, momentum=momentum).resolved(8)
    place = Checkpoint(tmp_path / "c.safetensors", "here")
    training, told = train(config, checkpoint=place)
    history = training.run(ten())
    tensors, facts = place.read()
    assert facts == {"state": 0, **asdict(history)}
    network = {name for name in tensors if name.startswith("network.")}
    assert network == {"network.layer.weight", "network.layer.bias"}
    assert len(tensors) - len(network) == (2 if momentum else 0)
    again, told = train(config, checkpoint=place)
    assert again.run(ten()) == history
    assert told == []  # nothing was left to do
    for change in (
        {"checkpoint": replace(place, run="there")},
        {"state": 1, "checkpoint": place},
    ):
        other, told = train(config, **change)
        other.run(ten())
        assert told[0].epoch == 0


def test_a_checkpoint_of_another_network_is_not_taken(tiny, tmp_path):
    config = tiny.resolved(8)
    place = Checkpoint(tmp_path / "c.safetensors")
    train(config, checkpoint=place)[0].run(ten())
    for spoil in (
        lambda t: t | {"network.more": torch.zeros(1)},
        lambda t: {n: x for n, x in t.items() if n != "network.layer.bias"},
        lambda t: t | {"network.layer.bias": torch.zeros(3)},
        lambda t: t | {"network.layer.bias": torch.zeros(2).double()},
        lambda t: t | {"momentum.layer.bias": torch.zeros(3)},
        lambda t: t | {"momentum.layer.other": torch.zeros(3)},
    ):
        tensors, facts = place.read()
        spoilt = Checkpoint(tmp_path / "spoilt")
        spoilt.write(spoil(tensors), facts)
        training, told = train(config, checkpoint=spoilt)
        training.run(ten())
        assert told[0].epoch == 0


@pytest.mark.parametrize(("state", "begun"), [(0, False), (0, True), (1, False)])
def test_the_advice_on_a_loss_that_is_none_depends_on_what_was_learned(tiny, state, begun):
    losses = iter([1.0, math.nan] if begun else [math.inf])

    class Breaks(Halves):
        def loss(self, network, images, labels):
            return network(images).sum() * 0 + next(losses)

    training, _ = train(replace(tiny, batch_size=10).resolved(8), state)
    training.strategy = Breaks(tiny)
    with pytest.raises(TrainingError) as caught:
        training.run(ten())
    loss, epoch = ("nan", 1) if begun else ("inf", 0)
    more = ", and choose another `output`" if begun or state else ""
    assert str(caught.value) == (
        f"the loss of state {state} became {loss} in epoch {epoch}: lower `lr`, or use "
        f"`precision=float32`{more}"
    )


def test_a_held_out_loss_that_is_none_stops_too(tiny, monkeypatch):
    monkeypatch.setattr(StateTraining, "_evaluate", lambda self, split: math.nan)
    training, _ = train(tiny.resolved(8))
    with pytest.raises(TrainingError, match="the loss of state 0 became nan in epoch 0"):
        training.run(ten(), ten())


def test_images_a_second_are_those_of_the_epoch(tiny, monkeypatch):
    """A clock that moves by a second whenever it is asked: five images in each."""
    seconds = iter(range(1, 1000))
    monkeypatch.setattr("memoryless.train.loop.time.perf_counter", lambda: float(next(seconds)))
    training, told = train(replace(tiny, batch_size=5).resolved(8))
    training.run(ten())
    assert [p.images_per_second for p in told] == [5.0] * 4
