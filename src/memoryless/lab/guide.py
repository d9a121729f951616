"""A guide to the settings of an experiment: sections, choices and defaults, in words.

The command line's help and the page of settings are made of it; it needs no torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from memoryless import settings as parts
from memoryless.images import SOURCES
from memoryless.lab.config import Config, StreamSettings
from memoryless.lab.presets import PAPER_STRATEGIES, PRESETS
from memoryless.lab.stream import ORDERS
from memoryless.schedules import LR_RULES, SCHEDULES
from memoryless.stats.class_statistics import FORMS
from memoryless.stats.transports import TRANSPORTS
from memoryless.strategies import PHOTO_BATCH, SMALL_BATCH, SMALL_SIDE, STRATEGIES
from memoryless.strategies.base import BASE_RECIPE
from memoryless.strategies.lucir import LucirSettings
from memoryless.strategies.lwf import LwfSettings
from memoryless.strategies.lwf_kd import LwfKdSettings
from memoryless.strategies.replay import ReplaySettings

SECTIONS: dict[str, tuple[type, ...]] = {
    "Runs": (Config,),
    "Data": (parts.DataSettings, parts.SizeSettings),
    "Stream": (StreamSettings,),
    "Backbone": (parts.BackboneSettings,),
    "Training": (parts.TrainingSettings,),
    "One strategy's own": (LwfSettings, LwfKdSettings, LucirSettings, ReplaySettings),
    "Record": (parts.RecordSettings,),
}
CHOICES: dict[str, Mapping[str, Any]] = {
    "data": SOURCES,
    "order": ORDERS,
    "strategy": STRATEGIES,
    "strategies": STRATEGIES,
    "schedule": SCHEDULES,
    "lr_later": {**LR_RULES, "NUMBER": "that rate"},
    "preset": PRESETS,
    "statistics": FORMS,
    "transports": TRANSPORTS,
    **parts.MEANINGS,
}


def sections() -> dict[str, list[str]]:
    """The names of all settings, in the order in which they are shown."""
    return {
        title: [name for part in classes for name in part.__annotations__]
        for title, classes in SECTIONS.items()
    }


def choices(name: str) -> tuple[str, ...]:
    """The names that a setting takes, where a table has them."""
    return tuple(CHOICES.get(name, ()))


def default(name: str) -> str:
    """The default of a setting in words, with the real values of one that is left open."""
    if name in DECIDED:
        return DECIDED[name]()
    if name in BASE_RECIPE:
        return _of_strategies(name)
    value = next(field.default for field in fields(Config) if field.name == name)
    return in_words(value)


def in_words(value: object) -> str:
    """A value as one would type it.

    >>> in_words((0, 1)), in_words([]), in_words(None), in_words(False), in_words(0.5)
    ('0 1', 'none', 'none', 'no', '0.5')
    """
    if str(value) in ("True", "False"):
        return "yes" if str(value) == "True" else "no"
    if isinstance(value, tuple | list):
        return " ".join(map(in_words, value)) or "none"
    if value is None:
        return "none"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _of_strategies(name: str) -> str:
    """What strategies have: the value of most, then that of each other one."""
    value = in_words(BASE_RECIPE[name])
    own = {n: in_words(s.recipe[name]) for n, s in STRATEGIES.items() if name in s.recipe}
    others = ", ".join(f"{strategy} {v}" for strategy, v in own.items() if v != value)
    return f"of the strategy: {value}" + (f"; {others}" if others else "")


def _of_data(of: Callable[[Any], int], usual: int) -> str:
    others = [f"{name} {of(s)}" for name, s in SOURCES.items() if of(s) != usual]
    return f"of the data: {usual}; {', '.join(others)}"


def _backbone() -> str:
    own = [f"{n} {s.recipe['backbone']}" for n, s in STRATEGIES.items() if "backbone" in s.recipe]
    return f"resnet18_3x3, above {SMALL_SIDE} pixels resnet18; {', '.join(own)}"


# Settings whose default another setting or the data decide.
DECIDED: dict[str, Callable[[], str]] = {
    "image_size": lambda: _of_data(lambda source: source.side, SOURCES["folder"].side),
    "backbone": _backbone,
    "width": lambda: _of_data(lambda source: source.width, parts.WIDTH),
    "epochs_later": lambda: "as epochs",
    "patience_later": lambda: "as patience",
    "batch_size": lambda: f"{SMALL_BATCH}, above {SMALL_SIDE} pixels {PHOTO_BATCH}",
    "augment": lambda: "what suits the data",
    "mean": lambda: "that of the backbone's weights, or measured on state 0",
    "std": lambda: "likewise",
    "threads": lambda: "1 up to width 8, else all cores",
    "strategies": lambda: " ".join(PAPER_STRATEGIES),
}
