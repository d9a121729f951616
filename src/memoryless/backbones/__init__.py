"""Backbones by name: images to features (B, d)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from memoryless.backbones.resnet import ResNet18
from memoryless.errors import ConfigError
from memoryless.names import choose, first_ten
from memoryless.settings import BackboneSettings

__all__ = [
    "BACKBONES",
    "NO_STAGES",
    "ResNet18",
    "build_backbone",
    "check_backbone",
    "feature_size",
    "load_weights",
]

BACKBONES: dict[str, Callable[[int, int], nn.Module]] = {
    "resnet18": ResNet18,
    "resnet18_3x3": lambda channels, width: ResNet18(channels, width, small_images=True),
}

NO_STAGES = (
    "level middle reads the stages of a ResNet: choose `backbone=resnet18` or resnet18_3x3, or "
    "`level=last`"
)


def check_backbone(name: str, level: str) -> None:
    """Raise unless the name is a backbone's that has what statistics read."""
    if not name.startswith("timm:"):
        choose("backbone", name, BACKBONES)
    elif level == "middle":
        raise ConfigError(NO_STAGES)


def build_backbone(settings: BackboneSettings, channels: int) -> nn.Module:
    """The backbone settings name, with its initial weights if they name a file."""
    if settings.backbone.startswith("timm:"):
        backbone = _from_timm(settings.backbone.removeprefix("timm:"), channels)
    else:
        backbone = BACKBONES[settings.backbone](channels, settings.width)
    if settings.backbone_weights:
        load_weights(backbone, settings.backbone_weights)
    return backbone


def _from_timm(name: str, channels: int) -> nn.Module:
    try:
        import timm
    except Exception as error:  # a torchvision that does not fit raises more than ImportError
        raise ConfigError(
            f"backbone timm:{name} needs timm, which cannot be imported here ({error}): "
            "pip install 'memoryless[timm]', or choose " + ", ".join(BACKBONES)
        ) from error
    try:
        return timm.create_model(name, pretrained=False, in_chans=channels, num_classes=0)
    except Exception as error:
        raise ConfigError(f"timm cannot build '{name}': {error}") from error


def feature_size(backbone: nn.Module, channels: int, image_size: int) -> int:
    """The d of any backbone: what it says of itself, or what comes out of it."""
    if isinstance(backbone, ResNet18):
        return backbone.feature_size
    with torch.no_grad():
        features = backbone.eval()(torch.zeros(2, channels, image_size, image_size))
    if not isinstance(features, Tensor) or features.ndim != 2:
        raise ConfigError("a backbone must turn images (B, C, H, W) into features (B, d)")
    return features.shape[1]


def load_weights(backbone: nn.Module, file: Path) -> None:
    """Copy a file's weights into the backbone; a last layer `fc` in it is left out."""
    weights = {k: v for k, v in _read_weights(file).items() if not k.startswith("fc.")}
    ours = backbone.state_dict()
    wrong = [k for k in ours if k in weights and weights[k].shape != ours[k].shape]
    # A counter that files from before PyTorch 0.4.1 lack, and that nothing here reads.
    needed = [k for k in ours if not k.endswith("num_batches_tracked")]
    wrong += [f"{k} (missing)" for k in needed if k not in weights]
    wrong += [f"{k} (not in the backbone)" for k in weights if k not in ours]
    if wrong:
        raise ConfigError(
            f"the weights {file} do not fit the backbone in {first_ten(wrong)}; check --backbone, "
            "--width and the number of channels"
        )
    backbone.load_state_dict(ours | weights)


def _read_weights(file: Path) -> dict[str, Tensor]:
    if not file.is_file():
        raise ConfigError(f"there is no weights file {file}: check --backbone-weights")
    try:
        if file.suffix == ".safetensors":
            return load_file(file)
        weights = torch.load(file, map_location="cpu", weights_only=True)
    except (SafetensorError, RuntimeError, OSError, EOFError, ValueError) as error:
        raise ConfigError(f"the weights {file} cannot be read: {error}") from error
    except Exception as error:  # weights_only refuses with pickle's own exceptions
        raise ConfigError(
            f"the weights {file} hold more than plain tensors, which could run code: save them as "
            ".safetensors, or as a .pth of tensors only"
        ) from error
    if not isinstance(weights, dict) or not all(
        isinstance(k, str) and isinstance(v, Tensor) for k, v in weights.items()
    ):
        raise ConfigError(f"the weights {file} are not a table of tensors: save a state_dict")
    return weights
