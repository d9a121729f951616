"""How long a run still takes, by what each kind of its work took so far."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence

Work = Mapping[str, float]
"""How much a state has to do of each kind, in passes of an image through the backbone."""


class TimeLeft:
    """Time left is told from how much of each kind of work is left, and how long its like took.

    A kind that was not met yet is expected to take as long for its passes as the others did.
    """

    def __init__(
        self, work: Sequence[Work], finished: int = 0, after: Sequence[Sequence[Work]] = ()
    ):
        self.work = [dict(state) for state in work]
        self.left = [{} if t < finished else dict(state) for t, state in enumerate(work)]
        self.after = after
        """What each of the runs that follow has to do."""
        self.seconds: dict[tuple[str, bool], float] = defaultdict(float)
        self.passes: dict[tuple[str, bool], float] = defaultdict(float)
        self.last = time.perf_counter()

    def did(self, state: int, kind: str, passes: float) -> None:
        """Take note that this was done since the last call; no more than what was left."""
        now, left = time.perf_counter(), self.left[state].get(kind, 0.0)
        key = (kind, state > 0)  # later states may go through a teacher, or train the layer alone
        self.seconds[key] += now - self.last
        self.passes[key] += passes
        self.left[state][kind] = max(left - passes, 0.0)
        self.last = now

    def skip(self, state: int, kind: str, passes: float) -> None:
        """Take note that this is done, and say nothing of how long it took: it was done by an
        earlier command, or it was the first, which is slow.
        """
        self.left[state][kind] = max(self.left[state].get(kind, 0.0) - passes, 0.0)
        self.last = time.perf_counter()

    def finish(self, state: int) -> None:
        """Nothing is left of a state."""
        self.left[state] = {}

    @property
    def share(self) -> float:
        """Share of the run's passes that is done."""
        total, left = (sum(sum(s.values()) for s in part) for part in (self.work, self.left))
        return 1 - left / total if total else 1.0

    def __call__(self) -> float | None:
        """Seconds that are left, or nothing as long as no work was seen."""
        if not sum(self.passes.values()) or not sum(self.seconds.values()):
            return None
        return sum(map(self._seconds, (self.left, *self.after)))

    def _seconds(self, states: Sequence[Work]) -> float:
        return sum(
            passes * self._rate(kind, t > 0)
            for t, state in enumerate(states)
            for kind, passes in state.items()
        )

    def _rate(self, kind: str, later: bool) -> float:
        """Seconds of a pass: of its like, else of the other states', else of all work."""
        for key in ((kind, later), (kind, not later)):
            if self.passes[key] and self.seconds[key]:
                return self.seconds[key] / self.passes[key]
        return sum(self.seconds.values()) / sum(self.passes.values())
