"""LwF as the paper ran it, with iCaRL's loss: every output a classifier of its own.

Old outputs are held to what the old model says (Li and Hoiem, ECCV 2016; Rebuffi et al., CVPR
2017). With `outputs = "all"` the layer has an output for every class of the stream from the start
and future classes are negatives, as in the paper; with "seen" it grows.
"""

from __future__ import annotations

import copy
from dataclasses import replace

import torch
from torch import Tensor

from memoryless import losses
from memoryless.data import Split
from memoryless.errors import ConfigError
from memoryless.network import Network
from memoryless.strategies.finetune import Arrival, Extract, Finetune


def freeze(network: Network) -> Network:
    """A copy that nothing changes: no gradients, and batch statistics as they are."""
    return copy.deepcopy(network).eval().requires_grad_(False)


class Teacher(Finetune):
    """A strategy that learns from the model of the state before; that model goes at the end."""

    teacher: Network | None = None

    def begin_state(self, arrival: Arrival) -> None:
        self.teacher = freeze(arrival.network) if self.known else None
        super().begin_state(arrival)

    def old_logits(self, images: Tensor) -> Tensor | None:
        """What the old model says of its classes, or nothing in the first state."""
        if self.teacher is None:
            return None
        with torch.no_grad():
            return self.teacher(images)[:, : self.known]

    def end_state(self, network: Network, images: Split, extract: Extract) -> None:
        self.teacher = None


class Lwf(Teacher):
    def begin_state(self, arrival: Arrival) -> None:
        if self.config.outputs == "all":
            if self.totals is None:
                raise ConfigError("outputs all needs a stream whose classes are known: use seen")
            arrival = replace(arrival, new=0 if self.known else self.totals.classes)
        super().begin_state(arrival)

    def loss(self, network: Network, images: Tensor, labels: Tensor) -> Tensor:
        return losses.one_vs_all(network(images), labels, self.old_logits(images))
