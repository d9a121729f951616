"""The backbone never learns: it came with weights, or stays as it was drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from memoryless.strategies.base import Arrival, Strategy

if TYPE_CHECKING:
    from torch import nn


class Fixed(Strategy):
    """Features stay as they are from the first image on, so that what is kept of them adds up."""

    recipe: ClassVar[dict[str, Any]] = {"backbone": "efficientnet-lite0"}
    backbone_stays = True

    def begin_state(self, arrival: Arrival) -> None:
        arrival.network.backbone.requires_grad_(False)
        super().begin_state(arrival)

    def train_mode(self, network: nn.Module) -> None:
        network.eval()
