"""Times of several things measured in turns, so that a busy machine troubles all alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import numpy as np


def side_by_side(things: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median seconds of each, over rounds that run every one of them once."""
    taken: dict[str, list[float]] = {name: [] for name in things}
    for thing in things.values():
        thing()
    for _ in range(rounds):
        for name, thing in things.items():
            started = time.perf_counter()
            thing()
            taken[name].append(time.perf_counter() - started)
    return {name: float(np.median(seconds)) for name, seconds in taken.items()}
