"""LwF as later work uses it: cross-entropy over new outputs, softmax distillation of old ones."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

from memoryless.settings import NOT_NEGATIVE, POSITIVE
from memoryless.strategies.teacher import Teacher

if TYPE_CHECKING:
    from torch import Tensor

    from memoryless.network import Network


@dataclass(frozen=True, kw_only=True)
class LwfKdSettings:
    """Weight and temperature are those of the baseline of LDC (ECCV 2024) and others."""

    kd_weight: Annotated[float, NOT_NEGATIVE] = 10.0
    """lwf_kd: weight of the distillation."""
    kd_temperature: Annotated[float, POSITIVE] = 2.0
    """lwf_kd: temperature of the distillation."""


class LwfKd(Teacher):
    about = "cross-entropy over new classes, distillation of the old ones"
    # As a baseline of later work (such as LDC, ECCV 2024): later states at a rate of 0.05.
    recipe: ClassVar = {"lr_later": 0.05, "classifier_init": "grow"}

    def loss(self, network: "Network", images: "Tensor", labels: "Tensor") -> "Tensor":
        from torch.nn.functional import cross_entropy

        from memoryless.losses import distillation

        logits, old = network(images), self.old_logits(images)
        loss = cross_entropy(logits[:, self.past :], labels - self.past)
        if old is None:
            return loss
        kept = distillation(logits[:, : self.past], old, self.settings.kd_temperature)
        return loss + self.settings.kd_weight * kept
