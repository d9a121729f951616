"""Features of many images, in batches."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from memoryless.data import Split
from memoryless.data.augment import Preparation
from memoryless.data.batches import batches


@torch.no_grad()
def extract_features(
    backbone: nn.Module, split: Split, preparation: Preparation, batch_size: int = 256
) -> Tensor:
    """Features (n, d) of a split's images, without augmentation, on the CPU."""
    backbone.eval()
    device = next(backbone.parameters()).device
    return torch.cat(
        [
            backbone(preparation.test(images.to(device))).float().cpu()
            for images, _ in batches(split, batch_size)
        ]
    )
