"""Random draws as a pure function of a seed and what they are for.

No stream of random numbers is carried along: whoever draws names the seed, the state, the epoch
and the purpose, so that a run killed anywhere and resumed draws the same numbers again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch


def derive(seed: int, *context: int | str) -> int:
    """A seed for one purpose.

    >>> derive(0, "order") == derive(0, "order") != derive(1, "order")
    True
    """
    digest = hashlib.sha256(repr((seed, *context)).encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def numpy_generator(seed: int, *context: int | str) -> np.random.Generator:
    return np.random.default_rng(derive(seed, *context))


def torch_generator(seed: int, *context: int | str) -> torch.Generator:
    import torch

    return torch.Generator().manual_seed(derive(seed, *context))


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch's own random numbers within the block, and leave them as they were after it.

    Layers draw their first weights and dropout its masks from these; the caller's draws go on as
    if nothing had happened.
    """
    import torch

    cuda = [torch.cuda.current_device()] if torch.cuda.is_available() else []
    with torch.random.fork_rng(cuda):
        torch.manual_seed(seed)
        yield
