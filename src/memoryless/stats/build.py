"""Makes scorers of methods and of what a state left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from memoryless.stats.calibration import CALIBRATIONS, StateNumbers, fold
from memoryless.stats.heads import HEADS
from memoryless.stats.heads.base import Layer
from memoryless.stats.methods import Method
from memoryless.stats.record import Record
from memoryless.stats.scorers import Linear, Scorer, View, Viewed
from memoryless.strategies import STRATEGIES


@dataclass(frozen=True)
class EndOfState:
    """What methods are made of at the end of a state."""

    record: Record
    layer: Layer
    """The classification layer as trained."""
    fitted: Mapping[str, Scorer] = field(default_factory=dict)
    """Heads that were fitted while the state's images were there, as head+transport."""
    held_out: tuple[np.ndarray, np.ndarray] | None = None
    """Features and labels of the state's images that were held out (laboratory only)."""
    view: View = View()  # noqa: RUF009 - frozen
    """Which features class statistics are computed from."""

    @property
    def numbers(self) -> StateNumbers:
        return StateNumbers(self.record.mu, self.record.class_state, self.held_out)


def build_scorer(method: Method, end: EndOfState) -> Any:
    """A method as a scorer: one layer, where head and calibration are linear."""
    head = head_scorer(method, end)
    if method.calibration == "none":
        return head
    return fold(head, *CALIBRATIONS[method.calibration].fit(head, end.numbers))


def head_scorer(method: Method, end: EndOfState) -> Scorer:
    """A method's head as a scorer, without its calibration."""
    head = HEADS[method.head]
    if head.reads == "layer":
        W, b = head.make(*end.layer)
        return Linear(W, b, unit=STRATEGIES[method.strategy].unit_features)
    source = end.record.source(head.reads, method.transport)
    if head.reads == "rows":
        return Linear(*head.make(*source))
    if head.reads == "covariances" and not STRATEGIES[method.strategy].backbone_stays:
        source = source.levelled(end.record.class_state == end.record.states - 1)
    if head.fitted:
        scorer = end.fitted[fitted_name(head.name, method.transport)]
    else:
        scorer = head.over(source, float(method.shrinkage) if method.shrinkage else None)
    return scorer if end.view == View() else Viewed(scorer, **asdict(end.view))


def fitted_name(head: str, transport: str) -> str:
    """The name of a fitted head among what a state leaves."""
    return f"{head}+{transport}"


def view_of(settings: Any, row: int) -> View:
    """Which features settings compute class statistics from, where rows have this length.

    Fixed features are always read as square roots.
    """
    if settings.statistics == "none" and not settings.projection:
        return View()
    fixed = not STRATEGIES[settings.strategy].backbone_learns
    start = row if settings.level == "middle" else 0
    return View(start, fixed or settings.square_roots)
