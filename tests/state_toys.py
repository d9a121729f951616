"""A state of a model as it would stand in a file, with no file behind it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import structs

from memoryless.embed import PhotoPreparation
from memoryless.model.classes import Classes, Learned
from memoryless.model.description import Backbone, Description, State
from memoryless.stats.confidence import Confidence

DATE = "2026-11-16T12:00:00Z"
STATE = State(
    path=Path("toy"),
    number=2,
    parent=1,
    date=DATE,
    done="learn",
    description=Description(
        memoryless="0.3.0",
        method="fixed+lda",
        seed=0,
        labels="str",
        history=5,
        backbone=Backbone(name="toy", sha256="ab" * 32),
        preparation=PhotoPreparation(size=224, crop=1.0, mean=(0.0,) * 3, std=(1.0,) * 3),
        confidence=Confidence(temperature=2.5, threshold=-3.0),
        record={"count": 32, "mean": 1_024_000},
    ),
    classes=Classes(
        names=("barn owl", "great tit", "wren", "crane"),
        counts=(20, 1_200, 7, 30),
        first=(0, 0, 1, 1),
        learned=(Learned(date=DATE, photos=40), Learned(date=DATE, photos=37)),
    ),
    parts={},
    digest="",
)


def described(**change: Any) -> State:
    """The state, with something else in its description."""
    return replace(STATE, description=structs.replace(STATE.description, **change))


def known(**change: Any) -> State:
    """The state, with something else in its classes."""
    return replace(STATE, classes=replace(STATE.classes, **change))
