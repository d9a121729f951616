"""Training settings that each strategy was published with; a config overrides any of them."""

from __future__ import annotations

from typing import Any

BASE: dict[str, Any] = {
    "epochs": 30,
    "epochs_later": None,
    "lr": 0.1,
    "lr_rule": "t+1",
    "lr_later": None,
    "schedule": "cosine",
    "milestones": (0.5, 0.75),
    "decay": 0.1,
    "weight_decay": 5e-4,
    "classifier_init": "reset",
}

RECIPES: dict[str, dict[str, Any]] = {
    # The paper's supplement, section 3, has its own epochs and the plateau rule; see the presets.
    "finetune": {},
    # iCaRL's script, which the paper ran: 70 epochs, rate 2 (its loss is a mean over outputs),
    # divided by 5 after epochs 49 and 63, decay 1e-5, the layer never made anew.
    "lwf": {
        "epochs": 70,
        "lr": 2.0,
        "lr_rule": "constant",
        "schedule": "multistep",
        "milestones": (49 / 70, 63 / 70),
        "decay": 0.2,
        "weight_decay": 1e-5,
        "classifier_init": "grow",
    },
    # LwF as a baseline of later work (such as LDC, ECCV 2024): later states at a rate of 0.05.
    "lwf_kd": {"lr_later": 0.05, "classifier_init": "grow"},
    # LUCIR, CVPR 2019 (CIFAR-100): 160 epochs, rate 0.1 divided by 10 at 80 and 120.
    "lucir": {
        "epochs": 160,
        "lr_rule": "constant",
        "schedule": "multistep",
        "classifier_init": "grow",
    },
    "frozen": {},
    "joint": {},
    # Each state starts from scratch, so each learns at the first state's rate.
    "independent": {"lr_rule": "constant"},
    "replay": {},
}


def recipe(strategy: str) -> dict[str, Any]:
    """All training settings of a strategy."""
    return BASE | RECIPES.get(strategy, {})
