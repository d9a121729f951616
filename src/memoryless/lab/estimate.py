"""What a training will take, told before it starts: memory by arithmetic, time by a short trial."""

from __future__ import annotations

import copy
import math
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from memoryless.backbones import OnnxBackbone
from memoryless.errors import ConfigError
from memoryless.images import Dataset
from memoryless.lab.config import Config
from memoryless.lab.stream import Stream
from memoryless.lab.time_left import Work
from memoryless.learner import Learner, prepare
from memoryless.schedules import epochs_of
from memoryless.stats.traits import TRAITS
from memoryless.strategies import SMALL_SIDE, STRATEGIES, ModelSettings, Totals
from memoryless.strategies.teacher import Teacher
from memoryless.training import LESS

TRIAL_BATCHES = 4
# What backward passes hold beside the outputs of layers: measured 1.1 to 1.9 for ResNets.
OVERHEAD = 1.5
# Of other work in passes of an image, before any was measured.
LAYER_ALONE, FITTING, SCORING = 0.02, 10, 0.1
# Passes times squares of width and side: about three minutes of a core for small ResNets.
A_WHILE = 240_000 * (8 * 28) ** 2
HELD_AT_ONCE = 3  # outputs of layers in a pass without gradients: in, out, and a shortcut


@dataclass(frozen=True)
class Estimate:
    """Of a whole training, on this machine as it is now."""

    bytes: int
    seconds: float
    shorter: Mapping[str, int] = field(default_factory=dict)
    """Settings whose lower values would make it shorter, as they are now."""


def plan(settings: ModelSettings, stream: Stream) -> list[Work]:
    """What each state has to do, in passes of an image through the backbone and their like."""
    traits = TRAITS[settings.strategy]
    gathers = settings.statistics != "none"
    states: list[Work] = []
    for state in stream:
        train, test, later = len(state.train), len(state.test), state.index > 0
        past = traits.backbone_stays and int((state.test.labels < state.past).sum())
        again = later and gathers and traits.backbone_learns  # through the backbone as it was
        step = _step(settings.strategy, later)
        states.append({
            "training": epochs_of(settings, state.index) * train * step,
            "features": train * (2 if again else 1) + test - past,
            "fitting heads": FITTING * (state.past + stream.sizes[state.index]) * gathers,
            "scores": SCORING * test,
        })  # fmt: skip
    return states


def _step(strategy: str, later: bool) -> float:
    """What a training step takes of an image, in passes: forward one, backward two."""
    traits = TRAITS[strategy]
    if not traits.backbone_learns:
        return LAYER_ALONE
    if traits.backbone_stays and later:
        return 1
    return 4 if later and issubclass(STRATEGIES[strategy], Teacher) else 3


def looks_long(config: Config, dataset: Dataset, images: int) -> bool:
    """Whether this many passes of an image may take minutes, so that a measurement is worth it."""
    if not images or dataset.image_size > SMALL_SIDE:
        return images > 0
    return images * (config.width * dataset.image_size) ** 2 > A_WHILE


def training_bytes(backbone: nn.Module, shape: tuple[int, int, int], batch_size: int) -> int:
    """Memory that a training step takes, from the sizes of all layers' outputs; none is computed.

    Parameters count four times: themselves, gradient, momentum, and the copy of a state before.
    """
    outputs = sum(_outputs(backbone, shape, batch_size))
    parameters = sum(p.numel() for p in backbone.parameters())
    return round(4 * (OVERHEAD * outputs + 4 * parameters))


def _outputs(backbone: nn.Module, shape: tuple[int, int, int], batch_size: int) -> list[int]:
    """How many values each layer puts out."""
    shadow, sizes = copy.deepcopy(backbone).to("meta"), []

    def count(module: nn.Module, given: Any, output: Any) -> None:
        sizes.append(output.numel() if isinstance(output, torch.Tensor) else 0)

    for module in shadow.modules():
        if not list(module.children()):
            module.register_forward_hook(count)
    shadow(torch.empty(batch_size, *shape, device="meta"))
    return sizes


