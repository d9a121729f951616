"""Calibrations: a factor for each class, from numbers that each state left behind."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def no_factors(mu: Tensor, class_state: Tensor, current_state: int) -> Tensor:
    """Scores as they are."""
    return torch.ones(len(class_state), dtype=mu.dtype)


def mc_factors(mu: Tensor, class_state: Tensor, current_state: int) -> Tensor:
    """mu(M_t) / mu(M_j) for a class of state j at state t (Eq. 5); 1 for new classes.

    The quotient means nothing unless both are above 0: classes of a state whose mu is not, and all
    classes while the current one is not, keep the factor 1.

    >>> mc_factors(torch.tensor([4.0, 2.0]), torch.tensor([0, 0, 1]), current_state=1)
    tensor([0.5000, 0.5000, 1.0000])
    """
    old, now = mu[class_state], mu[current_state]
    usable = (old > 0) & (now > 0)
    return torch.where(usable, now / old.where(old > 0, old.new_ones(())), now.new_ones(()))


CALIBRATIONS: dict[str, Callable[[Tensor, Tensor, int], Tensor]] = {
    "none": no_factors,
    "mc": mc_factors,
}
