"""Full: all classes at once, the upper bound. Not memoryless."""

from __future__ import annotations

from memoryless.strategies.base import Strategy


class Joint(Strategy):
    about = "all classes at once, the upper bound; not memoryless"
    memoryless = False
    one_state = True
    heads = ("current",)
