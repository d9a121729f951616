"""LwF as later work uses it: cross-entropy over new outputs, softmax distillation of old ones."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import cross_entropy

from memoryless.train.losses import distillation
from memoryless.train.network import Network
from memoryless.train.strategies.teacher import Teacher


class LwfKd(Teacher):
    def loss(self, network: Network, images: Tensor, labels: Tensor) -> Tensor:
        logits, old = network(images), self.old_logits(images)
        loss = cross_entropy(logits[:, self.past :], labels - self.past)
        if old is None:
            return loss
        kept = distillation(logits[:, : self.past], old, self.settings.kd_temperature)
        return loss + self.settings.kd_weight * kept
