"""Features of many images, in batches."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from memoryless.data import Split
from memoryless.data.augment import Preparation
from memoryless.data.batches import batches

FLOAT16_MAX = torch.finfo(torch.float16).max


@torch.no_grad()
def extract_features(
    backbone: nn.Module,
    split: Split,
    preparation: Preparation,
    batch_size: int = 256,
    middle: bool = False,
) -> Tensor:
    """Features (n, d) of a split's images, without augmentation, on the CPU.

    With `middle` those of a ResNet's middle stages follow, (n, 4 d) in all.
    """
    backbone.eval()
    extract = backbone.with_middle if middle else backbone
    assert callable(extract)
    device = next(backbone.parameters()).device
    return torch.cat(
        [
            extract(preparation.test(images.to(device))).float().cpu()
            for images, _ in batches(split, batch_size)
        ]
    )


def compact(features: Tensor) -> Tensor:
    """Features as float16 where the values fit, so that what is scored is what is stored."""
    return features.half() if features.abs().max() < FLOAT16_MAX else features
