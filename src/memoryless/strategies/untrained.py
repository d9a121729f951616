"""The control: a network of the same shape that never learns."""

from __future__ import annotations

from typing import Any, ClassVar

from memoryless.strategies.fixed import Fixed


class Untrained(Fixed):
    """Weights stay as they were drawn: a method that reads the same statistics and does not beat
    this has gained nothing by training.
    """

    about = "the control: the backbone never learns, its weights are drawn"
    recipe: ClassVar[dict[str, Any]] = {}
    draws_weights = True
