"""What a state of a run gave: results.json, typed and bounded."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

Count = Annotated[int, Meta(ge=0)]
Some = Annotated[int, Meta(ge=1)]
Percent = Annotated[float, Meta(ge=0, le=100)]
Seconds = Annotated[float, Meta(ge=0)]


class Described(msgspec.Struct, forbid_unknown_fields=True):
    """An object in a file: no other keys are allowed."""


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
