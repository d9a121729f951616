"""Strategies by name: how a state is trained."""

from __future__ import annotations

from memoryless.strategies.finetune import Finetune

__all__ = ["STRATEGIES", "Finetune"]

STRATEGIES: dict[str, type[Finetune]] = {
    "finetune": Finetune,
}
