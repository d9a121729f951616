"""Settings of a model, filled and checked against every name that they use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from memoryless.embed import check_backbone
from memoryless.errors import ConfigError
from memoryless.names import choose
from memoryless.settings import ModelSettings
from memoryless.stats.class_statistics import check_form
from memoryless.stats.methods import needed, parse_method
from memoryless.stats.transports import TRANSPORTS
from memoryless.strategies import STRATEGIES, AnySettings, filled, strategy_of
from memoryless.train.augment import check_augmentations
from memoryless.train.network import check_device
from memoryless.train.schedules import LR_RULES, SCHEDULES


def resolved(given: AnySettings, side: int | None = None) -> AnySettings:
    """Return settings with nothing left open, for images of a side; every problem in one error."""
    sound = filled(given, side)
    if found := problems(sound):
        raise ConfigError("; ".join(found))
    return sound


def problems(settings: ModelSettings) -> list[str]:
    """Return what is wrong with settings that are filled; every name is looked up."""
    checks: list[Callable[[], object]] = [
        lambda: choose("strategy", settings.strategy, STRATEGIES),
        lambda: choose("schedule", settings.schedule, SCHEDULES),
        lambda: (
            isinstance(settings.lr_later, float) or choose("lr_later", settings.lr_later, LR_RULES)
        ),
        lambda: check_augmentations(settings.augment or ()),
        *(lambda name=name: choose("transport", name, TRANSPORTS) for name in settings.transports),
        lambda: check_form(settings.statistics),
        lambda: check_backbone(settings.backbone, settings.level),
        lambda: check_device(settings.device),
    ]
    found = []
    for check in checks:
        try:
            check()
        except ConfigError as error:
            found.append(str(error))
    return [*found, *_contradictions(settings)]


def _contradictions(settings: ModelSettings) -> Iterator[str]:
    if (settings.mean is None) != (settings.std is None):
        yield ("mean and std must be given together")
    if settings.projection and not strategy_of(settings.strategy).backbone_stays:
        yield (
            "projection needs a backbone that stays as it is: choose `strategy=frozen`, "
            "fixed or untrained"
        )
    if strategy_of(settings.strategy).backbone_learns:
        if (settings.backbone or "").startswith("onnx:"):
            yield f"backbone {settings.backbone} cannot be trained: choose `strategy=fixed`"
        return
    if changes := [name for name in settings.augment or () if name != "none"]:
        yield (
            f"augment {' '.join(changes)} has no meaning for {settings.strategy}, which takes the "
            "features of each image once: leave out `augment`"
        )
    drawn = (settings.backbone or "").startswith("resnet18") and not settings.backbone_weights
    if STRATEGIES[settings.strategy].draws_weights and not drawn:
        yield (
            f"{settings.strategy} is the control whose weights are drawn: leave out "
            "`backbone_weights`, and choose `backbone=resnet18` or resnet18_3x3"
        )
    if "none" not in settings.transports:
        yield f"with {settings.strategy} nothing that was kept moves: leave out `transports`"


def trained_settings(name: str, given: ModelSettings, side: int) -> ModelSettings:
    """Return the settings of a model that is trained by a method on images of a side, all filled.

    Whatever is wrong with the method or the settings is an error here.
    """
    method = parse_method(name)
    if not STRATEGIES[method.strategy].memoryless:
        raise ConfigError(
            f"strategy {method.strategy} needs images of the past, which a model does not keep: "
            "choose a method of another"
        )
    given = replace(given, strategy=method.strategy)
    needs = needed(method, given) | {"transports": (method.transport,)}
    return resolved(replace(given, **needs), side)
