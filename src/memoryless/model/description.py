"""A state of a model: what it says of itself, typed and bounded, and the arrays that go with it.

A description holds what this model has and nothing else. Bounds are checked when it is decoded, so
`encode` decodes what it wrote.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta
from safetensors import SafetensorError
from safetensors.numpy import load

from memoryless.embed.onnx_bytes import check_alone
from memoryless.embed.preparation import Number, PhotoPreparation, Positive
from memoryless.errors import ConfigError, StoreError, cause
from memoryless.model.classes import Classes, Count, Date, Learned, Some, Strict
from memoryless.model.labels import LabelType
from memoryless.settings import ModelSettings
from memoryless.settings import restore as restore_settings
from memoryless.stats.class_statistics import spread_rows, stored_name
from memoryless.stats.confidence import MARGINS, TEMPERATURES, Confidence
from memoryless.stats.scorers import misshapen, restore
from memoryless.store import RESTORE

HISTORY = 2
"""How many earlier states a file keeps by default. With two groups of features each takes 14 MB."""
MOST_HISTORY = 1000
PARTS = ("features", "record", "scorer", "network")
"""What a state may have as bytes: an ONNX graph, and arrays; only trained features have the last.
"""
PREDICTS_ALONE = "the model was loaded to predict alone: load it with all its parts"
OWN_SCATTER = {"spread", "own", "factors"}
"""Arrays of a record that hold the scatter of each class alone."""
LONGEST_HEADER = 2**20  # bytes; a network of a thousand tensors has a tenth of that

Text = Annotated[str, Meta(max_length=1000)]
Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class Backbone(Strict, frozen=True, kw_only=True):
    """What gives features, and the digest of its graph."""

    name: Text
    sha256: Sha256


class FeatureGroup(Strict, frozen=True, kw_only=True):
    """A group of features: how many there are, and how it counts among the groups."""

    size: Some
    weight: Annotated[float, Meta(ge=0, le=1000)] = 1.0
    shrinkage: Annotated[float, Meta(ge=0, le=1000)] = 1.0


class Training(Strict, frozen=True, kw_only=True):
    """What only a model that trains its backbone has."""

    settings: dict[str, Any]
    size: Annotated[int, Meta(ge=1, le=2048)] | None = None
    mean: tuple[Number, ...] = (0.0,)  # of each channel on the scale 0..1
    std: tuple[Positive, ...] = (1.0,)
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
    preparation: PhotoPreparation | None = None
    """None where photos are features already."""
    square_roots: bool = False
    """Whether the scorer of fixed features reads square roots of them."""
    groups: tuple[FeatureGroup, ...] = ()
    """Groups of fixed features."""
    not_chosen: Text | None = None
    """Why weights and shrinkages of the groups are those of the start, if they were not chosen."""
    confidence: Confidence | None = None
    calibrated: Confidence | None = None
    """Temperature and threshold that `calibrate` fitted, in units of the spread of scores."""
    record: dict[Text, Count] = msgspec.field(default_factory=dict)
    """Bytes of each array that is kept of past photos."""
    train: Training | None = None

    @property
    def kept(self) -> int:
        """Bytes that are kept of past photos."""
        return sum(self.record.values())


@dataclass(frozen=True)
class State:
    """A state as it stands in a file, with the parts that were read."""

    path: Path
    number: int
    parent: int | None
    """The state that it follows."""
    date: str
    done: str
    """What was done to make it."""
    description: Description
    classes: Classes
    parts: dict[str, str]
    """The digest of each part's bytes."""
    digest: str
    size: int = 0
    """Bytes of the parts, without the graph that states share."""
    graph: bytes | None = field(default=None, repr=False, compare=False)
    """The ONNX graph from photos to features, if there is one and it was read."""
    arrays: dict[str, dict[str, np.ndarray]] = field(
        default_factory=dict, repr=False, compare=False
    )
    """The arrays of the other parts that were read."""

    def with_parts(self, contents: Mapping[str, bytes]) -> State:
        """Return the state with parts of which these are the bytes, checked."""
        arrays = {name: self._read(name, contents[name]) for name in contents if name != "features"}
        graph = contents.get("features")
        if graph is not None:
            check_alone(graph, str(self.path))
        return replace(self, graph=graph, arrays=arrays)

    def _read(self, part: str, content: bytes) -> dict[str, np.ndarray]:
        """Return the arrays of a part, checked."""
        where = f"the {part} of {self.path}"
        arrays = from_bytes(content, where)
        for problem in array_problems(self.description, self.classes, part, arrays):
            raise StoreError(f"{where} is damaged ({problem}): {RESTORE}")
        return arrays


def encode(description: Description, where: Any) -> str:
    """Return a description as JSON, once it was read again."""
    text = msgspec.json.encode(description).decode()
    decode(text, where)
    return text


def decode(text: str, where: Any) -> Description:
    """Return the description in a JSON text; an error names the path of what is wrong."""
    try:
        return msgspec.json.decode(text, type=Description)
    except (msgspec.MsgspecError, RecursionError, ValueError) as error:
        raise StoreError(f"{where}: its description is damaged ({error}): {RESTORE}") from error


def given_back(about: Description, counts: Sequence[int]) -> list[int]:
    """Return which classes of a state give the feature of each of their photos back.

    The mean of one photo is its feature. Of two, mean and scatter tell both, where the scatter is
    theirs alone: that of their class, or that of all where no other class has more than one photo.
    """
    kept = {name.rpartition(".")[2] for name in about.record}
    pair = "scatter" in kept and sum(counts) - len(counts) == 1
    most = 2 if pair or OWN_SCATTER & kept else 1
    return [i for i, count in enumerate(counts) if count <= most]


