"""Size of an experiment: image passes, memory by arithmetic, and time by a short trial."""

from __future__ import annotations

import copy
import math
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from memoryless.errors import ConfigError
from memoryless.images import Dataset
from memoryless.lab.config import Config
from memoryless.lab.stream import Stream
from memoryless.progress import Passes
from memoryless.settings import ModelSettings
from memoryless.strategies import STRATEGIES
from memoryless.train.backbones.onnx_backbone import OnnxBackbone
from memoryless.train.learner import Learner, prepare
from memoryless.train.loop import LESS
from memoryless.train.schedules import epochs_of
from memoryless.train.strategies.base import Totals

TRIAL_BATCHES = 4
# What backward passes hold beside the outputs of layers: measured 1.1 to 1.9 for ResNets.
OVERHEAD = 1.5
HELD_AT_ONCE = 3  # outputs of layers in a pass without gradients: in, out, and a shortcut


def passes(settings: ModelSettings, stream: Stream) -> list[Passes]:
    """Return how many images pass the backbone in each state."""
    facts = STRATEGIES[settings.strategy]
    follows = facts.backbone_learns and settings.statistics != "none"
    states = []
    for state in stream:
        epochs = epochs_of(settings, state.index) if facts.backbone_learns else 0
        train = len(state.train)
        before = train if follows and state.index else 0  # through the backbone as it was
        kept = facts.backbone_stays and int((state.test.labels < state.past).sum())
        states.append(Passes(epochs * train, before + train + len(state.test) - kept))
    return states


def training_bytes(backbone: nn.Module, shape: tuple[int, int, int], batch_size: int) -> int:
    """Return the memory of a training step, from the sizes of all layers' outputs, uncomputed.

    Parameters count four times: themselves, gradient, momentum, and the copy of a state before.
    """
    outputs = sum(_outputs(backbone, shape, batch_size))
    parameters = sum(p.numel() for p in backbone.parameters())
    return round(4 * (OVERHEAD * outputs + 4 * parameters))


def _outputs(backbone: nn.Module, shape: tuple[int, int, int], batch_size: int) -> list[int]:
    """Return how many values each layer puts out."""
    shadow, sizes = copy.deepcopy(backbone).to("meta"), []

    def count(_module: nn.Module, _inputs: Any, output: Any) -> None:
        sizes.append(output.numel() if isinstance(output, torch.Tensor) else 0)

    for module in shadow.modules():
        if not list(module.children()):
            module.register_forward_hook(count)
    shadow(torch.empty(batch_size, *shape, device="meta"))
    return sizes


def features_bytes(learner: Learner, stream: Stream) -> int:
    """Return the memory of a state whose features are taken once: the backbone, a batch on its way
    through it, and the features of the most images that a state trains on or is tested on.
    """
    backbone, side = learner.network.backbone, learner.preparation.size
    shape, batch_size = (len(learner.preparation.mean), side, side), learner.settings.batch_size
    images = batch_size * math.prod(shape)
    if not isinstance(backbone, OnnxBackbone):  # onnxruntime holds little for one image
        images += HELD_AT_ONCE * max(_outputs(backbone, shape, batch_size))
    weights: int = sum(p.numel() for p in backbone.parameters())
    most = max(len(split) for state in stream for split in (state.train, state.test))
    features: int = most * learner.record.W.shape[1]
    return 4 * (weights + images + features)


def free_bytes() -> int | None:
    """Return the free memory, or None where the system does not report it."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if "MemAvailable" in line)
    except (OSError, StopIteration, ValueError):
        pages = "SC_AVPHYS_PAGES"
        known = pages in getattr(os, "sysconf_names", {})
        return os.sysconf(pages) * os.sysconf("SC_PAGE_SIZE") if known else None


def check_memory(config: Config, dataset: Dataset, stream: Stream) -> None:
    """Raise if the experiment takes more memory than the machine has free."""
    learner = _trial_learner(config, dataset, stream)
    side, number = dataset.image_size, config.batch_size
    if learner.facts.backbone_learns:
        needed = training_bytes(learner.network.backbone, (dataset.channels, side, side), number)
        what, fix = f"training on batches of {number} images of {side} pixels takes", LESS
    else:
        needed = features_bytes(learner, stream)
        what = f"the features of a state and batches of {number} images of {side} pixels take"
        fix = "lower `batch_size`, or split the classes into more `states`"
    free = free_bytes() if learner.device.type == "cpu" else None
    if free is not None and needed > free:
        raise ConfigError(
            f"{what} about {needed / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free: {fix}"
        )


def images_per_second(config: Config, dataset: Dataset, stream: Stream) -> float:
    """Return the speed of the strategy's last tried state: with its teacher, if it has one."""
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
    """Return a learner that will be thrown away, at a rate that cannot spoil its weights."""
    config = replace(config, epochs=1, epochs_later=1, lr=1e-6, lr_later=1e-6)
    config = replace(config, statistics="none", projection=0)
    totals = Totals(len(dataset.classes), len(dataset.train))
    preparation = prepare(config, stream[0].train, dataset.image_size, dataset.augment)
    return Learner(config, 0, dataset.channels, preparation, totals=totals)
