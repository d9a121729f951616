"""Settings, each documented once, with their bounds, and how they are converted and checked.

Flags and TOML keys are these names. A setting left open is filled once, by `strategies.filled`.
"""

# No `from __future__ import annotations`: the command line reads types where it finds them.
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_type_hints

import msgspec
from msgspec import Meta

from memoryless.names import utf8

OPEN: Any = None  # the default of a setting that the strategy or the data decide
WIDTH = 64  # of the standard ResNet-18
DEVICES = re.compile(r"auto|cpu|mps|cuda(:\d{1,3})?")

COUNT = Meta(ge=1, le=1_000_000)
PIXELS = Meta(ge=1, le=2_048)
SHARE = Meta(ge=0, lt=1)
PART = Meta(gt=0, lt=1)
POSITIVE = Meta(gt=0)
NOT_NEGATIVE = Meta(ge=0)
SOME = Meta(min_length=1)
SEED = Meta(ge=1 - 2**63, le=2**63 - 1)
KINDS = {
    "array": "a list",
    "bool": "true or false",
    "float": "a number",
    "int": "a whole number",
    "null": "nothing",
    "Path": "a path",
    "str": "text",
}
SIGNS = {">=": "from", "<=": "up to", ">": "above", "<": "below"}
Settings = TypeVar("Settings")


@dataclass(frozen=True, kw_only=True)
class SizeSettings:
    """Settings of how much of an image the network sees."""

    image_size: Annotated[int, PIXELS] | None = None
    """Side in pixels of what the network sees; by default 224, of quickdraw100 28, of CIFAR 32."""
    crop: Annotated[float, Meta(gt=0, le=1)] = 0.875
    """Files: the share of the central square's side that the network sees; the rest around it is
    a margin."""


@dataclass(frozen=True, kw_only=True)
class DataSettings(SizeSettings):
    """Settings of the data: where images come from (laboratory)."""

    data: str = "quickdraw100"
    """Data set; `memoryless list data` explains each."""
    root: Path | None = None
    """Folder with the data; CIFAR is also looked for in $MEMORYLESS_DATA. quickdraw100 needs it
    only to read other classes than the embedded ones."""
    train_list: Path | None = None
    """For data = list: file with lines "path label" of training images."""
    test_list: Path | None = None
    """For data = list: file with lines "path label" of test images."""
    class_names: Path | None = None
    """For data = list: file with one class name a line; labels must stay below their number."""
    test_share: Annotated[float, PART] = 0.2
    """Share of each class taken for testing where a folder has no train/ and test/."""
    validation: Annotated[float, SHARE] = 0.0
    """Score on this share of the training images instead of the test images (for tuning)."""
    grey: bool = False
    """Decode files to one channel instead of three."""
    skip_broken: bool = False
    """Leave out broken images, empty classes and unreadable lines instead of stopping."""


