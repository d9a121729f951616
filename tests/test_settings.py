"""Settings in their types and bounds."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import pytest

from memoryless.errors import ConfigError
from memoryless.lab.config import Config
from memoryless.settings import (
    conform,
    plain_values,
)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"epochs": 0, "lr": -1.0},
            "epochs must be a whole number from 1, not 0; lr must be a number above 0.0, not -1.0",
        ),
        ({"epochs": 1.5}, "epochs must be a whole number, not 1.5"),
        ({"epochs": True}, "epochs must be a whole number, not True"),
        ({"lr": float("nan")}, "lr must be a number above 0.0, not nan"),
        ({"lr": 10**400}, "lr must be a number, not 1000"),
        ({"kd_weight": float("inf")}, "kd_weight must be a number, not inf"),
        ({"kd_weight": -1.0}, "kd_weight must be a number from 0.0, not -1.0"),
        ({"lambda_base": float("nan")}, "lambda_base must be a number from 0.0, not nan"),
        ({"validation": 1.0}, "validation must be a number below 1.0, not 1.0"),
        ({"milestones": (3.0,)}, "milestones must be a number below 1.0, not (3.0,)"),
        ({"outputs": "some"}, "outputs must be seen or all, not 'some'"),
        ({"grey": "yes"}, "grey must be true or false, not 'yes'"),
        ({"strategy": 3}, "strategy must be text, not 3"),
        ({"seeds": 3}, "seeds must be a list, not 3"),
        ({"seeds": (1, 1)}, "seeds must differ from each other"),
        ({"seeds": ()}, "seeds must be a list of length from 1, not ()"),
        ({"transports": ()}, "transports must be a list of length from 1, not ()"),
        ({"transports": None}, "transports must be a list, not None"),
        ({"mean": (0.5,)}, "mean and std must be given together"),
        ({"lr_later": "slow"}, "unknown lr_later 'slow': choose from t+1, t, constant"),
        ({"lr_later": 0.0}, "lr_later must be a number above 0.0, not 0.0"),
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


@pytest.mark.parametrize(
    ("name", "inside", "outside"),
    [
        ("epochs", [1, 1_000_000], [0, -1, 1_000_001]),
        ("image_size", [1, 2_048, None], [0, 2_049]),
        ("crop", [1e-9, 1], [0, 1.01]),
        ("held_out", [0, 0.999], [-0.001, 1]),
        ("test_share", [0.001, 0.999], [0, 1]),
        ("lr", [1e-9, 5], [0, -1e-9]),
        ("weight_decay", [0, 5], [-1e-9]),
        ("projection", [0, 20_000], [-1, 20_001]),
        ("seeds", [(2**63 - 1,), (1 - 2**63,)], [(2**63,), (-(2**63),)]),
        ("mean", [(0.5,)], [(float("inf"),), (float("nan"),)]),
    ],
)
def test_bounds_at_their_edges(name, inside, outside):
    for values, number in ((inside, 0), (outside, 1)):
        for value in values:
            assert len(conform(Config(**{name: value}))[1]) == number, value


def test_values_come_in_their_types():
    given = Config(lr=1, milestones=[0.5], root="x", lr_later=1, seeds=[3])
    values, problems = conform(given)
    assert problems == []
    expected = {"lr": 1.0, "milestones": (0.5,), "root": Path("x"), "lr_later": 1.0, "seeds": (3,)}
    assert {name: values[name] for name in expected} == expected
    assert {name: type(values[name]) for name in ("lr", "lr_later")} == {
        "lr": float,
        "lr_later": float,
    }
    assert conform(Config(lr_later="t"))[0]["lr_later"] == "t"


def test_open_settings_stay_open_and_others_cannot_be():
    values, problems = conform(Config(epochs=None, width=None, momentum=None, patience=None))
    assert (values["epochs"], values["width"]) == (None, None)
    assert problems == [
        "patience must be a whole number, not None",
        "momentum must be a number, not None",
    ]


def test_settings_as_they_stand_in_a_file():
    values = plain_values(Config(root=Path("a/b"), seeds=(1, 2)))
    assert (values["root"], values["seeds"], values["output"]) == ("a/b", (1, 2), "runs/latest")
    assert values.keys() == {field.name for field in fields(Config)}
