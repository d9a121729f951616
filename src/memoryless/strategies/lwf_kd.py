"""LwF as later work uses it: cross-entropy over the new outputs, softmax distillation of the old.

Weight 10 and temperature 2, as the baseline of LDC (ECCV 2024) and others.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from memoryless import losses
from memoryless.network import Network
from memoryless.strategies.lwf import Teacher


class LwfKd(Teacher):
    def loss(self, network: Network, images: Tensor, labels: Tensor) -> Tensor:
        logits, old = network(images), self.old_logits(images)
        loss = F.cross_entropy(logits[:, self.known :], labels - self.known)
        if old is None:
            return loss
        kept = losses.distillation(logits[:, : self.known], old, self.config.kd_temperature)
        return loss + self.config.kd_weight * kept
