"""What the JSON files of a run folder hold, typed and bounded."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from memoryless.errors import StoreError
from memoryless.lab.config import Config
from memoryless.settings import StrategySettings, as_path
from memoryless.store import reading, to_json
from memoryless.strategies import STRATEGIES

FORMAT = 3
MEND = "delete the run's folder and run the same command again"

Count = Annotated[int, Meta(ge=0)]
Some = Annotated[int, Meta(ge=1)]
Percent = Annotated[float, Meta(ge=0, le=100)]
Seconds = Annotated[float, Meta(ge=0)]
Content = TypeVar("Content")


class Described(msgspec.Struct, forbid_unknown_fields=True):
    """An object in a file: no other keys are allowed."""


class Machine(Described):
    system: str
    cores: Some | None


class Preparation(Described):
    """How images are prepared for the network."""

    size: Some
    mean: list[float]
    std: list[float]
    augment: list[str]


class Description(Described, kw_only=True):
    """What a run is: run.json."""

    format: Annotated[int, Meta(ge=FORMAT, le=FORMAT)] = FORMAT
    config: Config
    seed: int
    dataset: str
    classes: tuple[str, ...]
    sizes: list[Some]
    """How many classes each state brings."""
    train_images: list[Some]
    """Of each class, as in `test_images`."""
    test_images: list[Some]
    preparation: Preparation
    memoryless: bool
    backbone_class: str
    versions: dict[str, str]
    commit: str | None
    command: list[str]
    machine: Machine
    started: str

    def __post_init__(self) -> None:
        if self.config.strategy not in STRATEGIES:
            raise ValueError(f"unknown strategy {self.config.strategy!r}")
        if len(set(self.classes)) < len(self.classes):
            raise ValueError("`classes` has a name twice")
        lengths = {sum(self.sizes), len(self.train_images), len(self.test_images)}
        if lengths != {len(self.classes)}:
            raise ValueError("`classes`, `sizes`, `train_images` and `test_images` do not agree")


class Typology(Described):
    """Where test images of past and new classes went; the first state has no past."""

    c_p: Percent | None
    e_pp: Percent | None
    e_pn: Percent | None
    c_n: Percent
    e_nn: Percent
    e_np: Percent


class Scored(Described):
    """What a method reached in a state."""

    top1: Percent
    top5: Percent
    typology: Typology
    by_state: list[Percent]
    bytes: Count
    """What it keeps of the past."""
    cost: Count
    """Multiplications for one image."""


class History(Described):
    """Numbers of a state's training, one entry an epoch."""

    loss: list[float]
    watched: list[float]
    seconds: list[Seconds]
    images: list[Some]


class Durations(Described):
    """Seconds that a state took."""

    training: Seconds
    test_features: Seconds
    scoring: Seconds


class Sizes(Described):
    record: dict[str, Count]
    """Bytes of each part of the record."""
    images_not_kept: Count


class Results(Described):
    """What a state gave: results.json."""

    state: Count
    new_classes: Some
    classes_seen: Some
    train_images: Some
    test_images: Some
    history: History
    seconds: Durations
    bytes: Sizes
    methods: Annotated[dict[str, Scored], Meta(min_length=1)]

    def __post_init__(self) -> None:
        for name, scored in self.methods.items():
            if len(scored.by_state) != self.state + 1:
                raise ValueError(f"`by_state` of {name} does not have {self.state + 1} entries")


def encoded(content: Described) -> bytes:
    """The JSON text of a description; one that could not be read again is an error."""
    text = to_json(plain(content))
    made(json.loads(text), type(content))  # bounds are checked on reading only
    return text.encode()


def plain(content: Any) -> dict[str, Any]:
    """A description or its settings as they stand in a file, without what the run has not."""
    whole: dict[str, Any] = json.loads(to_json(msgspec.to_builtins(content, enc_hook=str)))
    if isinstance(content, Description):
        whole["config"] = plain(content.config)
    if isinstance(content, Config):
        others = _of_others(content)
        return {key: value for key, value in whole.items() if key not in others}
    return whole


def _of_others(config: Config) -> set[str]:
    """Settings that only other strategies read."""
    own = STRATEGIES[config.strategy].settings
    every = {field.name for field in fields(StrategySettings)}
    return every - {field.name for field in fields(own)} if own else every


def made(content: Any, kind: type[Content]) -> Content:
    """Parsed JSON in its type; a ValueError names the path of what is wrong."""
    return msgspec.convert(content, kind, dec_hook=as_path)


def parsed(text: bytes, kind: type[Content], file: Path) -> Content:
    """The content of a file in its type, or one sentence about what is wrong with it."""
    with reading(file, MEND):
        content = json.loads(text)
        written = content.get("format", FORMAT) if isinstance(content, dict) else FORMAT
    if isinstance(written, int) and written != FORMAT:
        raise StoreError(
            f"{file} was written by another version of memoryless (format {written}, not "
            f"{FORMAT}): {MEND}"
        )
    with reading(file, MEND):
        return made(content, kind)
