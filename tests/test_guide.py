"""The guide to settings: sections, choices and defaults as they are in the code."""

from __future__ import annotations

from dataclasses import fields

import pytest

from memoryless.backbones import BACKBONES
from memoryless.images import SOURCES
from memoryless.images.augment import AUGMENTATIONS
from memoryless.lab.config import Config
from memoryless.lab.guide import choices, default, in_words, sections
from memoryless.settings import MEANINGS
from memoryless.stats.transports import TRANSPORTS
from memoryless.strategies import STRATEGIES

SETTINGS = [field.name for field in fields(Config)]


def test_every_setting_stands_in_one_section():
    listed = [name for names in sections().values() for name in names]
    assert sorted(listed) == sorted(SETTINGS)


def test_names_that_are_told_without_torch_are_those_of_the_code():
    assert [*AUGMENTATIONS] == [*MEANINGS["augment"]]
    assert [*BACKBONES, "timm:NAME", "onnx:FILE", "none"] == [*MEANINGS["backbone"]]


def test_choices_are_those_of_the_tables():
    assert choices("strategy") == tuple(STRATEGIES)
    assert choices("data") == tuple(SOURCES)
    assert choices("transports") == tuple(TRANSPORTS)
    assert choices("lr_later") == ("t+1", "t", "constant", "NUMBER")
    assert choices("epochs") == ()


@pytest.mark.parametrize("name", SETTINGS)
def test_every_default_is_told(name):
    assert default(name)
    assert "None" not in default(name)


def test_defaults_that_a_strategy_has_are_its_own():
    """What is told is what settings become when they are resolved."""
    for name in ("epochs", "lr", "lr_later", "schedule", "decay", "weight_decay"):
        usual, _, rest = default(name).removeprefix("of the strategy: ").partition("; ")
        others = dict(part.split(" ") for part in rest.split(", ")) if rest else {}
        for strategy in STRATEGIES:
            value = getattr(Config(strategy=strategy).resolved(), name)
            assert in_words(value) == others.get(strategy, usual), (name, strategy)


def test_defaults_that_the_data_have_are_theirs():
    for name, of in (("width", "width"), ("image_size", "side")):
        usual, _, rest = default(name).removeprefix("of the data: ").partition("; ")
        others = dict(part.split(" ") for part in rest.split(", "))
        assert {data: others.get(data, usual) for data in SOURCES} == {
            data: str(getattr(source, of)) for data, source in SOURCES.items()
        }
