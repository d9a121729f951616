"""Features of many images, in batches."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from memoryless.images import Split
from memoryless.train.augment import Preparation
from memoryless.train.batches import batches
from memoryless.train.network import device_of

FLOAT16_MAX = np.finfo(np.float16).max


@torch.no_grad()
def extract_features(
    backbone: nn.Module,
    split: Split,
    preparation: Preparation,
    batch_size: int = 256,
    middle: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Tensor:
    """Return features (n, d) of a split's images, without augmentation, on the CPU.

    With `middle` those of a ResNet's middle stages follow, (n, 4 d) in all. `progress` receives
    how many images are done, of how many.
    """
    backbone.eval()
    extract = backbone.with_middle if middle else backbone
    assert callable(extract)
    device = device_of(backbone)
    parts, done = [], 0
    for images, _ in batches(split, batch_size):
        parts.append(extract(preparation.test(images.to(device))).float().cpu())
        done += len(images)
        progress(done, len(split))
    return torch.cat(parts)


@torch.no_grad()
def set_batch_norms(
    backbone: nn.Module,
    split: Split,
    prepare: Callable[[Tensor], Tensor],
    batch_size: int,
    generator: torch.Generator,
) -> None:
    """Set batch normalisations that have seen no image to the mean over batches of these images.

    Those that came with weights stay as they are.
    """
    norms = [m for m in backbone.modules() if isinstance(m, _BatchNorm) and _unset(m)]
    if not norms:
        return
    momenta = [norm.momentum for norm in norms]
    backbone.eval()
    for norm in norms:
        norm.train()
        norm.momentum = None  # torch then takes the mean over all batches
    order = torch.randperm(len(split), generator=generator).numpy()  # mixes the classes
    for images, _ in batches(split, batch_size, order):
        backbone(prepare(images.to(device_of(backbone))))
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    backbone.eval()


def _unset(norm: _BatchNorm) -> bool:
    mean, var = norm.running_mean, norm.running_var
    return mean is not None and var is not None and not mean.any() and bool((var == 1).all())


def compact(features: np.ndarray) -> np.ndarray:
    """Return features as float16 where the values fit, so that what is scored is what is stored."""
    return features.astype(np.float16) if np.abs(features).max() < FLOAT16_MAX else features
