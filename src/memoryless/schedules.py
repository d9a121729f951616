"""Learning rates as pure functions of the config, the state and what has been seen."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence

from memoryless.config import TrainingConfig

LR_RULES: dict[str, Callable[[float, int], float]] = {
    "t+1": lambda lr, t: lr / (t + 1),
    "t": lambda lr, t: lr / max(t, 1),
    "constant": lambda lr, t: lr,
}


def epochs_of(config: TrainingConfig, state: int) -> int:
    return config.epochs if state == 0 else config.epochs_later or config.epochs


def cosine(config: TrainingConfig, state: int, epoch: float, watched: Sequence[float]) -> float:
    """From 1 to 0 along half a cosine."""
    return (1 + math.cos(math.pi * epoch / epochs_of(config, state))) / 2


def multistep(config: TrainingConfig, state: int, epoch: float, watched: Sequence[float]) -> float:
    """Multiplied by `decay` at each milestone."""
    return config.decay ** bisect_right(sorted(config.milestones), epoch / epochs_of(config, state))


def plateau(config: TrainingConfig, state: int, epoch: float, watched: Sequence[float]) -> float:
    """Multiplied by `decay` whenever the watched loss made no progress for `patience` epochs."""
    patience = config.patience if state == 0 else config.patience_later or config.patience
    best, stale, drops = math.inf, 0, 0
    for loss in watched:
        best, stale = (loss, 0) if loss < best * (1 - 1e-4) else (best, stale + 1)
        if stale == patience:
            stale, drops = 0, drops + 1
    return config.decay**drops


Schedule = Callable[[TrainingConfig, int, float, Sequence[float]], float]
SCHEDULES: dict[str, Schedule] = {"plateau": plateau, "multistep": multistep, "cosine": cosine}


def learning_rate(
    config: TrainingConfig, state: int, epoch: float, watched: Sequence[float]
) -> float:
    """The rate after `epoch` epochs (a fraction within one) of a state."""
    base = config.lr
    if state:
        base = config.lr_later or LR_RULES[config.lr_rule](config.lr, state)
    return base * SCHEDULES[config.schedule](config, state, epoch, watched)
