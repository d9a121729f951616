"""Settings: types and bounds, what is filled in, and every problem in one error."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from memoryless.errors import ConfigError
from memoryless.lab.config import Config
from memoryless.strategies import STRATEGIES, ModelSettings
from memoryless.strategies.base import BASE_RECIPE


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"epochs": 0, "lr": -1.0},
            "epochs must be from 1 to 1,000,000, not 0; lr must be above 0, not -1.0",
        ),
        ({"epochs": 1.5}, "epochs must be a whole number, not 1.5"),
        ({"epochs": True}, "epochs must be a whole number, not True"),
        ({"lr": float("nan")}, "lr must be a number, not nan"),
        ({"kd_weight": float("inf")}, "kd_weight must be a number, not inf"),
        ({"kd_weight": -1.0}, "kd_weight must be 0 or more, not -1.0"),
        ({"lambda_base": float("nan")}, "lambda_base must be a number, not nan"),
        ({"validation": 1.0}, "validation must be from 0 to below 1, not 1.0"),
        ({"milestones": (3.0,)}, "milestones must lie between 0 and 1, not (3.0,)"),
        ({"outputs": "some"}, "outputs must be seen or all, not 'some'"),
        ({"grey": "yes"}, "grey must be true or false, not 'yes'"),
        ({"strategy": 3}, "strategy must be text, not 3"),
        ({"seeds": 3}, "seeds must be a list, not 3"),
        ({"seeds": (1, 1)}, "seeds must differ from each other"),
        ({"seeds": ()}, "seeds must name at least one, not ()"),
        ({"transports": ()}, "transports must name at least one, not ()"),
        ({"transports": None}, "transports must be a list, not None"),
        ({"mean": (0.5,)}, "mean and std must be given together"),
        ({"lr_later": "slow"}, "unknown lr_later 'slow': choose from t+1, t, constant"),
        ({"lr_later": 0.0}, "lr_later must be above 0, not 0.0"),
        ({"schedule": "cosinus"}, "unknown schedule 'cosinus'"),
        ({"backbone": "resnet19"}, "unknown backbone 'resnet19'"),
        ({"device": "tpu"}, "unknown device 'tpu'"),
        ({"statistics": "fool"}, "unknown statistics 'fool'"),
        ({"transports": ("liner",)}, "unknown transport 'liner'"),
        ({"projection": 10}, "projection needs a backbone that stays as it is"),
        ({"augment": ("flip", "none")}, "augment flip none contradicts itself"),
        ({"augment": ("flip", "flip")}, "augment flip flip contradicts itself"),
        ({"methods": ("finetune+sow",)}, "unknown head, calibration or transport 'sow'"),
        ({"data": "cifar1000"}, "unknown data set 'cifar1000'"),
    ],
)
def test_what_is_wrong_is_said(given, message):
    with pytest.raises(ConfigError) as caught:
        Config(**given).resolved()
    assert message in str(caught.value)


def test_all_problems_come_at_once():
    with pytest.raises(ConfigError) as caught:
        Config(strategy="finetun", schedule="cosinus", augment=("flap",)).resolved()
    for part in ("strategy 'finetun'", "schedule 'cosinus'", "augmentation 'flap'"):
        assert part in str(caught.value)


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


def test_stored_settings_come_back():
    done = Config(strategy="lwf_kd", root=Path("x"), seeds=(1, 2)).resolved()
    assert Config(**done.to_dict()).resolved() == done
    lists = {k: list(v) if isinstance(v, tuple) else v for k, v in done.to_dict().items()}
    assert Config(**lists).resolved() == done


def test_photos_get_a_stem_a_batch_and_a_rate_that_train():
    small, photos = Config(data="cifar100").resolved(), Config(data="folder").resolved()
    assert (small.backbone, small.batch_size, small.lr) == ("resnet18_3x3", 128, 0.1)
    assert (photos.backbone, photos.batch_size, photos.lr) == ("resnet18", 32, 0.025)
    given = Config(data="folder", backbone="resnet18_3x3", lr=0.1, batch_size=64).resolved()
    assert (given.backbone, given.batch_size, given.lr) == ("resnet18_3x3", 64, 0.1)
    assert Config(data="folder", image_size=32).resolved().backbone == "resnet18_3x3"


def test_a_model_needs_no_laboratory():
    assert ModelSettings(strategy="lucir", lambda_base=2).resolved(32).lambda_base == 2.0
