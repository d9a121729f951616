"""Backbones in torch, to train or to export; each turns images into features (B, d)."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
from onnx import ModelProto
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from memoryless.embed import PRETRAINED, WITH_LITE2, check_fixed
from memoryless.embed.efficientnet import packaged_weights
from memoryless.embed.onnx_file import read_backbone
from memoryless.errors import ConfigError, cause
from memoryless.names import first_ten
from memoryless.settings import BackboneSettings
from memoryless.train.backbones.efficientnet import EfficientNetLite0
from memoryless.train.backbones.export import module_graph
from memoryless.train.backbones.onnx_backbone import OnnxBackbone
from memoryless.train.backbones.resnet import ResNet18
from memoryless.train.randomness import seeded

BACKBONES: dict[str, Callable[[int, int], nn.Module]] = {
    "resnet18": ResNet18,
    "resnet18_3x3": lambda channels, width: ResNet18(channels, width, small_images=True),
    "efficientnet-lite0": lambda channels, width: EfficientNetLite0(),
}


LAST_LAYERS = ("fc.", "_fc.", "classifier.", "head.")  # as networks and timm's models name them


def build_backbone(settings: BackboneSettings, channels: int) -> nn.Module:
    """Build the backbone that settings name, with the weights of a file or of a package."""
    if settings.backbone == "none":
        raise ConfigError(
            f"backbone none has no network to build: choose {', '.join(BACKBONES)}, timm:NAME or "
            "onnx:FILE"
        )
    if settings.backbone == WITH_LITE2:
        raise ConfigError(
            f"a run reads one network, and {WITH_LITE2} has two: choose `backbone={PRETRAINED}`"
        )
    if settings.backbone.startswith("timm:"):
        backbone = _from_timm(settings.backbone.removeprefix("timm:"), channels)
    elif settings.backbone.startswith("onnx:"):
        backbone = OnnxBackbone(read_backbone(Path(settings.backbone.removeprefix("onnx:"))))
    else:
        backbone = BACKBONES[settings.backbone](channels, settings.width)
    if settings.backbone_weights:
        load_weights(backbone, settings.backbone_weights)
    elif settings.backbone == PRETRAINED:
        own = {name: torch.from_numpy(array) for name, array in packaged_weights().items()}
        backbone.load_state_dict({name: own[name] for name in backbone.state_dict()})
    return backbone


def fixed_backbone(settings: BackboneSettings) -> nn.Module:
    """Build the backbone that settings name, to be used as its weights are."""
    check_fixed(settings)
    with seeded(0):  # first weights are drawn before those of the file take their place
        return build_backbone(settings, channels=3).eval()


def backbone_graph(settings: BackboneSettings, size: int) -> ModelProto:
    """Make the graph of a fixed backbone, from images (n, 3, size, size) to groups of features."""
    backbone = fixed_backbone(settings)
    return module_graph(backbone, size, middle=isinstance(backbone, EfficientNetLite0))


def named_backbone(settings: BackboneSettings) -> str:
    """Return the backbone's name, with the sha256 of a file that holds the whole of it."""
    name = settings.backbone
    if not name.startswith("onnx:"):
        return name
    graph = read_backbone(Path(name.removeprefix("onnx:"))).SerializeToString(deterministic=True)
    return f"{name} {sha256(graph).hexdigest()}"


def _from_timm(name: str, channels: int) -> nn.Module:
    try:
        import timm
    except Exception as error:  # a torchvision that does not fit raises more than ImportError
        raise ConfigError(
            f"backbone timm:{name} needs timm, which cannot be imported here ({cause(error)}): "
            "pip install 'memoryless[timm]', or choose " + ", ".join(BACKBONES)
        ) from error
    try:
        module: nn.Module = timm.create_model(
            name, pretrained=False, in_chans=channels, num_classes=0
        )
        return module
    except Exception as error:
        raise ConfigError(
            f"timm cannot build '{name}' ({cause(error)}): check `backbone`"
        ) from error


