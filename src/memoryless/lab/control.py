"""The untrained control: what the same stream gives through a network that never learns."""

from __future__ import annotations

from dataclasses import fields, replace

from memoryless.images import Dataset
from memoryless.lab.config import Config, StreamSettings
from memoryless.settings import BackboneSettings, DataSettings
from memoryless.strategies import STRATEGIES

CONTROL = "untrained"  # the strategy of it
SHARED = (
    "epochs", "epochs_later", "batch_size", "held_out", "mean", "std", "device", "seeds", "threads",
)  # fmt: skip
WIDEST = 16  # of a ResNet whose middle stages can have a covariance of each class: 0.6 MB


def control_of(config: Config, dataset: Dataset | None = None) -> Config | None:
    """The control's experiment, in a folder beside the runs of this one.

    `dataset` is what both are run on, where it is not loaded by the config's name of it. There is
    none for a strategy that never trains a backbone, or that learns all classes at once, nor for a
    backbone other than a ResNet: that brings weights of another training.
    """
    learns = STRATEGIES[config.strategy].backbone_learns
    resnet = (config.backbone or "resnet18").startswith("resnet18")
    if not learns or STRATEGIES[config.strategy].one_state or not resnet:
        return None
    parts = (DataSettings, StreamSettings, BackboneSettings)
    shared = [*SHARED, *(field.name for part in parts for field in fields(part))]
    settings = {name: getattr(config, name) for name in shared} | {"backbone_weights": None}
    control = Config(**settings, strategy=CONTROL, output=config.output / "untrained")
    sound = control.resolved(dataset.image_size if dataset else None)
    if sound.width > WIDEST:
        return replace(control, statistics="tied")
    return replace(control, statistics="full", level="middle")
