"""Random draws as a pure function of a seed and what they are for.

No stream of random numbers is carried along: each draw names the seed, the state, the epoch and
the purpose, so that a run killed anywhere and resumed draws the same numbers again.
"""

from __future__ import annotations

import hashlib

import numpy as np


def derive(seed: int, *context: int | str) -> int:
    """Return a seed for one purpose.

    >>> derive(0, "order") == derive(0, "order") != derive(1, "order")
    True
    """
    digest = hashlib.sha256(repr((seed, *context)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def numpy_generator(seed: int, *context: int | str) -> np.random.Generator:
    """Return NumPy's random numbers for a seed and what they are drawn for."""
    return np.random.default_rng(derive(seed, *context))