def feature_size(backbone: nn.Module, channels: int, image_size: int) -> int:
    """Return the number d of features: what a backbone says of itself, or what comes out of it."""
    if isinstance(backbone, ResNet18 | EfficientNetLite0):
        return backbone.feature_size
    try:
        with torch.no_grad():
            features = backbone.eval()(torch.zeros(2, channels, image_size, image_size))
    except Exception as error:  # other people's modules can raise anything
        raise ConfigError(
            f"the backbone cannot take images of {image_size} pixels with {channels} channels "
            f"({cause(error)}): check `backbone` and `image_size`"
        ) from error
    if not isinstance(features, Tensor) or features.ndim != 2:
        raise ConfigError("a backbone must turn images (B, C, H, W) into features (B, d)")
    several = isinstance(backbone, OnnxBackbone) and backbone.groups
    return several[0] if several else features.shape[1]


def load_weights(backbone: nn.Module, file: Path) -> None:
    """Copy a file's weights into the backbone; a last layer in the file is left out."""
    ours = backbone.state_dict()
    read = _read_weights(file).items()
    weights = {k: v for k, v in read if k in ours or not k.startswith(LAST_LAYERS)}
    wrong = [k for k in ours if k in weights and not _alike(weights[k], ours[k])]
    # A counter that files from before PyTorch 0.4.1 lack, and that nothing here reads.
    needed = [k for k in ours if not k.endswith("num_batches_tracked")]
    wrong += [f"{k} (missing)" for k in needed if k not in weights]
    wrong += [f"{k} (not in the backbone)" for k in weights if k not in ours]
    if wrong:
        raise ConfigError(
            f"the weights {file} do not fit the backbone in {first_ten(wrong)}; check `backbone`, "
            "`width` and the number of channels"
        )
    wrong = [k for k, v in weights.items() if not v.float().isfinite().all()]
    if wrong:
        raise ConfigError(
            f"the weights {file} are not finite (nan or inf) in {first_ten(wrong)}: fetch or train "
            "them again"
        )
    backbone.load_state_dict(ours | weights)


def _alike(weight: Tensor, ours: Tensor) -> bool:
    kinds = [(t.shape, t.layout, t.is_meta, t.is_complex(), t.is_quantized) for t in (weight, ours)]
    return kinds[0] == kinds[1]


def _read_weights(file: Path) -> dict[str, Tensor]:
    """Return the tensors of a weights file by name."""
    if not file.is_file():
        raise ConfigError(f"there is no weights file {file}: check `backbone_weights`")
    weights = _load(file)
    weights = weights.get("state_dict", weights) if isinstance(weights, dict) else weights
    if not isinstance(weights, dict) or not all(
        isinstance(k, str) and isinstance(v, Tensor) for k, v in weights.items()
    ):
        raise ConfigError(f"the weights {file} are not a table of tensors: save a state_dict")
    if all(k.startswith("module.") for k in weights):  # as DataParallel names them
        weights = {k.removeprefix("module."): v for k, v in weights.items()}
    return weights


def _load(file: Path) -> Any:
    """Return what a weights file holds; no code in it runs."""
    try:
        if file.suffix == ".safetensors":
            return load_file(file)
        with warnings.catch_warnings():  # while weights are loaded, nothing runs beside
            warnings.simplefilter("ignore")
            return torch.load(file, map_location="cpu", weights_only=True)
    except MemoryError:
        raise
    except Exception as error:  # what is damaged or refused can raise anything
        if isinstance(error, pickle.UnpicklingError) and "GLOBAL" in str(error):
            raise ConfigError(
                f"the weights {file} hold more than plain tensors, which could run code: save them "
                "as .safetensors, or as a .pth of tensors only"
            ) from error
        # What torch says of a damaged file ends with the advice to let it run code.
        ours = isinstance(error, SafetensorError | OSError)
        reason = f" ({cause(error)})" if ours else ""
        raise ConfigError(
            f"the weights {file} cannot be read{reason}: give a .safetensors, or a .pth in which "
            "torch.save wrote a state_dict"
        ) from error
