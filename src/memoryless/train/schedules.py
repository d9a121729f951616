"""Learning rates as pure functions of the settings, the state and what has been seen."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence

from memoryless.settings import TrainingSettings


def over_next(lr: float, t: int) -> float:
    """lr/(t+1) in state t, as in the authors' scripts."""
    return lr / (t + 1)


def over_state(lr: float, t: int) -> float:
    """lr/t in state t, as in the paper's text."""
    return lr / max(t, 1)


def constant(lr: float, t: int) -> float:
    """Keep lr in every state."""
    return lr


LR_RULES: dict[str, Callable[[float, int], float]] = {
    "t+1": over_next,
    "t": over_state,
    "constant": constant,
}


def epochs_of(settings: TrainingSettings, state: int) -> int:
    """Return how many epochs a state trains for."""
    return settings.epochs if state == 0 else settings.epochs_later


def cosine(settings: TrainingSettings, state: int, epoch: float, watched: Sequence[float]) -> float:
    """Lower the learning rate to 0 along half a cosine."""
    return (1 + math.cos(math.pi * epoch / epochs_of(settings, state))) / 2


def multistep(
    settings: TrainingSettings, state: int, epoch: float, watched: Sequence[float]
) -> float:
    """Multiply the learning rate by `decay` at each milestone."""
    return settings.decay ** bisect_right(
        sorted(settings.milestones), epoch / epochs_of(settings, state)
    )


def plateau(
    settings: TrainingSettings, state: int, epoch: float, watched: Sequence[float]
) -> float:
    """Multiply the learning rate by `decay` after every `patience` epochs without progress of the
    loss.
    """
    patience = settings.patience if state == 0 else settings.patience_later
    best, stale, drops = math.inf, 0, 0
    for loss in watched:
        best, stale = (loss, 0) if loss < best * (1 - 1e-4) else (best, stale + 1)
        if stale == patience:
            stale, drops = 0, drops + 1
    return settings.decay**drops


Schedule = Callable[[TrainingSettings, int, float, Sequence[float]], float]
SCHEDULES: dict[str, Schedule] = {"plateau": plateau, "multistep": multistep, "cosine": cosine}


def learning_rate(
    settings: TrainingSettings, state: int, epoch: float, watched: Sequence[float]
) -> float:
    """Return the rate after `epoch` epochs (a fraction within one) of a state."""
    return first_rate(settings, state) * SCHEDULES[settings.schedule](
        settings, state, epoch, watched
    )


def first_rate(settings: TrainingSettings, state: int) -> float:
    """Return the rate that a state begins with."""
    if state == 0:
        return settings.lr
    if isinstance(settings.lr_later, str):
        return LR_RULES[settings.lr_later](settings.lr, state)
    return settings.lr_later