@dataclass(frozen=True, kw_only=True)
class BackboneSettings(SizeSettings):
    """Settings of the backbone, which turns images into features."""

    backbone: str = OPEN
    """Network that turns images into features; `memoryless list backbones` explains each. By
    default resnet18_3x3, above 64 pixels resnet18, and efficientnet-lite0 for fixed."""
    width: Annotated[int, COUNT] = OPEN
    """Channels of the first ResNet stage: 64 is the standard ResNet-18 and the default, 8 is what a
    CPU trains in minutes and the default of quickdraw100."""
    backbone_weights: Path | None = None
    """Weights to start from: .safetensors, or .pth with plain tensors."""


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """Settings of training."""

    strategy: str = "finetune"
    """How a state is trained; `memoryless list strategies` explains each. Only joint and replay
    keep images of the past. A strategy brings its own epochs, rates and schedule."""
    epochs: Annotated[int, COUNT] = OPEN
    """Epochs of state 0; by default the strategy's."""
    epochs_later: Annotated[int, COUNT] = OPEN
    """Epochs of each later state; by default as many as of state 0, or the strategy's."""
    batch_size: Annotated[int, COUNT] = OPEN
    """Images in a step; by default 128, above 64 pixels 32."""
    lr: Annotated[float, POSITIVE] = OPEN
    """Learning rate of state 0; by default the strategy's."""
    lr_later: Annotated[float, POSITIVE] | str = OPEN
    """Learning rate of state t > 0: a number; t+1 for lr/(t+1), as in the authors' scripts; t for
    lr/t, as in the paper's text; or constant for lr. By default the strategy's."""
    schedule: str = OPEN
    """How the learning rate falls within a state; `memoryless list schedules` explains each. The
    paper's is plateau, and the default the strategy's."""
    patience: Annotated[int, COUNT] = 60
    """plateau: epochs without progress before the rate falls, state 0."""
    patience_later: Annotated[int, COUNT] = OPEN
    """plateau: the same for later states; by default as for state 0."""
    milestones: tuple[Annotated[float, PART], ...] = OPEN
    """multistep: the rate falls after these shares of the epochs; by default the strategy's."""
    decay: Annotated[float, POSITIVE] = OPEN
    """plateau, multistep: factor by which the rate falls; by default the strategy's."""
    momentum: Annotated[float, SHARE] = 0.9
    """SGD momentum."""
    weight_decay: Annotated[float, NOT_NEGATIVE] = OPEN
    """L2 penalty on all parameters; by default the strategy's."""
    classifier_init: Literal["reset", "grow"] = OPEN
    """At a new state the classification layer starts again (reset, as in the authors' scripts) or
    keeps its old rows (grow, as in the paper's text); by default the strategy's."""
    augment: tuple[str, ...] | None = None
    """Random changes to training images, one after the other; by default what suits the data.
    resized_crop takes a random part of the image, pad_crop shifts by up to an eighth of the side,
    affine turns, scales and shifts a little, flip mirrors half of the images, none stands alone."""
    mean: tuple[float, ...] | None = None
    """Mean of each channel on the scale 0..1; by default that of the backbone's weights, or
    measured on state 0."""
    std: tuple[Annotated[float, POSITIVE], ...] | None = None
    """Standard deviation of each channel on the scale 0..1; by default as for mean."""
    held_out: Annotated[float, SHARE] = 0.0
    """Share of the state's own training images kept aside: the plateau rule watches them, and bg_z
    reads their features."""
    mu: Literal["largest", "true"] = "largest"
    """What mc averages over the state's training images: the largest logit or the true class's."""
    device: str = "auto"
    """auto, cpu, cuda, cuda:N or mps."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """Arithmetic of the forward and backward pass."""
    compile: bool = False
    """Compile the network with torch.compile."""


@dataclass(frozen=True, kw_only=True)
class RecordSettings:
    """Settings of the record: what it keeps of each class beside its row."""

    statistics: str = "none"
    """What the record keeps of each class's features, beside its row; `memoryless list statistics`
    explains each. All but none keep count and mean."""
    level: Literal["last", "middle"] = "last"
    """Which features class statistics are computed from: those that the classification layer reads
    (last), or those of the second and third stage of the ResNet, averaged over each quarter of the
    image, which drift less (middle)."""
    square_roots: bool = False
    """Compute class statistics from the square roots of features at length one, which are closer to
    normal (FeCAM); heads over statistics then read roots too."""
    transports: Annotated[tuple[str, ...], SOME] = ("none", "linear", "widened", "sdc")
    """Under which transports the record holds statistics; `memoryless list transports` explains
    each. To compare them, keep all; to use a method, keep one."""
    projection: Annotated[int, Meta(ge=0, le=20_000)] = 0
    """frozen, fixed, untrained: how many random features the record sums up for the head
    projection; 0 for none."""


@dataclass(frozen=True, kw_only=True)
class LwfSettings:
    """Settings of the strategy lwf."""

    outputs: Literal["seen", "all"] = "seen"
    """lwf: the layer has an output for each class seen, or from the start for all of the stream
    (as in the paper, where future classes are negatives)."""


@dataclass(frozen=True, kw_only=True)
class LwfKdSettings:
    """Weight and temperature are those of the baseline of LDC (ECCV 2024) and others."""

    kd_weight: Annotated[float, NOT_NEGATIVE] = 10.0
    """lwf_kd: weight of the distillation."""
    kd_temperature: Annotated[float, POSITIVE] = 2.0
    """lwf_kd: temperature of the distillation."""


@dataclass(frozen=True, kw_only=True)
class LucirSettings:
    """Settings of the strategy lucir."""

    lambda_base: Annotated[float, NOT_NEGATIVE] = 5.0
    """lucir: weight of the less-forget loss; 5 for CIFAR, 10 for large sets."""


@dataclass(frozen=True, kw_only=True)
class ReplaySettings:
    """Settings of the strategy replay."""

    memory: Annotated[float, SHARE] = 0.01
    """replay: share of the data set's training images that may be kept."""
    exemplars: Literal["herding", "random"] = "herding"
    """replay: how the kept images are chosen."""


