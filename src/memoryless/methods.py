"""The paper's names for (strategy, head, calibration)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Method:
    strategy: str
    head: str
    calibration: str = "none"


METHODS: dict[str, Method] = {
    "FT": Method("finetune", "current"),
    "inFT": Method("finetune", "initial"),
    "inFT_L2": Method("finetune", "l2"),
    "inFT_mc": Method("finetune", "initial", "mc"),
    "inFT_L2_mc": Method("finetune", "l2", "mc"),
    "inFT_mean": Method("finetune", "mean"),
    "inFT_min_max": Method("finetune", "min_max"),
    "inFT_siw": Method("finetune", "siw"),
    "inFT_siw_mc": Method("finetune", "siw", "mc"),
}


def methods_of(strategy: str) -> dict[str, Method]:
    """All methods that one training with this strategy serves."""
    return {name: method for name, method in METHODS.items() if method.strategy == strategy}
