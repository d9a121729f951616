"""LUCIR without memory (Hou et al., CVPR 2019): cosine layer and less-forget loss.

Its margin ranking loss compares images of old classes with new ones, and its balanced fine-tuning
trains on exemplars: without exemplars the first is zero and the second impossible, so both are left
out.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, cast

from memoryless.settings import NOT_NEGATIVE
from memoryless.strategies.base import Arrival
from memoryless.strategies.teacher import Teacher

if TYPE_CHECKING:
    from torch import Tensor

    from memoryless.network import CosineLayer, Network


@dataclass(frozen=True, kw_only=True)
class LucirSettings:
    lambda_base: Annotated[float, NOT_NEGATIVE] = 5.0
    """lucir: weight of the less-forget loss; 5 for CIFAR, 10 for large sets."""


class Lucir(Teacher):
    about = "cosine layer, and features held to those of the old model"
    # LUCIR, CVPR 2019 (CIFAR-100): 160 epochs, rate 0.1 divided by 10 at 80 and 120.
    recipe: ClassVar = {
        "epochs": 160,
        "lr_later": "constant",
        "schedule": "multistep",
        "classifier_init": "grow",
    }
    last_relu = False
    weight = 0.0
    """Of the less-forget loss: grows with the share of past classes."""

    def make_layer(self, features: int) -> "CosineLayer":
        from memoryless.network import CosineLayer

        return CosineLayer(features)

    def begin_state(self, arrival: Arrival) -> None:
        import torch

        super().begin_state(arrival)
        self.weight = self.settings.lambda_base * math.sqrt(self.past / arrival.new)
        if self.past:
            layer = cast("CosineLayer", arrival.network.layer)
            labels = torch.from_numpy(arrival.images.labels)
            layer.imprint(arrival.extract(arrival.images), labels)

    def loss(self, network: "Network", images: "Tensor", labels: "Tensor") -> "Tensor":
        import torch
        from torch.nn.functional import cross_entropy

        from memoryless.losses import less_forget

        features = network.backbone(images)
        loss = cross_entropy(network.layer(features), labels)
        if self.teacher is None:
            return loss
        with torch.no_grad():
            old_features = self.teacher.backbone(images)
        return loss + self.weight * less_forget(features, old_features)
