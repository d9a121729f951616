"""Full: all classes at once, what the others are measured by. Not memoryless."""

from __future__ import annotations

from memoryless.strategies.base import Strategy


class Joint(Strategy):
    about = "all classes at once, with all images; not memoryless"
    memoryless = False
    one_state = True
