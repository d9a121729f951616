"""Photos to features in onnxruntime, without torch: which backbone, and how pixels are prepared.

`preparation` describes the pixels, `graph` writes ONNX graphs, `onnx_file` reads those of others,
`efficientnet` writes the graphs of networks from their weights, `session` runs a graph.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from memoryless.embed.preparation import IMAGENET, LITE2_SIDE, PHOTO_SIDE, PhotoPreparation
from memoryless.errors import ConfigError
from memoryless.names import choose
from memoryless.settings import BackboneSettings

if TYPE_CHECKING:
    from onnx import ModelProto

ONNX = "onnx:"
PRETRAINED = "efficientnet-lite0"
"""The backbone whose weights are installed with this package."""
WITH_LITE2 = f"{PRETRAINED}+lite2"
BACKBONES = {
    "resnet18": "ResNet-18 with ImageNet's stem, for images above 64 pixels",
    "resnet18_3x3": "ResNet-18 with a 3x3 stem, for smaller images",
    PRETRAINED: "EfficientNet-Lite0, with weights of ImageNet",
    WITH_LITE2: "the same and EfficientNet-Lite2, which needs the extra lite2 (models, not runs)",
    "timm:NAME": "a network of the package timm",
    "onnx:FILE": "a network in an ONNX file, for the strategy fixed",
    "none": "images are features already (models, not runs)",
}
NO_STAGES = (
    "level middle reads the stages of a ResNet: choose `backbone=resnet18` or resnet18_3x3, or "
    "`level=last`"
)

OWN_PIXELS = dict.fromkeys((PRETRAINED, WITH_LITE2), ((127.0,) * 3, (128.0,) * 3))
GROUPS = ("last layer", "middle layers", "last layer of Lite2", "middle layer of Lite2")
"""What the groups of features of these networks are called."""


def own_pixels(backbone: str) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
    """Return mean and deviation, from 0 to 255, of the pixels that a backbone was trained on. An
    ONNX file does not say them, and most networks have ImageNet's.
    """
    if backbone.startswith(ONNX):
        return IMAGENET
    return OWN_PIXELS.get(backbone)


def preparation_for(settings: Any) -> PhotoPreparation:
    """Return how photos are prepared for a backbone: as settings say, else as it was trained."""
    size = settings.image_size or PHOTO_SIDE
    second = LITE2_SIDE if settings.backbone == WITH_LITE2 else None
    if (settings.mean is None) != (settings.std is None):
        raise ConfigError("mean and std must be given together")
    if settings.mean is None or settings.std is None:
        pixels = own_pixels(settings.backbone) or IMAGENET
        return PhotoPreparation(size, settings.crop, *pixels, second)
    for name, values in (("mean", settings.mean), ("std", settings.std)):
        if len(values) != 3:
            raise ConfigError(f"`{name}` has {len(values)} numbers: give three, for R, G and B")
    mean, std = (tuple(255 * x for x in values) for values in (settings.mean, settings.std))
    return PhotoPreparation(size, settings.crop, mean, std, second)


def check_backbone(name: str, level: str = "last") -> None:
    """Raise unless there is such a backbone, with the stages that statistics read."""
    if not name.startswith(("timm:", ONNX)):
        choose("backbone", name, BACKBONES)
    if level == "middle" and not name.startswith("resnet"):
        raise ConfigError(NO_STAGES)


def check_fixed(settings: BackboneSettings) -> None:
    """Raise unless the backbone that settings name has weights, as fixed features need."""
    name = settings.backbone
    check_backbone(name)
    if name == WITH_LITE2 and settings.backbone_weights:
        raise ConfigError(f"{name} has its own weights: leave out `backbone_weights`")
    pretrained = name in OWN_PIXELS or name.startswith(ONNX)
    if not pretrained and not settings.backbone_weights:
        raise ConfigError(
            f"backbone {name} brings no weights, and fixed features need some: choose "
            f"`backbone={PRETRAINED}`, give `backbone_weights=FILE`, or train it with "
            "`method=inFT_siw`"
        )


def check_image_size(settings: BackboneSettings) -> None:
    """Raise if somebody chose the size for networks that have their own."""
    if settings.backbone == WITH_LITE2 and settings.image_size is not None:
        raise ConfigError(
            f"{WITH_LITE2} has two networks, and each sees photos at its own size: leave out "
            "`image_size`"
        )


def needs_torch(settings: BackboneSettings) -> bool:
    """Return whether torch makes the graph of the backbone that settings name."""
    own_weights = settings.backbone in OWN_PIXELS and not settings.backbone_weights
    return not own_weights and not settings.backbone.startswith(ONNX)


def backbone_graph(settings: BackboneSettings, size: int) -> ModelProto:
    """Make the graph, from images (n, 3, size, size) to features, of a backbone without torch."""
    assert not needs_torch(settings)
    if settings.backbone.startswith(ONNX):
        from memoryless.embed.onnx_file import read_backbone

        return read_backbone(Path(settings.backbone.removeprefix(ONNX)))
    from memoryless.embed.efficientnet import network_graph, packaged_weights, two_networks_graph

    two = settings.backbone == WITH_LITE2
    return two_networks_graph(size) if two else network_graph(packaged_weights(), size)


def group_names(backbone: str | None, number: int) -> tuple[str, ...]:
    """Return the names of the groups of features that a backbone gives.

    >>> group_names("onnx:net.onnx", 2)
    ('output 1', 'output 2')
    """
    if number == 1:
        return ("features",)
    if backbone in OWN_PIXELS:
        return GROUPS[:number]
    return tuple(f"output {i}" for i in range(1, number + 1))


def without_folder(backbone: str) -> str:
    """Return the name of a backbone; of a file without its folder, which may name a person.

    >>> without_folder("onnx:/home/ada/net.onnx"), without_folder("efficientnet-lite0")
    ('onnx:net.onnx', 'efficientnet-lite0')
    """
    kind, colon, file = backbone.partition(":")
    return f"{ONNX}{Path(file).name}" if kind == "onnx" and colon else backbone
