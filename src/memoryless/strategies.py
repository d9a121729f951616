"""What each strategy is: its facts, and the settings that it was published with.

Heads, reports and help read this table without torch. How a strategy trains stands in
`train/strategies/`; one that trains as fine-tuning does needs an entry here and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from memoryless.errors import ConfigError
from memoryless.settings import (
    WIDTH,
    LucirSettings,
    LwfKdSettings,
    LwfSettings,
    ModelSettings,
    ReplaySettings,
    conform,
)

SMALL_SIDE = 64  # of images that the 3x3 stem is for; larger ones need the ImageNet stem's stride
SMALL_BATCH = 128  # of images for the 3x3 stem, as most rates are published for
PHOTO_BATCH = 32  # about 3 GB to train a ResNet-18 at 224 pixels
AnySettings = TypeVar("AnySettings", bound=ModelSettings)


BASE_RECIPE: dict[str, Any] = {
    "epochs": 30,
    "lr": 0.1,
    "lr_later": "t+1",
    "schedule": "cosine",
    "milestones": (0.5, 0.75),
    "decay": 0.1,
    "weight_decay": 5e-4,
    "classifier_init": "reset",
}
"""Training settings of every strategy whose own recipe does not name them."""


@dataclass(frozen=True)
class Strategy:
    """What others need to know about a strategy."""

    about: str
    """What it does, in a few words."""
    trained_by: str = "memoryless.train.strategies.base:Trainer"
    """The class that trains it, as `pkgutil.resolve_name` finds it."""
    settings: type | None = None
    """The settings that it alone reads."""
    recipe: Mapping[str, Any] = field(default_factory=dict)
    """Training settings that it was published with, where they differ from BASE_RECIPE."""
    memoryless: bool = True
    """Whether it works without past images; if not, every report says so."""
    one_state: bool = False
    """Whether it takes all classes at once."""
    backbone_learns: bool = True
    """Whether the backbone is trained. If not, features are fixed: they are taken once for each
    state, the layer is trained on them, and nothing that was kept ever moves."""
    backbone_stays: bool = False
    """Whether the backbone is the same from state 0 on, so that sums over its features add up."""
    draws_weights: bool = False
    """Whether the backbone must not bring weights of any training."""
    last_relu: bool = True
    """Whether features are non-negative."""
    unit_features: bool = False
    """Whether its layer reads features at length one."""
    row_heads: tuple[str, ...] = ()
    """The row heads that mean something for it; all where none are named."""
    recommended: str = "rda"
    """The head that is recommended where covariances are kept, by held-out images."""


STRATEGIES: dict[str, Strategy] = {
    "finetune": Strategy(
        "cross-entropy over all classes seen, with images of the new ones only",
    ),  # the paper's own epochs and plateau rule stand in the presets
    "lwf": Strategy(
        "every output a classifier of its own, old ones held to the old model",
        "memoryless.train.strategies.lwf:Lwf",
        LwfSettings,
        # iCaRL's script, which the paper ran: 70 epochs, rate 2 (its loss is a mean over outputs),
        # divided by 5 after epochs 49 and 63, decay 1e-5, old rows of the layer kept.
        {
            "epochs": 70,
            "lr": 2.0,
            "lr_later": "constant",
            "schedule": "multistep",
            "milestones": (49 / 70, 63 / 70),
            "decay": 0.2,
            "weight_decay": 1e-5,
            "classifier_init": "grow",
        },
    ),
    "lwf_kd": Strategy(
        "cross-entropy over new classes, distillation of the old ones",
        "memoryless.train.strategies.lwf:LwfKd",
        LwfKdSettings,
        # As a baseline of later work (such as LDC, ECCV 2024): later states at a rate of 0.05.
        {"lr_later": 0.05, "classifier_init": "grow"},
    ),
    "lucir": Strategy(
        "cosine layer, and features held to those of the old model",
        "memoryless.train.strategies.lucir:Lucir",
        LucirSettings,
        # LUCIR, CVPR 2019 (CIFAR-100): 160 epochs, rate 0.1 divided by 10 at 80 and 120.
        {
            "epochs": 160,
            "lr_later": "constant",
            "schedule": "multistep",
            "classifier_init": "grow",
        },
        last_relu=False,
        unit_features=True,
        row_heads=("current",),
    ),
    "frozen": Strategy(
        "the backbone learns in state 0 only, later states train the layer",
        "memoryless.train.strategies.plain:Frozen",
        backbone_stays=True,
    ),
    "fixed": Strategy(
        "the backbone never learns: it came with weights",
        "memoryless.train.strategies.plain:Fixed",
        recipe={"backbone": "efficientnet-lite0"},
        backbone_learns=False,
        backbone_stays=True,
        recommended="lda",
    ),
    "untrained": Strategy(
        "the control: the backbone never learns, its weights are drawn",
        "memoryless.train.strategies.plain:Fixed",
        backbone_learns=False,
        backbone_stays=True,
        draws_weights=True,
        recommended="lda",
    ),
    "joint": Strategy(
        "all classes at once, with all images; not memoryless",
        memoryless=False,
        one_state=True,
        row_heads=("current",),
    ),
    "independent": Strategy(
        "each state from scratch",
        "memoryless.train.strategies.plain:Independent",
        # Each state starts from scratch, so each learns at the first state's rate.
        recipe={"lr_later": "constant"},
    ),
    "replay": Strategy(
        "fine-tuning with a bounded memory of images; not memoryless",
        "memoryless.train.strategies.replay:Replay",
        ReplaySettings,
        memoryless=False,
    ),
}


def strategy_of(name: str) -> Strategy:
    """Return the facts of a strategy; of an unknown one those of fine-tuning."""
    return STRATEGIES.get(name, STRATEGIES["finetune"])


def filled(given: AnySettings, side: int | None = None) -> AnySettings:
    """Return settings in their types, with nothing left open, for images of a side.

    Names are not looked up, which would import torch. Settings that are filled stay as they are.
    """
    values, problems = conform(given)
    if problems:
        raise ConfigError("; ".join(problems))
    for name, value in _values_for_open(given.strategy, values, side or SMALL_SIDE).items():
        if values[name] is None:
            values[name] = value
    return replace(given, **values)


def _values_for_open(strategy: str, given: dict[str, Any], side: int) -> dict[str, Any]:
    """Return values for what is open: the strategy's recipe, and what suits the images."""
    photos = side > SMALL_SIDE
    recipe = {**BASE_RECIPE, **strategy_of(strategy).recipe}
    batch_size = given["batch_size"] or (PHOTO_BATCH if photos else SMALL_BATCH)
    if photos:  # rates are published for 128; a step of fewer images must be shorter
        recipe["lr"] *= min(batch_size / SMALL_BATCH, 1)  # (Goyal et al. 2017)
    return {
        "backbone": "resnet18" if photos else "resnet18_3x3",
        "width": WIDTH,
        "batch_size": batch_size,
        "epochs_later": given["epochs"] or recipe["epochs"],
        "patience_later": given["patience"],
        **recipe,
    }