def features_bytes(learner: Learner, stream: Stream) -> int:
    """Memory that a state takes whose features are taken once: the backbone, a batch on its way
    through it, and the features of the most images that a state trains on or is tested on.
    """
    backbone, side = learner.network.backbone, learner.preparation.size
    shape, batch_size = (len(learner.preparation.mean), side, side), learner.settings.batch_size
    images = batch_size * math.prod(shape)
    if not isinstance(backbone, OnnxBackbone):  # onnxruntime holds little for one image
        images += HELD_AT_ONCE * max(_outputs(backbone, shape, batch_size))
    weights = sum(p.numel() for p in backbone.parameters())
    most = max(len(split) for state in stream for split in (state.train, state.test))
    return 4 * (weights + images + most * learner.record.W.shape[1])


def free_bytes() -> int | None:
    """Memory that programs can still have, where the system tells."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if "MemAvailable" in line)
    except (OSError, StopIteration, ValueError):
        pages = "SC_AVPHYS_PAGES"
        known = pages in getattr(os, "sysconf_names", {})
        return os.sysconf(pages) * os.sysconf("SC_PAGE_SIZE") if known else None


def estimate(config: Config, dataset: Dataset, stream: Stream, images: int) -> Estimate:
    """What this many passes of an image take, or an error if the machine has not the memory."""
    learner = _trial_learner(config, dataset, stream)
    side, backbone = dataset.image_size, learner.network.backbone
    learns = learner.traits.backbone_learns
    if learns:
        needed = training_bytes(backbone, (dataset.channels, side, side), config.batch_size)
    else:
        needed = features_bytes(learner, stream)
    free = free_bytes() if learner.device.type == "cpu" else None
    if free is not None and needed > free and not learns:
        raise ConfigError(
            f"the features of a state and batches of {config.batch_size} images of {side} pixels "
            f"take about {needed / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free: lower "
            "`batch_size`, or split the classes into more `states`"
        )
    if free is not None and needed > free:
        raise ConfigError(
            f"batches of {config.batch_size} images of {side} pixels take about "
            f"{needed / 1e9:.1f} GB to train on, and {free / 1e9:.1f} GB are free: {LESS}"
        )
    seconds = images / images_per_second(config, dataset, stream)
    return Estimate(needed, seconds, _shorter(config, dataset, learns))


def _shorter(config: Config, dataset: Dataset, learns: bool) -> dict[str, int]:
    """The settings that a training's time depends on; features depend on few of them."""
    shorter = {"image_size": dataset.image_size}
    if config.backbone.startswith("resnet"):
        shorter = {"width": config.width, **shorter}
    if learns:
        shorter = {"epochs": config.epochs, "epochs_later": config.epochs_later, **shorter}
    return shorter


def images_per_second(config: Config, dataset: Dataset, stream: Stream) -> float:
    """The speed of the strategy's last tried state: with its teacher, if it has one."""
    learner = _trial_learner(config, dataset, stream)
    rate = 0.0
    for state in stream[:2]:
        number = min(len(state.train), TRIAL_BATCHES * config.batch_size)
        few = np.linspace(0, len(state.train) - 1, number).astype(int)  # of all its classes
        started = time.perf_counter()
        learner.learn(state.train.take(few), stream.sizes[state.index])
        rate = len(few) / (time.perf_counter() - started)
    return rate


def _trial_learner(config: Config, dataset: Dataset, stream: Stream) -> Learner:
    """A learner that will be thrown away, at a rate that cannot spoil its weights."""
    config = replace(config, epochs=1, epochs_later=1, lr=1e-6, lr_later=1e-6)
    config = replace(config, statistics="none", projection=0)
    totals = Totals(len(dataset.classes), len(dataset.train))
    preparation = prepare(config, stream[0].train, dataset.image_size, dataset.augment)
    return Learner(config, 0, dataset.channels, preparation, totals=totals)
