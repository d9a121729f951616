"""Each state from scratch: what features share when nothing is carried over (Fig. 3 d)."""

from __future__ import annotations

from typing import ClassVar

from memoryless.randomness import seeded
from memoryless.strategies.base import Arrival, Strategy


class Independent(Strategy):
    about = "each state from scratch"
    # Each state starts from scratch, so each learns at the first state's rate.
    recipe: ClassVar = {"lr_later": "constant"}

    def begin_state(self, arrival: Arrival) -> None:
        if self.past:
            import torch

            with seeded(int(torch.randint(2**31, (), generator=arrival.generator))):
                for module in reversed(list(arrival.network.backbone.modules())):
                    reset = getattr(module, "reset_parameters", None)
                    if callable(reset):  # the whole after its parts
                        reset()
        super().begin_state(arrival)
