"""The backbone of fixed features: settings in, one graph from photos to features out.

Backbones of torch import torch while their graph is made; files of ONNX never do.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from memoryless.errors import ConfigError
from memoryless.extractor import Extractor, TorchExtractor, trial_photo
from memoryless.preparation import PhotoPreparation, own_pixels

if TYPE_CHECKING:
    from memoryless.strategies import ModelSettings

ONNX = "onnx:"
PHOTO_SIDE = 224
ALIKE = 0.01  # share by which the same features may differ between devices (TF32 rounds to 1e-3)


def features_graph_of(settings: ModelSettings) -> tuple[bytes, PhotoPreparation]:
    """The features graph of the backbone that settings name, tried on one photo, and what it does
    to photos first.
    """
    from memoryless.graph import features_graph, read_backbone

    preparation = preparation_for(settings)
    if settings.backbone.startswith(ONNX):
        backbone = read_backbone(Path(settings.backbone.removeprefix(ONNX)))
    else:
        from memoryless.backbones import backbone_graph

        backbone = backbone_graph(settings, preparation.size)
    graph = features_graph(backbone, preparation)
    Extractor(graph).feature(trial_photo())
    return graph, preparation


def preparation_for(settings: ModelSettings) -> PhotoPreparation:
    """What a backbone needs to be done to photos: as settings say, else as it was trained."""
    size = settings.image_size or PHOTO_SIDE
    if (settings.mean is None) != (settings.std is None):
        raise ConfigError("mean and std must be given together")
    if settings.mean is None or settings.std is None:
        return PhotoPreparation(size, settings.crop, *(own_pixels(settings.backbone) or ()))
    for name, values in (("mean", settings.mean), ("std", settings.std)):
        if len(values) != 3:
            raise ConfigError(f"`{name}` has {len(values)} numbers: give three, for R, G and B")
    mean, std = (tuple(255 * x for x in values) for values in (settings.mean, settings.std))
    return PhotoPreparation(size, settings.crop, mean, std)


def open_extractor(
    graph: bytes, settings: ModelSettings, preparation: PhotoPreparation
) -> Extractor:
    """What computes the features of a graph: onnxruntime, or torch on a device that is named."""
    extractor = Extractor(graph)
    if settings.device in ("auto", "cpu"):
        return extractor
    if settings.backbone.startswith(ONNX):
        raise ConfigError(
            f"backbone {settings.backbone} runs in onnxruntime on the CPU, not on "
            f"{settings.device}: leave out `device`"
        )
    from memoryless.backbones import fixed_backbone
    from memoryless.network import check_device

    check_device(settings.device)
    on_device = TorchExtractor(fixed_backbone(settings), preparation, settings.device)
    _check_alike(extractor, on_device, settings)
    return on_device


def _check_alike(graph: Extractor, torch: TorchExtractor, settings: ModelSettings) -> None:
    """Raise if torch's features of a trial are not those of the graph that a model keeps."""
    expected, found = (extractor.feature(trial_photo()) for extractor in (graph, torch))
    if expected.shape != found.shape or np.linalg.norm(expected - found) > ALIKE * np.linalg.norm(
        expected
    ):
        raise ConfigError(
            f"backbone {settings.backbone} gives other features on {settings.device} than the "
            "graph that the model keeps: give the same `backbone_weights`, or leave out `device`"
        )
