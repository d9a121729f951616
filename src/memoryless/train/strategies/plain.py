"""Strategies that train as fine-tuning does and differ in what may change."""

from __future__ import annotations

import torch
from torch import nn

from memoryless.train.features import set_batch_norms
from memoryless.train.randomness import seeded
from memoryless.train.strategies.base import Arrival, Trainer


class Frozen(Trainer):
    """The backbone learns in state 0 only."""

    def begin_state(self, arrival: Arrival) -> None:
        if self.past:
            arrival.network.backbone.requires_grad_(False)
        super().begin_state(arrival)

    def train_mode(self, network: nn.Module) -> None:
        network.train(not self.past)  # batch statistics are frozen too


class Fixed(Trainer):
    """Features stay as they are from the first image on, so that what is kept of them adds up."""

    def begin_state(self, arrival: Arrival) -> None:
        if not self.past and arrival.prepare:
            set_batch_norms(
                arrival.network.backbone,
                arrival.images,
                arrival.prepare,
                self.settings.batch_size,
                arrival.generator,
            )
        super().begin_state(arrival)


class Independent(Trainer):
    """Each state from scratch: what features share when nothing is carried over (Fig. 3 d)."""

    def begin_state(self, arrival: Arrival) -> None:
        if self.past:
            with seeded(int(torch.randint(2**31, (), generator=arrival.generator))):
                for module in reversed(list(arrival.network.backbone.modules())):
                    reset = getattr(module, "reset_parameters", None)
                    if callable(reset):  # the whole after its parts
                        reset()
        super().begin_state(arrival)