def check_history(history: Any) -> int:
    """Return how many earlier states to keep, or raise."""
    if type(history) is not int or not 0 <= history <= MOST_HISTORY:
        raise ConfigError(
            f"`history={history!r}` is no number of states: choose 0 to {MOST_HISTORY:,}"
        )
    return history


def now() -> str:
    """Return the time as it is written: UTC, whole seconds."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def from_bytes(content: bytes, where: str) -> dict[str, np.ndarray]:
    """Return the arrays in bytes of someone else's making."""
    if int.from_bytes(content[:8], "little") > LONGEST_HEADER:
        raise StoreError(f"{where} is damaged (it lists too many arrays): {RESTORE}")
    try:
        return dict(sorted(load(content).items()))
    except (SafetensorError, ValueError, TypeError, KeyError, RecursionError) as error:
        raise StoreError(f"{where} is damaged ({cause(error)}): {RESTORE}") from error


def problems(about: Description, classes: Classes, parts: Collection[str]) -> Iterator[str]:
    """Yield what in a description fits neither its classes nor the parts that there are."""
    fixed = about.method.partition("+")[0] == "fixed"
    if fixed == (about.train is not None):
        yield f"the method {about.method!r} and `train` do not fit"
    expected = ["features"] if about.backbone else []
    if classes.names:
        expected += ["record", "scorer"] if fixed else ["record", "scorer", "network"]
    if set(parts) != set(expected):
        yield f"it has the parts {', '.join(sorted(parts))}"
    if (about.backbone is None) != (about.preparation is None):
        yield "backbone and preparation do not fit"
    for prepared in (about.preparation, about.train):
        if prepared and len(prepared.mean) != len(prepared.std):
            yield "mean and std of the preparation are not of one length"
    if fixed and about.preparation and len(about.preparation.mean) != 3:
        yield "preparation.mean must have three numbers"
    if fixed and classes.names and about.forgettable != ("spread" in about.record):
        yield "forgettable and record do not fit"
    if about.train:
        yield from _training_problems(about, about.train, bool(classes.names))
    yield from _class_problems(classes)


def _training_problems(about: Description, train: Training, learned: bool) -> Iterator[str]:
    from memoryless.stats.methods import parse_method

    try:
        parse_method(about.method)
        restore_settings(ModelSettings, train.settings, learned)
    except ValueError as error:
        yield f"train.settings: {error}"
    for name, there in (("train.size", train.size), ("backbone", about.backbone)):
        if learned != (there is not None):
            yield f"{name} is {'missing' if learned else 'of a model that learned nothing'}"


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


def array_problems(
    about: Description, classes: Classes, part: str, arrays: Mapping[str, np.ndarray]
) -> Iterator[str]:
    """Yield what is wrong with the arrays of a part."""
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            yield f"{name} is not all numbers"
    if part == "record":
        if about.record != {name: array.nbytes for name, array in arrays.items()}:
            yield "its arrays are not of the sizes in the description"
        elif about.train is None:
            yield from _sum_problems(about, classes, arrays)
    if part == "scorer":
        yield from _scorer_problems(about, classes, arrays)


def _sum_problems(
    about: Description, classes: Classes, sums: Mapping[str, np.ndarray]
) -> Iterator[str]:
    """Yield what is wrong with sums over photos, the record of fixed features."""
    number = len(classes.names)
    count = sums.get("count", np.zeros(0))
    shapes: dict[str, tuple[int, ...]] = {
        "count": (number,),
        "check.losses": TEMPERATURES.shape,
        "check.any_label": TEMPERATURES.shape,
        "check.below": MARGINS.shape,
        "check.count": (),
    }
    if list(classes.counts) != count.tolist():
        yield "count is not as in the table of classes"
    for group, size in enumerate(group.size for group in about.groups):
        shapes[stored_name(group, "mean")] = (number, size)
        shapes[stored_name(group, "scatter")] = (size * (size + 1) // 2,)
        if about.forgettable:
            rows = int(spread_rows(np.array(classes.counts), size).sum())
            shapes[stored_name(group, "spread")] = (rows, size)
    if names := set(sums) ^ set(shapes):
        yield f"{', '.join(sorted(names))} is missing, or too much"
    for name in set(sums) & set(shapes):
        if sums[name].shape != shapes[name] or sums[name].dtype != np.float64:
            yield f"{name} is not of the shape {shapes[name]} in float64"


def scorer_facts(about: Description) -> dict[str, Any]:
    """Return which scorer a state has, and its single numbers."""
    if about.train:
        return about.train.scorer
    over = {"kind": "linear", "unit": False}
    groups = [group.size for group in about.groups]
    view = {"start": 0, "square_roots": about.square_roots, "groups": groups}
    return {"kind": "viewed", "over": over, **view}


def _scorer_problems(
    about: Description, classes: Classes, arrays: Mapping[str, np.ndarray]
) -> Iterator[str]:
    number = len(classes.names)
    try:
        scorer = restore(scorer_facts(about), arrays)
    except (StoreError, RecursionError) as error:
        yield str(error)
        return
    if about.train:
        yield from misshapen(scorer, {"N": number})
    else:
        d = sum(group.size for group in about.groups)
        yield from misshapen(scorer, {"N": number + 1, "d": d})
