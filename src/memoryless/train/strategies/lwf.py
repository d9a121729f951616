"""LwF as the paper ran it, with iCaRL's loss: every output a classifier of its own.

Old outputs are held to what the old model says (Li and Hoiem, ECCV 2016; Rebuffi et al., CVPR
2017). With `outputs = "all"` the layer has an output for every class of the stream from the start
and future classes are negatives, as in the paper; with "seen" it grows.
"""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from memoryless.errors import ConfigError
from memoryless.train.losses import one_vs_all
from memoryless.train.network import Network
from memoryless.train.strategies.base import Arrival
from memoryless.train.strategies.teacher import Teacher


class Lwf(Teacher):
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
