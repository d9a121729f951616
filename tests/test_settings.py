"""Settings in their types and bounds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memoryless.errors import ConfigError
from memoryless.lab.config import Config


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


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"statistics": "fool"}, "unknown statistics 'fool'"),
        ({"transports": ("liner",)}, "unknown transport 'liner'.*did you mean 'linear'"),
        ({"projection": 10}, "projection needs a backbone that stays as it is"),
    ],
)
def test_wrong_settings(tiny, given, message):
    with pytest.raises(ConfigError, match=message):
        replace(tiny, **given).resolved(8)
