"""Each state from scratch: what features share when nothing is carried over (Fig. 3 d)."""

from __future__ import annotations

import torch

from memoryless.data import Split
from memoryless.network import Network
from memoryless.strategies.finetune import Extract, Finetune


class Independent(Finetune):
    def begin_state(
        self,
        network: Network,
        images: Split,
        new: int,
        extract: Extract,
        generator: torch.Generator,
    ) -> None:
        if self.known:
            torch.manual_seed(int(torch.randint(2**31, (), generator=generator)))
            for module in reversed(list(network.backbone.modules())):  # the whole after its parts
                reset = getattr(module, "reset_parameters", None)
                if callable(reset):
                    reset()
        super().begin_state(network, images, new, extract, generator)
