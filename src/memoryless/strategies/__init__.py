"""Strategies by name: how a state is trained."""

from __future__ import annotations

from memoryless.strategies.finetune import Arrival, Finetune, Totals
from memoryless.strategies.frozen import Frozen
from memoryless.strategies.independent import Independent
from memoryless.strategies.joint import Joint
from memoryless.strategies.lucir import Lucir
from memoryless.strategies.lwf import Lwf
from memoryless.strategies.lwf_kd import LwfKd
from memoryless.strategies.replay import Replay

__all__ = ["STRATEGIES", "Arrival", "Finetune", "Totals"]

STRATEGIES: dict[str, type[Finetune]] = {
    "finetune": Finetune,
    "lwf": Lwf,
    "lwf_kd": LwfKd,
    "lucir": Lucir,
    "frozen": Frozen,
    "joint": Joint,
    "independent": Independent,
    "replay": Replay,
}
