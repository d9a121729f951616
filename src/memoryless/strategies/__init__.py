"""Strategies by name, and the settings of a model: those of its parts and of every strategy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

from memoryless.errors import ConfigError
from memoryless.names import choose
from memoryless.settings import (
    WIDTH,
    BackboneSettings,
    RecordSettings,
    TrainingSettings,
    conform,
)
from memoryless.stats.traits import TRAITS, Traits
from memoryless.strategies.base import BASE_RECIPE, Arrival, Strategy, Totals
from memoryless.strategies.finetune import Finetune
from memoryless.strategies.fixed import Fixed
from memoryless.strategies.frozen import Frozen
from memoryless.strategies.independent import Independent
from memoryless.strategies.joint import Joint
from memoryless.strategies.lucir import Lucir, LucirSettings
from memoryless.strategies.lwf import Lwf, LwfSettings
from memoryless.strategies.lwf_kd import LwfKd, LwfKdSettings
from memoryless.strategies.replay import Replay, ReplaySettings
from memoryless.strategies.untrained import Untrained

__all__ = [
    "STRATEGIES",
    "Arrival",
    "ModelSettings",
    "Strategy",
    "Totals",
    "stored_problems",
    "trained_settings",
]

STRATEGIES: dict[str, type[Strategy]] = {
    "finetune": Finetune,
    "lwf": Lwf,
    "lwf_kd": LwfKd,
    "lucir": Lucir,
    "frozen": Frozen,
    "fixed": Fixed,
    "untrained": Untrained,
    "joint": Joint,
    "independent": Independent,
    "replay": Replay,
}

SMALL_SIDE = 64  # of images that the 3x3 stem is for; larger ones need the ImageNet stem's stride
SMALL_BATCH = 128  # of images for the 3x3 stem, as most rates are published for
PHOTO_BATCH = 32  # about 3 GB to train a ResNet-18 at 224 pixels


@dataclass(frozen=True, kw_only=True)
class ModelSettings(
    ReplaySettings,
    LucirSettings,
    LwfKdSettings,
    LwfSettings,
    RecordSettings,
    TrainingSettings,
    BackboneSettings,
):
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
        recipe = BASE_RECIPE.copy()
        if self.strategy in STRATEGIES:
            recipe |= STRATEGIES[self.strategy].recipe
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
        from memoryless.images.augment import check_augmentations
        from memoryless.network import check_device
        from memoryless.schedules import LR_RULES, SCHEDULES
        from memoryless.stats.class_statistics import check_form
        from memoryless.stats.transports import TRANSPORTS

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
        traits = TRAITS.get(self.strategy, Traits())
        if self.projection and not traits.backbone_stays:
            found.append(
                "projection needs a backbone that stays as it is: choose `strategy=frozen`, "
                "fixed or untrained"
            )
        return [*found, *self._fixed_problems(traits)]

    def _fixed_problems(self, traits: Traits) -> Iterator[str]:
        """What does not go with a backbone that learns, or with one that does not."""
        if traits.backbone_learns:
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


def stored_problems(kind: type[ModelSettings], values: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with settings that were stored as resolved ones of this kind.

    Of names only the strategy's is looked up; looking up the others would import torch.
    """
    names = [field.name for field in fields(kind)]
    yield from (f"'{name}' is missing" for name in names if name not in values)
    yield from (f"'{key}' is no setting" for key in values if key not in names)
    yield from conform(kind(**{key: values[key] for key in names if key in values}))[1]
    yield from (f"{name} is open" for name in (*BASE_RECIPE, "width") if values.get(name) is None)
    if values.get("strategy") not in STRATEGIES:
        yield f"unknown strategy {values.get('strategy')!r}"


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
