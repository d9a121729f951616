"""Every strategy end to end, its recipe, and the settings of a model."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conftest import Interrupt, assert_same_run
from memoryless.lab.config import Config
from memoryless.lab.experiment import run
from memoryless.lab.runs import RunFolder
from memoryless.settings import ModelSettings
from memoryless.stats.heads import HEADS
from memoryless.stats.methods import grid_of, methods_of
from memoryless.strategies import BASE_RECIPE, STRATEGIES, Strategy
from memoryless.train.resolve import resolved
from memoryless.train.strategies.base import Trainer


@pytest.mark.parametrize("name", STRATEGIES)
def test_end_to_end_and_resumed_to_the_bit(name, tiny, toy):
    config = replace(tiny, states="2", strategy=name, memory=0.2)
    whole = run(replace(config, output=tiny.output / "whole"), toy)[0]
    last = 0 if STRATEGIES[name].one_state else 1
    with pytest.raises(KeyboardInterrupt):
        run(config, toy, observer=Interrupt(last, 1))
    assert_same_run(run(config, toy)[0], whole)
    results = RunFolder(whole).results()
    assert len(results) == last + 1
    assert set(results[-1].methods) == set(methods_of(name))
    assert results[-1].classes_seen == 6


@pytest.mark.parametrize("name", STRATEGIES)
def test_only_heads_that_mean_something_are_scored(name):
    """Of row heads those that the strategy names, or all; of the others all but projection."""
    allowed = STRATEGIES[name].row_heads or [h.name for h in HEADS.values() if h.gives_logits]
    offered = {method.head for method in grid_of(name).values()}
    assert {head for head in offered if HEADS[head].gives_logits} == set(allowed)
    assert ("projection" in offered) == STRATEGIES[name].backbone_stays
    assert {method.head for method in methods_of(name).values()} <= set(allowed)


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_has_its_own_recipe_however_it_was_chosen(name):
    recipe = BASE_RECIPE | STRATEGIES[name].recipe
    for config in (Config(strategy=name), replace(Config(), strategy=name)):
        done = config.resolved()
        assert {key: getattr(done, key) for key in recipe} == recipe
        assert done.epochs_later == done.epochs


def test_what_is_resolved_stays_as_it_is():
    done = Config(strategy="lwf", epochs=7).resolved()
    assert done.resolved() == done
    assert done.resolved(side=224) == done
    assert None not in {done.epochs_later, done.patience_later, done.backbone, done.batch_size}


def test_photos_get_a_stem_a_batch_and_a_rate_that_train():
    small, photos = Config(data="cifar100").resolved(), Config(data="folder").resolved()
    assert (small.backbone, small.batch_size, small.lr) == ("resnet18_3x3", 128, 0.1)
    assert (photos.backbone, photos.batch_size, photos.lr) == ("resnet18", 32, 0.025)
    given = Config(data="folder", backbone="resnet18_3x3", lr=0.1, batch_size=64).resolved()
    assert (given.backbone, given.batch_size, given.lr) == ("resnet18_3x3", 64, 0.1)
    assert Config(data="folder", image_size=32).resolved().backbone == "resnet18_3x3"


def test_a_photo_is_larger_than_64_pixels():
    assert [resolved(ModelSettings(), side).backbone for side in (64, 65)] == [
        "resnet18_3x3",
        "resnet18",
    ]
    rates = [resolved(ModelSettings(batch_size=size), 224).lr for size in (64, 128, 256)]
    assert rates == pytest.approx([0.05, 0.1, 0.1])  # never above the published one
    assert resolved(ModelSettings(batch_size=64), 32).lr == pytest.approx(0.1)


def test_later_states_are_as_long_and_as_patient_as_the_first():
    done = resolved(ModelSettings(epochs=7, patience=3))
    assert (done.epochs_later, done.patience_later) == (7, 3)
    given = resolved(ModelSettings(epochs=7, epochs_later=2, patience_later=4))
    assert (given.epochs_later, given.patience_later) == (2, 4)
    assert resolved(ModelSettings(strategy="lucir")).epochs_later == 160


def test_the_heads_that_strategies_name_are_there():
    assert all(HEADS[s.recommended].reads_statistics for s in STRATEGIES.values())
    assert all(HEADS[h].gives_logits for s in STRATEGIES.values() for h in s.row_heads)


class Halved(Trainer):
    def loss(self, network, images, labels):
        return super().loss(network, images, labels) / 2


def test_a_strategy_added_in_one_place(tiny, toy, monkeypatch):
    """An entry in the table is enough; what trains it may stand anywhere."""
    added = Strategy("half of the loss", f"{__name__}:Halved", recipe={"epochs": 3})
    monkeypatch.setitem(STRATEGIES, "halved", added)
    folder = RunFolder(run(replace(tiny, states="2", strategy="halved", epochs=None), toy)[0])
    assert len(folder.results()[1].history.loss) == 3
    assert "halved+siw" in folder.results()[1].methods


def test_recipes_are_those_published():
    """The base is ours; LwF's is of iCaRL's script, LUCIR's of its paper, LwF-KD's of LDC's."""
    base = {"epochs": 30, "lr": 0.1, "milestones": (0.5, 0.75), "decay": 0.1, "weight_decay": 5e-4}
    assert {name: BASE_RECIPE[name] for name in base} == base
    lwf = resolved(ModelSettings(strategy="lwf"))
    assert (lwf.epochs, lwf.lr, lwf.decay, lwf.weight_decay) == (70, 2.0, 0.2, 1e-5)
    assert [share * 70 for share in lwf.milestones] == pytest.approx([49, 63])
    assert resolved(ModelSettings(strategy="lucir")).epochs == 160
    kd = resolved(ModelSettings(strategy="lwf_kd"))
    assert (kd.kd_weight, kd.kd_temperature, kd.lr_later) == (10.0, 2.0, 0.05)
