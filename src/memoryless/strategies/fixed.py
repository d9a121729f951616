"""The backbone never learns: it came with weights."""

from __future__ import annotations

from typing import Any, ClassVar

from memoryless.strategies.base import Arrival, Strategy


class Fixed(Strategy):
    """Features stay as they are from the first image on, so that what is kept of them adds up."""

    about = "the backbone never learns: it came with weights"
    recipe: ClassVar[dict[str, Any]] = {"backbone": "efficientnet-lite0"}

    def begin_state(self, arrival: Arrival) -> None:
        if not self.past and arrival.prepare:
            from memoryless.features import set_batch_norms

            set_batch_norms(
                arrival.network.backbone,
                arrival.images,
                arrival.prepare,
                self.settings.batch_size,
                arrival.generator,
            )
        super().begin_state(arrival)
