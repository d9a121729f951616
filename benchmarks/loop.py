"""The training loop beside a bare forward, backward and step on one fixed batch.

Both train a ResNet-18 of width 16 at 32 pixels with batches of 128; the loop also reads, augments
and normalises every batch, draws the order, sets the rate, reports progress and writes a checkpoint
at the end of the epoch.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
import torch.nn.functional as F

from benchmarks.timing import side_by_side
from memoryless.images import from_arrays
from memoryless.lab.config import Config
from memoryless.progress import TrainingProgress
from memoryless.train.checkpoint import Checkpoint
from memoryless.train.learner import Learner, prepare
from memoryless.train.loop import StateTraining
from memoryless.train.strategies.base import Arrival

IMAGES, BATCH, CLASSES = 2560, 128, 10


def measure() -> dict[str, float]:
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (IMAGES, 3, 32, 32), dtype=np.uint8)
    labels = np.arange(IMAGES) % CLASSES
    dataset = from_arrays(pixels, labels, pixels, labels, augment=("pad_crop", "flip"))
    config = Config(width=16, epochs=1, batch_size=BATCH)
    preparation = prepare(config, dataset.train, dataset.image_size, dataset.augment)
    learner = Learner(config, 0, 3, preparation)

    generator = torch.Generator().manual_seed(0)
    learner.strategy.begin_state(
        Arrival(learner.network, dataset.train, CLASSES, learner.features, generator)
    )
    told: list[TrainingProgress] = []

    def loop() -> None:
        """One epoch of a first state, as `learn` trains it."""
        with TemporaryDirectory() as folder:
            StateTraining(
                learner.network,
                learner.strategy,
                preparation,
                config,
                seed=0,
                state=0,
                checkpoint=Checkpoint(Path(folder) / "training.safetensors"),
                report=told.append,
            ).run(dataset.train)

    network = Learner(config, 0, 3, preparation).network
    network.layer.grow(CLASSES, keep_rows=False, generator=torch.Generator())
    optimiser = torch.optim.SGD(
        network.parameters(), config.lr, config.momentum, weight_decay=config.weight_decay
    )
    images = preparation.test(torch.from_numpy(pixels[:BATCH]))
    truth = torch.from_numpy(labels[:BATCH])

    def bare() -> None:
        for _ in range(IMAGES // BATCH):
            optimiser.zero_grad()
            F.cross_entropy(network(images), truth).backward()
            optimiser.step()

    seconds = side_by_side({"bare": bare, "loop": loop}, rounds=5)
    rates = {f"{name} images/s": round(IMAGES / s, 1) for name, s in seconds.items()}
    return rates | {"loop / bare": round(seconds["bare"] / seconds["loop"], 3)}
