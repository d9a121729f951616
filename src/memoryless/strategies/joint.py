"""Full: all classes at once, the upper bound. Not memoryless."""

from __future__ import annotations

from memoryless.strategies.finetune import Finetune


class Joint(Finetune):
    memoryless = False
    one_state = True
    heads = ("current",)
