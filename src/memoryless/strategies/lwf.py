"""LwF as the paper ran it, with iCaRL's loss: every output a classifier of its own.

Old outputs are held to what the old model says (Li and Hoiem, ECCV 2016; Rebuffi et al., CVPR
2017). With `outputs = "all"` the layer has an output for every class of the stream from the start
and future classes are negatives, as in the paper; with "seen" it grows.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

from memoryless.errors import ConfigError
from memoryless.strategies.base import Arrival
from memoryless.strategies.teacher import Teacher

if TYPE_CHECKING:
    from torch import Tensor

    from memoryless.network import Network


@dataclass(frozen=True, kw_only=True)
class LwfSettings:
    outputs: Literal["seen", "all"] = "seen"
    """lwf: the layer has an output for each class seen, or from the start for all of the stream
    (as in the paper, where future classes are negatives)."""


class Lwf(Teacher):
    about = "every output a classifier of its own, old ones held to the old model"
    # iCaRL's script, which the paper ran: 70 epochs, rate 2 (its loss is a mean over outputs),
    # divided by 5 after epochs 49 and 63, decay 1e-5, the layer never made anew.
    recipe: ClassVar = {
        "epochs": 70,
        "lr": 2.0,
        "lr_later": "constant",
        "schedule": "multistep",
        "milestones": (49 / 70, 63 / 70),
        "decay": 0.2,
        "weight_decay": 1e-5,
        "classifier_init": "grow",
    }

    def begin_state(self, arrival: Arrival) -> None:
        if self.settings.outputs == "all":
            if self.totals is None:
                raise ConfigError(
                    "`outputs=all` needs a stream whose classes are known in advance: use "
                    "`outputs=seen`"
                )
            arrival = replace(arrival, new=0 if self.past else self.totals.classes)
        super().begin_state(arrival)

    def loss(self, network: "Network", images: "Tensor", labels: "Tensor") -> "Tensor":
        from memoryless.losses import one_vs_all

        return one_vs_all(network(images), labels, self.old_logits(images))
