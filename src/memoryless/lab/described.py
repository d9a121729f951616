"""Types of the files of a run, with bounds: run.json, and results.json of each state."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from memoryless.lab.config import Config
from memoryless.names import utf8
from memoryless.settings import as_path
from memoryless.strategies import STRATEGIES, own_values

FORMAT = 3
# Settings that may differ between two commands that continue the same run: paths, devices, and what
# is scored. A change of the data is noticed by its facts.
NOT_COMPARED = {"seeds", "output", "root", "device", "threads", "methods"}
# Facts that may differ between two runs that are the same.
PROVENANCE = ("format", "config", "versions", "commit", "command", "machine", "started")

Content = TypeVar("Content")
Count = Annotated[int, Meta(ge=0)]
Some = Annotated[int, Meta(ge=1)]
Percent = Annotated[float, Meta(ge=0, le=100)]
Seconds = Annotated[float, Meta(ge=0)]


class Described(msgspec.Struct, forbid_unknown_fields=True):
    """An object in a file: no other keys are allowed."""


class Typology(Described):
    """Confusions of past and new classes, in percent; the first state has no past classes."""

    c_p: Percent | None
    e_pp: Percent | None
    e_pn: Percent | None
    c_n: Percent
    e_nn: Percent
    e_np: Percent


class Scored(Described):
    """The results of a method in a state."""

    top1: Percent
    top5: Percent
    typology: Typology
    by_state: list[Percent]
    bytes: Count
    """Bytes that it needs of the past."""
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
    """Bytes of a state's record, and of the past images that it does without."""

    record: dict[str, Count]
    """Bytes of each part of the record."""
    images_not_kept: Count


class Results(Described):
    """The results of a state: results.json."""

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


class Machine(Described):
    """The machine of a run."""

    system: str
    cores: Some | None


class Preparation(Described):
    """How images are prepared for the network."""

    size: Some
    mean: list[float]
    std: list[float]
    augment: list[str]


class Description(Described, kw_only=True):
    """The description of a run: run.json."""

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

    def plain(self) -> dict[str, Any]:
        """Return what run.json holds."""
        plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self, enc_hook=utf8))
        return plain | {"config": own_values(self.config)}

    def facts(self) -> dict[str, Any]:
        """Return the facts that make the run what it is, beside its settings."""
        return {key: value for key, value in self.plain().items() if key not in PROVENANCE}


class Written(msgspec.Struct):
    """The format of a file of any version."""

    format: int = FORMAT


def encoded(content: Described) -> bytes:
    """Return the JSON text of a description; one that could not be read again is an error."""
    plain = content.plain() if isinstance(content, Description) else content
    text = msgspec.json.format(msgspec.json.encode(plain), indent=1)
    decoded(text, type(content))  # bounds are checked on reading only
    return text


def decoded(text: bytes, kind: type[Content]) -> Content:
    """Return what JSON says, checked against a type."""
    return msgspec.json.decode(text, type=kind, dec_hook=as_path)


def compared(config: Config) -> dict[str, Any]:
    """Return the settings that distinguish experiments."""
    idle = set()
    if config.statistics == "none":
        idle = {"transports"} if config.projection else {"transports", "level", "square_roots"}
    return {key: v for key, v in own_values(config).items() if key not in NOT_COMPARED | idle}
