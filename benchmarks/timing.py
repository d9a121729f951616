"""Times of several things measured in turns, so that a busy machine troubles all alike, and time
and memory of a process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

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


class Process(NamedTuple):
    """What a process took, and what it printed."""

    seconds: float
    peak: int  # bytes of memory
    output: str


# A process begins with the peak of the one that starts it, which is therefore a small one.
STARTED_BY = """
import resource, subprocess, sys, time
began = time.perf_counter()
done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, check=True)
seconds = time.perf_counter() - began
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(seconds, peak if sys.platform == "darwin" else 1024 * peak, flush=True)
sys.stdout.buffer.write(done.stdout)
"""


def fresh_process(*line: str, **environment: str) -> Process:
    """Run Python with these arguments, in an environment with these variables too."""
    done = subprocess.run(
        [sys.executable, "-c", STARTED_BY, sys.executable, *line],
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    numbers, _, output = done.stdout.partition("\n")
    seconds, peak = numbers.split()
    return Process(float(seconds), int(peak), output)
