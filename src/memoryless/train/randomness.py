"""Random draws of torch as a pure function of a seed and what they are for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from memoryless.randomness import derive


def torch_generator(seed: int, *context: int | str) -> torch.Generator:
    """Return torch's random numbers for a seed and what they are drawn for."""
    return torch.Generator().manual_seed(derive(seed, *context))


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch's own random numbers within the block, and leave them as they were after it.

    Layers draw their first weights and dropout its masks from these; the caller's draws go on as
    if nothing had happened.
    """
    cuda = [torch.cuda.current_device()] if torch.cuda.is_available() else []
    with torch.random.fork_rng(cuda):
        torch.manual_seed(seed)
        yield
