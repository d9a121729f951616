"""Settings in their types and bounds."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from memoryless.lab.config import Config
from memoryless.settings import conform, plain_values


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"epochs": 1.5}, "a whole number"),
        ({"epochs": True}, "a whole number"),
        ({"epochs": 0}, "a whole number from 1"),
        ({"width": 10**20}, "a whole number up to 1000000"),
        ({"lr": float("nan")}, "a number above 0.0"),
        ({"lr": 10**400}, "a number"),
        ({"kd_weight": float("inf")}, "a number"),
        ({"kd_weight": -1.0}, "a number from 0.0"),
        ({"validation": 1.0}, "a number below 1.0"),
        ({"milestones": (3.0,)}, "a number below 1.0"),
        ({"outputs": "some"}, "seen or all"),
        ({"grey": "yes"}, "true or false"),
        ({"strategy": 3}, "text"),
        ({"root": 3}, "a path"),
        ({"seeds": 3}, "a list"),
        ({"transports": ()}, "a list of length from 1"),
        ({"transports": None}, "a list"),
        ({"lr_later": 0.0}, "a number above 0.0"),
    ],
)
def test_a_value_that_does_not_fit_is_said_with_its_rule(given, rule):
    ((name, value),) = given.items()
    values, problems = conform(Config(**given))
    assert name not in values
    assert problems == [f"{name} must be {rule}, not {value!r}"]


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
