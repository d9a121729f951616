"""The loop, the record and what is left of the images."""

from __future__ import annotations

import gc
import math
import weakref
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import nn

from conftest import make_learner, make_toy
from memoryless.data.augment import Preparation
from memoryless.data.batches import batches
from memoryless.data.dataset import ArrayImages, Split
from memoryless.errors import ConfigError, DataError, StoreError, TrainingError
from memoryless.features import extract_features
from memoryless.lab.config import Config
from memoryless.lab.stream import Stream
from memoryless.learner import Learner, prepare
from memoryless.network import LinearLayer, Network, check_device, pick_device
from memoryless.record import Record
from memoryless.strategies import STRATEGIES, Arrival, Strategy
from memoryless.training import advice


def learn(config: Config, seed: int = 0, states: int = 2, backbone: nn.Module | None = None):
    """A learner after some states of the toy stream."""
    stream = Stream(make_toy(), config.states)
    learner = make_learner(config, stream[0].train, seed=seed, backbone=backbone)
    for state in stream[:states]:
        learner.learn(state.train, stream.sizes[state.index])
    return learner


def weights(learner: Learner) -> dict[str, torch.Tensor]:
    return learner.network.state_dict()


def no_features(split: Split) -> torch.Tensor:
    raise AssertionError("nothing here needs features")


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize("name", STRATEGIES)
def test_strategy_contract(name, tiny):
    """It learns, grows by the new classes, and its record holds their rows as trained."""
    stream = Stream(make_toy(), "3")
    config = replace(tiny, strategy=name)
    learner = make_learner(config, stream[0].train)
    learner.learn(stream[0].train, 2)
    torch.testing.assert_close(learner.record.W, learner.layer[0])
    before = learner.record
    history = learner.learn(stream[1].train, 2).history
    assert len(history.loss) == 2
    assert learner.layer[0].shape == (4, 16)
    assert learner.record.class_state.tolist() == [0, 0, 1, 1]
    torch.testing.assert_close(learner.record.W[:2], before.W)  # initial rows never change
    torch.testing.assert_close(learner.record.W[2:], learner.layer[0][2:])
    assert len(learner.record.mu) == 2


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


@pytest.mark.parametrize(("init", "kept"), [("reset", False), ("grow", True)])
def test_classifier_init(init, kept, tiny):
    network = Network(nn.Flatten(), LinearLayer(4))
    strategy = STRATEGIES["finetune"](replace(tiny, classifier_init=init))
    generator = torch.Generator().manual_seed(0)
    images = make_toy().train
    strategy.begin_state(Arrival(network, images, 2, no_features, generator))
    old = network.layer.weight.detach().clone()
    strategy.begin_state(Arrival(network, images, 3, no_features, generator))
    assert network.layer.weight.shape == (5, 4)
    assert torch.equal(network.layer.weight[:2], old) == kept
    assert network.layer.weight.abs().max() <= 0.5  # 1 / sqrt(4)


def test_mu_is_the_mean_of_the_largest_or_the_true_logit(tiny):
    stream = Stream(make_toy(), tiny.states)
    labels = torch.from_numpy(stream[0].train.labels)
    for mu in ("largest", "true"):
        learner = learn(replace(tiny, mu=mu), states=1)
        W, b = learner.layer
        logits = learner.features(stream[0].train) @ W.T + b
        expected = logits.max(1).values if mu == "largest" else logits[range(len(labels)), labels]
        torch.testing.assert_close(learner.record.mu[0], expected.mean())


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


def test_unusable_device():
    with pytest.raises(ConfigError, match="unknown device 'nonsense': choose auto, cpu"):
        check_device("nonsense")
    assert pick_device("cpu").type == "cpu"


def test_bfloat16_trains(tiny):
    learner = learn(replace(tiny, precision="bfloat16"))
    assert learner.record.W.dtype == torch.float32
    assert learner.record.W.isfinite().all()
    assert not same(weights(learner), weights(learn(tiny)))


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


def test_nothing_in_the_record_grows_with_the_images(tiny):
    few, many = make_toy(train=8), make_toy(train=40)
    sizes = []
    for dataset in (few, many):
        stream = Stream(dataset, "3")
        learner = make_learner(tiny, stream[0].train)
        for state in stream:
            learner.learn(state.train, 2)
        sizes.append(learner.record.ledger)
    d = 16
    expected = {"W": 6 * d * 4, "b": 6 * 4, "class_state": 6 * 8, "mu": 3 * 4}
    assert sizes == [expected, expected]


def test_record_round_trip(tmp_path):
    record = Record.empty(4).extend(torch.randn(2, 4), torch.randn(2), 1.5)
    record.save(tmp_path / "record.safetensors")
    loaded = Record.load(tmp_path / "record.safetensors")
    assert all(torch.equal(getattr(record, f), getattr(loaded, f)) for f in record.ledger)


def test_record_copies_what_it_is_given():
    rows = torch.zeros(2, 4)
    record = Record.empty(4).extend(rows, torch.zeros(2), 1.0)
    rows += 1
    assert record.W.sum() == 0


@pytest.mark.parametrize("damage", ["cut", "flip"])
def test_damaged_files_are_noticed(tmp_path, damage):
    file = tmp_path / "record.safetensors"
    Record.empty(4).extend(torch.ones(2, 4), torch.ones(2), 1.0).save(file)
    content = bytearray(file.read_bytes())
    if damage == "cut":
        del content[-10:]
    else:
        content[-3] ^= 1
    file.write_bytes(content)
    with pytest.raises(StoreError, match="is damaged"):
        Record.load(file)
