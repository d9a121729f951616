"""Backbone and classification layer; the layer grows with the classes."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class LinearLayer(nn.Module):
    """A row and a bias for each class; starts with none."""

    def __init__(self, features: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(0, features))
        self.bias = nn.Parameter(torch.empty(0))

    def forward(self, features: Tensor) -> Tensor:
        return F.linear(features, self.weight, self.bias)

    def grow(self, new: int, keep_rows: bool, generator: torch.Generator) -> None:
        """Make room for `new` classes; old rows are kept, or the whole layer is made anew."""
        known, features = self.weight.shape
        bound = features**-0.5  # as torch.nn.Linear draws both
        for name in ("weight", "bias"):
            old = getattr(self, name).detach()
            shape = (known + new, *old.shape[1:])
            rows = torch.empty(shape).uniform_(-bound, bound, generator=generator).to(old.device)
            if keep_rows:
                rows[:known] = old
            setattr(self, name, nn.Parameter(rows))


class Network(nn.Module):
    """Images to logits over all classes seen so far."""

    def __init__(self, backbone: nn.Module, features: int):
        super().__init__()
        self.backbone = backbone
        self.layer = LinearLayer(features)

    def forward(self, images: Tensor) -> Tensor:
        return self.layer(self.backbone(images))

    @property
    def classes(self) -> int:
        return len(self.layer.bias)
