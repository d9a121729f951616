"""What a state of a model says of itself, typed and bounded; it holds what this model has.

Bounds are checked when a description is decoded, so `encode` decodes what it wrote.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from memoryless.errors import ConfigError, StoreError
from memoryless.model.classes import Classes, Count, Date, Learned, Strict
from memoryless.settings import ModelSettings, restore
from memoryless.store import RESTORE

HISTORY = 5
"""How many states before it a state keeps, where nobody said so."""
MOST_HISTORY = 1000
PARTS = ("features", "record", "scorer", "network")
"""What a state may have as bytes: an ONNX graph, and arrays; only trained features have the last.
"""

Text = Annotated[str, Meta(max_length=1000)]
Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
LabelType = Literal["str", "int", "float", "bool"]
Side = Annotated[int, Meta(ge=1, le=2048)]
Number = Annotated[float, Meta(ge=-1e30, le=1e30)]
Positive = Annotated[float, Meta(gt=0, le=1e30)]
Means = Annotated[tuple[Number, ...], Meta(min_length=1, max_length=3)]
Deviations = Annotated[tuple[Positive, ...], Meta(min_length=1, max_length=3)]


class Backbone(Strict, frozen=True, kw_only=True):
    """What gives features, and the digest of its graph."""

    name: Text
    sha256: Sha256


class Preparation(Strict, frozen=True, kw_only=True):
    """What the graph does to the pixels of a photo before the backbone sees them."""

    size: Side
    crop: Annotated[float, Meta(gt=0, le=1)]
    mean: Means  # on the scale 0..255
    std: Deviations


class Confidence(Strict, frozen=True, kw_only=True):
    """See `stats.confidence`."""

    temperature: Positive
    threshold: Number
    averaged: bool = False


class Training(Strict, frozen=True, kw_only=True):
    """What only a model that trains its backbone has."""

    settings: dict[str, Any]
    size: Side | None = None
    mean: Means = (0.0,)  # of each channel on the scale 0..1
    std: Deviations = (1.0,)
    augment: tuple[Text, ...] = ()
    scorer: dict[str, Any] = msgspec.field(default_factory=dict)
    """Which scorer it is, and its single numbers."""


class Description(Strict, frozen=True, kw_only=True):
    """What a state says of itself, beside its classes."""

    memoryless: Text
    """The version that wrote it."""
    method: Text
    seed: int
    labels: LabelType
    """Of which type labels were before they became names of classes."""
    history: Annotated[int, Meta(ge=0, le=MOST_HISTORY)]
    learned: tuple[Learned, ...] = ()
    forgotten: Date | None = None
    """When classes were forgotten last."""
    forgettable: bool = False
    backbone: Backbone | None = None
    preparation: Preparation | None = None
    """None where photos are features already."""
    square_roots: bool = False
    """Whether the scorer of fixed features reads square roots of them."""
    confidence: Confidence | None = None
    record: dict[Text, Count] = msgspec.field(default_factory=dict)
    """Bytes of each array that is kept of past photos."""
    train: Training | None = None

    @property
    def kept(self) -> int:
        """Bytes that are kept of past photos."""
        return sum(self.record.values())


def encode(description: Description, where: Any) -> str:
    """A description as JSON that can be read again."""
    text = msgspec.json.encode(description).decode()
    decode(text, where)
    return text


def decode(text: str, where: Any) -> Description:
    """The description in a JSON text; an error names the path of what is wrong."""
    try:
        return msgspec.json.decode(text, type=Description)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise StoreError(f"{where}: its description is damaged ({error}): {RESTORE}") from error


def check_history(history: Any) -> int:
    """How many earlier states to keep, or an error."""
    if type(history) is not int or not 0 <= history <= MOST_HISTORY:
        raise ConfigError(
            f"`history={history!r}` is no number of states: choose 0 to {MOST_HISTORY:,}"
        )
    return history


def problems(about: Description, classes: Classes, parts: Collection[str]) -> Iterator[str]:
    """What in a description fits neither its classes nor the parts that there are."""
    fixed = about.method.partition("+")[0] == "fixed"
    if fixed == (about.train is not None):
        yield f"the method {about.method!r} and `train` do not fit"
    if set(parts) != set(_parts(about, classes)):
        yield f"it has the parts {', '.join(sorted(parts))}"
    if fixed and (about.backbone is None) != (about.preparation is None):
        yield "backbone and preparation do not fit"
    if about.preparation and len(about.preparation.mean) != len(about.preparation.std):
        yield "preparation.mean and preparation.std are not of one length"
    if fixed and about.preparation and len(about.preparation.mean) != 3:
        yield "preparation.mean must have three numbers"
    if about.train:
        yield from _training_problems(about.train)
    if fixed and classes.names and about.forgettable != ("spread" in about.record):
        yield "forgettable and record do not fit"
    yield from _class_problems(classes)


def _parts(about: Description, classes: Classes) -> Iterator[str]:
    """The parts that a state of this description has."""
    if about.backbone:
        yield "features"
    if classes.names:
        yield from ("record", "scorer")
    if about.train and classes.names:
        yield "network"


def _training_problems(train: Training) -> Iterator[str]:
    if train.size is not None:
        try:
            restore(ModelSettings, train.settings)
        except ValueError as error:
            yield f"train.settings: {error}"
    if len(train.mean) != len(train.std):
        yield "train.mean and train.std are not of one length"


def _class_problems(classes: Classes) -> Iterator[str]:
    if len(set(classes.names)) < len(classes.names):
        yield "two classes have one name"
    if any(not 0 <= first < len(classes.learned) for first in classes.first):
        yield "a class comes from a state that it does not tell of"
    counts = dict(zip(classes.names, classes.counts, strict=True))
    added: Counter[str] = Counter()
    for learned in classes.learned:
        added.update(learned.more)
    for name, number in added.items():
        if counts.get(name, 0) <= number:
            yield f"learned has {number} more photos of {name!r}, and its class does not"


def now() -> str:
    """The time as it is written: UTC, whole seconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
