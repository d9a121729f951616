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

from memoryless import losses
from memoryless.network import CosineLayer, Network
from memoryless.strategies.finetune import Arrival
from memoryless.strategies.lwf import Teacher


class Lucir(Teacher):
    unit_features = True
    last_relu = False
    heads = ("current",)
    weight = 0.0
    """Of the less-forget loss: grows with the share of old classes."""

    def make_layer(self, features: int) -> CosineLayer:
        return CosineLayer(features)

    def begin_state(self, arrival: Arrival) -> None:
        super().begin_state(arrival)
        self.weight = self.config.lambda_base * math.sqrt(self.known / arrival.new)
        if self.known:
            layer = cast(CosineLayer, arrival.network.layer)
            labels = torch.from_numpy(arrival.images.labels)
            layer.imprint(arrival.extract(arrival.images), labels)

    def loss(self, network: Network, images: Tensor, labels: Tensor) -> Tensor:
        features = network.backbone(images)
        loss = F.cross_entropy(network.layer(features), labels)
        if self.teacher is None:
            return loss
        with torch.no_grad():
            old_features = self.teacher.backbone(images)
        return loss + self.weight * losses.less_forget(features, old_features)
