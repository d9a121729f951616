"""Makes scorers of methods and of what a state left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache

from torch import Tensor

from memoryless.calibration import CALIBRATIONS, StateNumbers
from memoryless.heads import HEADS
from memoryless.learner import fitted_name
from memoryless.methods import Method
from memoryless.network import Layer
from memoryless.record import Record
from memoryless.scorers import Linear, Scorer, View, Viewed
from memoryless.strategies import STRATEGIES


@dataclass(frozen=True)
class EndOfState:
    """What methods are made of at the end of a state."""

    record: Record
    layer: Layer
    """The classification layer as trained."""
    fitted: Mapping[str, Scorer] = field(default_factory=dict)
    """Heads that were fitted while the state's images were there, as head+transport."""
    held_out: tuple[Tensor, Tensor] | None = None
    """Features and labels of the state's images that were held out (laboratory only)."""
    view: View = View()  # noqa: RUF009 - frozen
    """Which features class statistics are computed from."""

    @property
    def numbers(self) -> StateNumbers:
        return StateNumbers(self.record.mu, self.record.class_state, self.held_out)


def build_scorers(methods: Mapping[str, Method], end: EndOfState) -> dict[str, Scorer]:
    """Each method as a scorer: one layer, where head and calibration are linear.

    A head is made once for all its calibrations.
    """
    head = cache(lambda method: _head_scorer(method, end))
    return {
        name: CALIBRATIONS[method.calibration].fit(
            head(replace(method, calibration="none")), end.numbers
        )
        for name, method in methods.items()
    }


def _head_scorer(method: Method, end: EndOfState) -> Scorer:
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
        named = [float(method.shrinkage)] if method.shrinkage else []
        scorer = head.make(source, *named)
    return scorer if end.view == View() else Viewed(scorer, **asdict(end.view))
