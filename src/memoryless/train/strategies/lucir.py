"""LUCIR without memory (Hou et al., CVPR 2019): cosine layer and less-forget loss.

Its margin ranking loss compares images of old classes with new ones, and its balanced fine-tuning
trains on exemplars: without exemplars the first is zero and the second impossible, so both are left
out.
"""

from __future__ import annotations

import math
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor

from memoryless.train.network import CosineLayer, Network
from memoryless.train.strategies.base import Arrival, Teacher


def less_forget(features: Tensor, old_features: Tensor) -> Tensor:
    """Return one less the cosine of new and old features (LUCIR)."""
    return (1 - F.cosine_similarity(features, old_features)).mean()


class Lucir(Teacher):
    """Training with a cosine layer and the less-forget loss (LUCIR)."""

    weight = 0.0
    """Of the less-forget loss: grows with the share of past classes."""

    def make_layer(self, features: int) -> CosineLayer:
        return CosineLayer(features)

    def begin_state(self, arrival: Arrival) -> None:
        super().begin_state(arrival)
        self.weight = self.settings.lambda_base * math.sqrt(self.past / arrival.new)
        if self.past:
            layer = cast("CosineLayer", arrival.network.layer)
            labels = torch.from_numpy(arrival.images.labels)
            layer.imprint(arrival.extract(arrival.images), labels)

    def loss(self, network: Network, images: Tensor, labels: Tensor) -> Tensor:
        features = network.backbone(images)
        loss = F.cross_entropy(network.layer(features), labels)
        if self.teacher is None:
            return loss
        with torch.no_grad():
            old_features = self.teacher.backbone(images)
        return loss + self.weight * less_forget(features, old_features)
