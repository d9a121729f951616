"""Each state from scratch: what features share when nothing is carried over (Fig. 3 d)."""

from __future__ import annotations

import torch

from memoryless.strategies.finetune import Arrival, Finetune


class Independent(Finetune):
    def begin_state(self, arrival: Arrival) -> None:
        if self.known:
            torch.manual_seed(int(torch.randint(2**31, (), generator=arrival.generator)))
            for module in reversed(
                list(arrival.network.backbone.modules())
            ):  # the whole after its parts
                reset = getattr(module, "reset_parameters", None)
                if callable(reset):
                    reset()
        super().begin_state(arrival)