@dataclass(frozen=True, kw_only=True)
class StrategySettings(ReplaySettings, LucirSettings, LwfKdSettings, LwfSettings):
    """The settings that one strategy alone reads."""


@dataclass(frozen=True, kw_only=True)
class ModelSettings(StrategySettings, RecordSettings, TrainingSettings, BackboneSettings):
    """Every setting that the core reads."""


def conform(settings: Any, resolved: bool = False) -> tuple[dict[str, Any], list[str]]:
    """Return the values of a settings object in their types, and what is wrong with the others.

    A list becomes a tuple, text a path and a whole number a float where the setting is one; nothing
    is rounded. Settings that are left open stay so, unless `resolved` ones are asked for.
    """
    hints = get_type_hints(type(settings), include_extras=True)
    values, problems = {}, []
    for field in fields(settings):
        value = getattr(settings, field.name)
        try:
            is_open = value is None and field.default is None and not resolved
            values[field.name] = None if is_open else _converted(value, hints[field.name])
        except ValueError as error:
            problems.append(
                f"{field.name} must be {_rule(error, hints[field.name])}, not {value!r}"
            )
    return values, problems


def restore(kind: type[Settings], stored: Mapping[str, Any], resolved: bool = True) -> Settings:
    """Make settings of a kind from plain values; raise a ValueError that names all problems.

    Unless they are `resolved`, some may be left open.
    """
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    problems = [f"'{key}' is no setting" for key in stored if key not in names]
    settings = kind(**{name: value for name, value in stored.items() if name in names})
    values, wrong = conform(settings, resolved)
    problems += wrong
    if problems:
        raise ValueError("; ".join(problems))
    return kind(**values)


def _converted(value: Any, hint: Any) -> Any:
    made = msgspec.convert(value, hint, dec_hook=as_path)
    for number in made if isinstance(made, tuple) else (made,):
        if isinstance(number, float) and not math.isfinite(number):
            raise ValueError("Expected `float`")
    return made


def as_path(_kind: type, value: Any) -> Path:
    """Return a value as a path, for msgspec, which has no such type."""
    if not isinstance(value, str | Path):
        raise ValueError("Expected `Path`")
    return Path(value)


def _rule(error: ValueError, hint: Any) -> str:
    """Return what a value must be, from the sentence in which msgspec says so.

    >>> _rule(ValueError("Expected `int` >= 1"), int)
    'a whole number from 1'
    """
    text = str(error)
    if text.startswith("Invalid enum value"):
        return " or ".join(map(str, get_args(hint)))
    if text == "Number out of range":
        return "a number"
    rule = re.sub(r",? got .*| - at .*", "", text.removeprefix("Expected "))
    for sign, word in SIGNS.items():
        rule = rule.replace(f" {sign} ", f" {word} ")
    return re.sub(r"`(.*?)`", lambda found: _in_words(found[1]), rule)


def _in_words(kinds: str) -> str:
    return " or ".join(KINDS.get(kind, kind) for kind in kinds.split(" | "))


def plain_values(settings: Any) -> dict[str, Any]:
    """Return settings as they stand in a file."""
    plain: dict[str, Any] = msgspec.to_builtins(settings, enc_hook=utf8)
    return plain
