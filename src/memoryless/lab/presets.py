"""Settings of whole tables: the paper's four data sets as published, and two sized for a CPU."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memoryless.errors import ConfigError, DataError
from memoryless.images import Dataset
from memoryless.lab.config import Config
from memoryless.strategies import STRATEGIES

PAPER_STRATEGIES = ("finetune", "lwf", "lucir", "joint")


@dataclass(frozen=True)
class Preset:
    """Settings of a whole table, of each strategy in it, and the size that the data must have."""

    settings: dict[str, Any]
    strategies: dict[str, dict[str, Any]] = field(default_factory=dict)
    states: tuple[int, ...] = (10, 20, 50)
    classes: int = 100
    train_images: int | None = None
    test_images: int | None = None
    published: str | None = None
    """The data set's name in the paper, where its settings are the paper's."""

    @property
    def about(self) -> str:
        """The data set and the size of the network, in a few words."""
        source = self.published or self.settings["data"]
        sized = "as published" if self.published else "sized for a CPU"
        return f"{source}, {self.classes:,} classes, {sized}"

    def config(
        self, strategy: str, states: int, seed: int, root: Path, given: dict[str, Any]
    ) -> Config:
        """Return the experiment of one cell; the user's settings in `given` win.

        `replay:0.02` is replay with a memory of 2 %.
        """
        name, _, share = strategy.partition(":")
        folder = strategy.replace(":", "-")
        at_once = name in STRATEGIES and STRATEGIES[name].one_state
        place = root / (folder if at_once else f"{states}-states/{folder}")
        settings = self.settings | self.strategies.get(name, {}) | given
        if share:
            settings["memory"] = _share(strategy, share)
        return Config(
            **settings,
            strategy=name,
            states="1" if at_once else str(states),
            seeds=(seed,),
            output=place,
        ).resolved()

    def check(self, name: str, dataset: Dataset) -> None:
        """Raise unless the data set has the classes and images that the preset is for."""
        found = (len(dataset.classes), len(dataset.train), len(dataset.test))
        wanted = (self.classes, self.train_images, self.test_images)
        wrong = [
            f"{there:,} {what} instead of {want:,}"
            for what, there, want in zip(
                ("classes", "training images", "test images"), found, wanted, strict=True
            )
            if want is not None and there != want
        ]
        if wrong:
            raise DataError(
                f"preset {name} is for another data set: there are {', '.join(wrong)}; check "
                "`root` and the lists"
            )


def _share(strategy: str, share: str) -> float:
    if not strategy.startswith("replay:"):
        raise ConfigError(f"strategy '{strategy}': only replay has a memory, as in replay:0.02")
    try:
        return float(share)
    except ValueError as error:
        raise ConfigError(f"strategy '{strategy}' needs a share, as in replay:0.02") from error


# Supplement, section 3. "patience" is the plateau rule's, in epochs.
_SMALL = {
    "epochs": 300,
    "epochs_later": 70,
    "schedule": "plateau",
    "patience": 60,
    "patience_later": 15,
    "batch_size": 128,
    "weight_decay": 5e-4,
}
_LARGE = {
    "epochs": 120,
    "epochs_later": 35,
    "schedule": "plateau",
    "patience": 10,
    "patience_later": 5,
    "batch_size": 256,
    "weight_decay": 1e-4,
}
_AS_PUBLISHED = {
    "backbone": "resnet18",
    "width": 64,
    "image_size": 224,
    "batch_size": 128,
    "augment": ("resized_crop", "flip"),
}
_SEEN_ONCE = {"augment": ("none",)}  # images of a backbone that never learns
# LUCIR's own settings for ImageNet (CVPR 2019); LwF's are iCaRL's for all sets.
_LARGE_STRATEGIES: dict[str, dict[str, Any]] = {
    "finetune": _LARGE,
    "joint": _LARGE,
    "replay": _LARGE,
    "independent": {**_LARGE, "epochs_later": 120, "patience_later": 10},
    "fixed": _SEEN_ONCE,
    "lwf": {"outputs": "all"},
    "lucir": {
        "epochs": 90,
        "milestones": (1 / 3, 2 / 3),
        "weight_decay": 1e-4,
        "lambda_base": 10.0,
    },
}

_GATHER = {"statistics": "full"}  # for heads beyond the paper
_FROZEN = _GATHER | {"projection": 2000}  # 17 MB of sums; 1000 cost a point on held-out drawings

# The control, as `control_of` has it.
_UNTRAINED = _FROZEN | {"level": "middle", "square_roots": True}
# A backbone that came with weights, which sees pixels as it did when it was trained.
_FIXED = {"statistics": "tied", "image_size": 224}


def _large(published: str, train: int, test: int) -> Preset:
    return Preset(
        settings={"data": "list", **_AS_PUBLISHED},
        strategies=_LARGE_STRATEGIES,
        classes=1000,
        train_images=train,
        test_images=test,
        published=published,
    )


PRESETS: dict[str, Preset] = {
    "cifar100": Preset(
        settings={"data": "cifar100", "order": "belouadah", **_AS_PUBLISHED},
        strategies={
            "finetune": _SMALL,
            "joint": _SMALL,
            "replay": _SMALL,
            "independent": {**_SMALL, "epochs_later": 300, "patience_later": 60},
            "fixed": _SEEN_ONCE,
            "lwf": {"outputs": "all"},
        },
        train_images=50_000,
        test_images=10_000,
        published="CIFAR100",
    ),
    "ilsvrc": _large("ILSVRC", 1_231_167, 50_000),
    "vggface2": _large("VGGFace2", 491_746, 50_000),
    "landmarks": _large("Landmarks", 374_367, 20_000),
    "cifar100-cpu": Preset(
        settings={
            "data": "cifar100",
            "order": "belouadah",
            "width": 16,
            "epochs": 15,
            "epochs_later": 6,
            "batch_size": 128,
        },
        strategies={
            "finetune": _GATHER,
            "frozen": _FROZEN,
            "fixed": _FIXED,
            "untrained": _UNTRAINED,
            "lwf_kd": _GATHER,
            "lwf": {"outputs": "all"},
        },
        states=(10,),
        train_images=50_000,
        test_images=10_000,
    ),
    "quickdraw100": Preset(
        settings={"data": "quickdraw100", "width": 8, "batch_size": 64, "threads": 1},
        strategies={
            "finetune": {"epochs": 30, "epochs_later": 10, "lr": 0.2, **_GATHER},
            "frozen": {"epochs": 30, "epochs_later": 10, "lr": 0.2, **_FROZEN},
            "fixed": _FIXED,
            "untrained": _UNTRAINED,
            "lwf_kd": {"batch_size": 32, "augment": ("affine",), **_GATHER},
            "lwf": {"epochs": 24, "epochs_later": 16, "outputs": "all"},
            "lucir": {"epochs": 24, "epochs_later": 16},
            "joint": {"epochs": 20, "lr": 0.2},
            "replay": {"epochs": 30, "epochs_later": 10, "lr": 0.2},
            "independent": {"epochs": 30, "lr": 0.2},
        },
        states=(10,),
        train_images=8_000,
        test_images=2_000,
    ),
}
