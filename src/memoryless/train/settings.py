"""Settings of training and of the record, and all settings of a model; no torch is needed."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, Self

from msgspec import Meta

from memoryless.errors import ConfigError
from memoryless.names import choose
from memoryless.settings import (
    COUNT,
    NOT_NEGATIVE,
    OPEN,
    PART,
    POSITIVE,
    SHARE,
    SOME,
    WIDTH,
    BackboneSettings,
    conform,
)
from memoryless.strategies import BASE_RECIPE, STRATEGIES, StrategySettings, strategy_of

SMALL_SIDE = 64  # of images that the 3x3 stem is for; larger ones need the ImageNet stem's stride
SMALL_BATCH = 128  # of images for the 3x3 stem, as most rates are published for
PHOTO_BATCH = 32  # about 3 GB to train a ResNet-18 at 224 pixels


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
    projection: Annotated[int, Meta(ge=0, le=20_000)] = 0
    """frozen, fixed, untrained: how many random features the record sums up for the head
    projection; 0 for none."""


@dataclass(frozen=True, kw_only=True)
class ModelSettings(StrategySettings, RecordSettings, TrainingSettings, BackboneSettings):
    """Every setting that the core reads."""

    def resolved(self, side: int | None = None) -> Self:
        """These settings in their types, with nothing left open; every problem in one error.

        `side` is that of the images that the network sees. Settings that are resolved stay as they
        are.
        """
        sound = self.filled(side)
        if problems := sound.problems():
            raise ConfigError("; ".join(problems))
        return sound

    def filled(self, side: int | None = None) -> Self:
        """These settings in their types, with nothing left open; names are not looked up, which
        would import torch.
        """
        values, problems = conform(self)
        if problems:
            raise ConfigError("; ".join(problems))
        for name, value in self._values(values, side or SMALL_SIDE).items():
            if values[name] is None:
                values[name] = value
        return replace(self, **values)

    def _values(self, given: dict[str, Any], side: int) -> dict[str, Any]:
        """Values for what is open: the strategy's recipe, and what suits the images."""
        photos = side > SMALL_SIDE
        recipe = {**BASE_RECIPE, **strategy_of(self.strategy).recipe}
        batch_size = given.get("batch_size") or (PHOTO_BATCH if photos else SMALL_BATCH)
        if photos:  # rates are published for 128; a step of fewer images must be shorter
            recipe["lr"] *= min(batch_size / SMALL_BATCH, 1)  # (Goyal et al. 2017)
        return {
            "backbone": "resnet18" if photos else "resnet18_3x3",
            "width": WIDTH,
            "batch_size": batch_size,
            "epochs_later": given.get("epochs") or recipe["epochs"],
            "patience_later": given.get("patience"),
            **recipe,
        }

    def problems(self) -> list[str]:
        """What is wrong with resolved settings; every name is looked up."""
        from memoryless.embed import check_backbone
        from memoryless.stats.class_statistics import check_form
        from memoryless.stats.transports import TRANSPORTS
        from memoryless.train.augment import check_augmentations
        from memoryless.train.network import check_device
        from memoryless.train.schedules import LR_RULES, SCHEDULES

        checks: list[Any] = [
            lambda: choose("strategy", self.strategy, STRATEGIES),
            lambda: choose("schedule", self.schedule, SCHEDULES),
            lambda: isinstance(self.lr_later, float) or choose("lr_later", self.lr_later, LR_RULES),
            lambda: check_augmentations(self.augment or ()),
            *(lambda name=name: choose("transport", name, TRANSPORTS) for name in self.transports),
            lambda: check_form(self.statistics),
            lambda: check_backbone(self.backbone, self.level),
            lambda: check_device(self.device),
        ]
        found = []
        for check in checks:
            try:
                check()
            except ConfigError as error:
                found.append(str(error))
        if (self.mean is None) != (self.std is None):
            found.append("mean and std must be given together")
        if self.projection and not strategy_of(self.strategy).backbone_stays:
            found.append(
                "projection needs a backbone that stays as it is: choose `strategy=frozen`, "
                "fixed or untrained"
            )
        return [*found, *self._fixed_problems()]

    def _fixed_problems(self) -> Iterator[str]:
        """What does not go with a backbone that learns, or with one that does not."""
        if strategy_of(self.strategy).backbone_learns:
            if (self.backbone or "").startswith("onnx:"):
                yield f"backbone {self.backbone} cannot be trained: choose `strategy=fixed`"
            return
        if changes := [name for name in self.augment or () if name != "none"]:
            yield (
                f"augment {' '.join(changes)} has no meaning for {self.strategy}, which takes the "
                "features of each image once: leave out `augment`"
            )
        drawn = (self.backbone or "").startswith("resnet18") and not self.backbone_weights
        if STRATEGIES[self.strategy].draws_weights and not drawn:
            yield (
                f"{self.strategy} is the control whose weights are drawn: leave out "
                "`backbone_weights`, and choose `backbone=resnet18` or resnet18_3x3"
            )
        if "none" not in self.transports:
            yield f"with {self.strategy} nothing that was kept moves: leave out `transports`"


def trained_settings(name: str, given: ModelSettings, side: int) -> ModelSettings:
    """Settings of a model that is trained by this method on images of a side, nothing left open.

    Whatever is wrong with the method or the settings is an error here.
    """
    from memoryless.stats.methods import parse_method, settings_for

    method = parse_method(name)
    if not STRATEGIES[method.strategy].memoryless:
        raise ConfigError(
            f"strategy {method.strategy} needs images of the past, which a model does not keep: "
            "choose a method of another"
        )
    given = replace(given, strategy=method.strategy)
    return replace(given, **settings_for(method, given)).resolved(side)
