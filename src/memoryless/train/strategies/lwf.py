"""Learning without Forgetting, in two ways: as the paper ran it, and as later work uses it.

The paper ran it with iCaRL's loss: every output is a classifier of its own, and old outputs are
held to what the old model says (Li and Hoiem, ECCV 2016; Rebuffi et al., CVPR 2017). With
`outputs = "all"` the layer has an output for every class of the stream from the start and future
classes are negatives, as in the paper; with "seen" it grows.

Later work takes cross-entropy over new outputs and softmax distillation of old ones.
"""

from __future__ import annotations

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from memoryless.errors import ConfigError
from memoryless.train.network import Network
from memoryless.train.strategies.base import Arrival, Teacher


def one_vs_all(logits: Tensor, labels: Tensor, old_logits: Tensor | None = None) -> Tensor:
    """Return the sigmoid cross-entropy of every output, averaged over outputs and images (iCaRL).

    The target of a class is 1 for its own images, else 0; for the classes of `old_logits`, which
    come first, it is the sigmoid of the old model's output instead.
    """
    targets = F.one_hot(labels, logits.shape[1]).to(logits.dtype)
    if old_logits is not None:
        old = old_logits.shape[1]
        targets = torch.cat([old_logits.sigmoid(), targets[:, old:]], dim=1)
    return F.binary_cross_entropy_with_logits(logits, targets)


def distillation(logits: Tensor, old_logits: Tensor, temperature: float) -> Tensor:
    """Return the cross-entropy between softened old and new outputs (Hinton et al. 2015)."""
    soft = (old_logits / temperature).softmax(1)
    return -(soft * (logits / temperature).log_softmax(1)).sum(1).mean()


class Lwf(Teacher):
    """Training of every output as a classifier of its own (LwF)."""

    def begin_state(self, arrival: Arrival) -> None:
        if self.settings.outputs == "all":
            if self.totals is None:
                raise ConfigError(
                    "`outputs=all` needs a stream whose classes are known in advance: use "
                    "`outputs=seen`"
                )
            arrival = replace(arrival, new=0 if self.past else self.totals.classes)
        super().begin_state(arrival)

    def loss(self, network: Network, images: Tensor, labels: Tensor) -> Tensor:
        return one_vs_all(network(images), labels, self.old_logits(images))


class LwfKd(Teacher):
    """Training with cross-entropy of new classes and distillation of the old ones."""

    def loss(self, network: Network, images: Tensor, labels: Tensor) -> Tensor:
        logits, old = network(images), self.old_logits(images)
        loss = F.cross_entropy(logits[:, self.past :], labels - self.past)
        if old is None:
            return loss
        kept = distillation(logits[:, : self.past], old, self.settings.kd_temperature)
        return loss + self.settings.kd_weight * kept
