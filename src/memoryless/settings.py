"""Settings that the core reads, in parts: each documented once, with its type and bounds.

Flags and TOML keys are these names. A setting left open is filled once, when settings are resolved.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

KINDS = {str: "must be text", bool: "must be true or false", Path: "must be a path"}
OPEN: Any = None  # the default of a setting that the strategy or the data decide
WIDTH = 64  # of the standard ResNet-18


class Bounds(NamedTuple):
    """Which values a setting takes, and the rule in words."""

    hold: Callable[[Any], bool]
    rule: str


COUNT = Bounds(lambda x: 1 <= x <= 1_000_000, "must be from 1 to 1,000,000")
PIXELS = Bounds(lambda x: 1 <= x <= 2_048, "must be from 1 to 2,048")
SHARE = Bounds(lambda x: 0 <= x < 1, "must be from 0 to below 1")
PART = Bounds(lambda x: 0 < x < 1, "must lie between 0 and 1")
POSITIVE = Bounds(lambda x: x > 0, "must be above 0")
NOT_NEGATIVE = Bounds(lambda x: x >= 0, "must be 0 or more")
SOME = Bounds(lambda x: len(x) > 0, "must name at least one")
SEED = Bounds(lambda x: abs(x) < 2**63, "must have fewer than 19 digits")


@dataclass(frozen=True, kw_only=True)
class SizeSettings:
    """Settings of how much of an image the network sees."""

    image_size: Annotated[int, PIXELS] | None = None
    """Side in pixels of what the network sees; by default 224, of quickdraw100 28, of CIFAR 32."""
    crop: Annotated[float, Bounds(lambda x: 0 < x <= 1, "must be above 0 and at most 1")] = 0.875
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
    """Settings of training; those that one strategy alone reads stand in its file."""

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
    """Standard deviation of each channel on the scale 0..1, likewise."""
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
    """Which features class statistics are computed from: those that rows read too, or those of the
    second and third stage of the ResNet, averaged over each quarter of the image, which drift
    less."""
    square_roots: bool = False
    """Compute class statistics from the square roots of features at length one, which are closer to
    normal (FeCAM); heads over statistics then read roots too."""
    transports: Annotated[tuple[str, ...], SOME] = ("none", "linear", "widened", "sdc")
    """Under which transports the record holds statistics; `memoryless list transports` explains
    each. A laboratory compares them, a product needs one."""
    projection: Annotated[
        int, Bounds(lambda x: 0 <= x <= 20_000, "must be from 0 to 20,000")
    ] = 0  # fmt: skip
    """frozen, fixed, untrained: how many random features the record sums up for the head
    projection; 0 for none."""


def conform(settings: Any) -> tuple[dict[str, Any], list[str]]:
    """The values of a settings object in their types, and what is wrong with the others.

    A list becomes a tuple, text a path and a whole number a float where the setting is one; nothing
    is rounded. Open settings stay open.
    """
    hints = get_type_hints(type(settings), include_extras=True)
    values, problems = {}, []
    for field in fields(settings):
        value = getattr(settings, field.name)
        try:
            is_open = value is None and field.default is None
            values[field.name] = None if is_open else _conform(value, hints[field.name])
        except ValueError as error:
            problems.append(f"{field.name} {error}, not {value!r}")
    return values, problems


def _conform(value: Any, hint: Any) -> Any:
    """The value in the type of the hint, or a ValueError that says the rule."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        number, bounds = _conform(value, parts[0]), parts[1]
        if not bounds.hold(number):
            raise ValueError(bounds.rule)
        return number
    if origin in (Union, UnionType):
        return _first_that_fits(value, [part for part in parts if part is not NoneType])
    if origin is Literal:
        if value not in parts:
            raise ValueError(f"must be {' or '.join(map(str, parts))}")
        return value
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise ValueError("must be a list")
        return tuple(_conform(item, parts[0]) for item in value)
    return _plain(value, hint)


def _first_that_fits(value: Any, hints: list[Any]) -> Any:
    for hint in hints[:-1]:
        if not isinstance(value, str):
            return _conform(value, hint)
    return _conform(value, hints[-1])


def _plain(value: Any, kind: type) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind is int and not (is_number and isinstance(value, int)):
        raise ValueError("must be a whole number")
    if kind is float and not (is_number and abs(value) <= sys.float_info.max):
        raise ValueError("must be a number")
    if kind is Path and isinstance(value, str):
        return Path(value)
    if kind is float:
        return float(value)
    if not isinstance(value, kind):
        raise ValueError(KINDS[kind])
    return value


def plain_values(settings: Any) -> dict[str, Any]:
    """Settings as they stand in a file."""
    return dict(_plain_items(settings))


def _plain_items(settings: Any) -> Iterator[tuple[str, Any]]:
    for field in fields(settings):
        value = getattr(settings, field.name)
        yield field.name, str(value) if isinstance(value, Path) else value
