"""The one training loop: only here is `backward()` called.

An epoch is a pure function of (seed, state, epoch) and the tensors it starts from, and those are
saved after each one: a state killed anywhere goes on from its last finished epoch.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass, field
from typing import cast

import torch
from torch import Tensor

from memoryless.errors import DataError, TrainingError, cause
from memoryless.images import Split
from memoryless.progress import TrainingProgress
from memoryless.randomness import derive, numpy_generator
from memoryless.settings import TrainingSettings
from memoryless.tensors import as_tensors, part, prefixed
from memoryless.train.augment import Preparation
from memoryless.train.batches import batches
from memoryless.train.checkpoint import Checkpoint
from memoryless.train.network import Network, device_of
from memoryless.train.randomness import seeded, torch_generator
from memoryless.train.schedules import epochs_of, learning_rate
from memoryless.train.strategies.base import Trainer

SECONDS_BETWEEN_REPORTS = 0.2
LOWER = "lower `lr`, or use `precision=float32`"
LESS = "lower `batch_size`, `width` or `image_size`, or take `backbone=resnet18` for large images"
# Once an epoch is finished, a run does not go on under other settings.
ELSEWHERE = ", and choose another `output`"
LOWER_RATE = LOWER + ELSEWHERE


Report = Callable[[TrainingProgress], None]


@dataclass
class History:
    """Numbers of a state's training, one entry an epoch."""

    loss: list[float] = field(default_factory=list)
    watched: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    images: list[int] = field(default_factory=list)


def autocast(config: TrainingSettings, device: torch.device) -> AbstractContextManager[None]:
    """Compute in the precision of the settings within the block."""
    return torch.autocast(device.type, torch.bfloat16, enabled=config.precision == "bfloat16")


@contextmanager
def advice(config: TrainingSettings, begun: bool = False) -> Iterator[None]:
    """Turn a failed allocation, which torch reports in many ways, or a failed compile into advice.

    `begun` says that an epoch was finished with these settings.
    """
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, MemoryError) or "memory" in str(error):
            raise TrainingError(
                f"there is not enough memory to train with batches of {config.batch_size}: {LESS}"
                f"{ELSEWHERE if begun else ''}"
            ) from error
        if config.compile:
            raise TrainingError(
                f"torch.compile failed ({cause(error)}): leave out `compile`"
            ) from error
        raise


@dataclass
class StateTraining:
    """One state's training; `run` resumes from `checkpoint` if that holds epochs of this state."""

    network: Network
    strategy: Trainer
    preparation: Preparation | None
    """None where the loop trains on features, which need none."""
    config: TrainingSettings
    seed: int
    state: int
    checkpoint: Checkpoint | None = None
    report: Report = lambda progress: None

    def run(self, train: Split, held_out: Split | None = None) -> History:
        if len(train) < 2:
            raise DataError(
                f"state {self.state} has {len(train)} images to train on, and needs at least 2"
            )
        self.device = device_of(self.network)
        self.parameters = self.strategy.parameters(self.network)
        self.optimiser = torch.optim.SGD(
            self.parameters.values(),
            lr=self.config.lr,
            momentum=self.config.momentum,
            weight_decay=self.config.weight_decay,
        )
        compiled = torch.compile(self.network) if self.config.compile else self.network
        self.model = cast("Network", compiled)
        self.history = self._resume()
        for epoch in range(len(self.history.loss), epochs_of(self.config, self.state)):
            with advice(self.config, self._begun):
                started = time.perf_counter()
                with seeded(derive(self.seed, self.state, epoch, "dropout")):
                    loss = self._train_epoch(epoch, train)
                watched = self._evaluate(held_out) if held_out else loss
                self._check_finite(epoch, watched)
                seconds = time.perf_counter() - started
                self._finish_epoch(loss, watched, seconds, len(train))
        return self.history

    @property
    def _begun(self) -> bool:
        return bool(self.state or self.history.loss)

    def _train_epoch(self, epoch: int, split: Split) -> float:
        self.strategy.train_mode(self.model)
        order = numpy_generator(self.seed, self.state, epoch, "order").permutation(len(split))
        generator = torch_generator(self.seed, self.state, epoch, "augmentation")
        total = torch.zeros((), device=self.device)
        done, started, reported = 0, time.perf_counter(), 0.0
        for images, labels in batches(split, self.config.batch_size, order):
            self._set_rate(epoch + done / len(split))
            total += self._step(images, labels, generator) * len(labels)
            done += len(labels)
            now = time.perf_counter()
            if now - reported > SECONDS_BETWEEN_REPORTS or done == len(
                split
            ):  # reading total waits
                loss, reported = total.item() / done, now
                self._check_finite(epoch, loss)
                self._report(epoch, done / len(split), loss, done / (now - started))
        return loss

    def _step(self, images: Tensor, labels: Tensor, generator: torch.Generator) -> Tensor:
        prepared = self._prepare(images, generator)
        with autocast(self.config, self.device):
            loss = self.strategy.loss(self.model, prepared, labels.to(self.device))
        self.optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]  # torch gives it no types
        self.optimiser.step()
        return loss.detach()

    def _prepare(self, images: Tensor, generator: torch.Generator | None = None) -> Tensor:
        images = images.to(self.device)
        if self.preparation is None:
            return images
        return (
            self.preparation.train(images, generator)
            if generator
            else self.preparation.test(images)
        )

    def _evaluate(self, split: Split) -> float:
        self.model.eval()
        total = 0.0
        with torch.no_grad(), autocast(self.config, self.device):
            for images, labels in batches(split, self.config.batch_size):
                loss = self.strategy.loss(self.model, self._prepare(images), labels.to(self.device))
                total += loss.item() * len(labels)
        return total / len(split)

    def _set_rate(self, epoch: float) -> None:
        rate = learning_rate(self.config, self.state, epoch, self.history.watched)
        for group in self.optimiser.param_groups:
            group["lr"] = rate

    def _report(self, epoch: int, share: float, loss: float, rate: float) -> None:
        epochs = epochs_of(self.config, self.state)
        self.report(
            TrainingProgress(self.state, epoch, epochs, (epoch + share) / epochs, loss, rate)
        )

    def _check_finite(self, epoch: int, loss: float) -> None:
        if not math.isfinite(loss):
            raise TrainingError(
                f"the loss of state {self.state} became {loss} in epoch {epoch}: "
                f"{LOWER_RATE if self._begun else LOWER}"
            )

    def _finish_epoch(self, loss: float, watched: float, seconds: float, images: int) -> None:
        self.history.loss.append(loss)
        self.history.watched.append(watched)
        self.history.seconds.append(seconds)
        self.history.images.append(images)
        if self.checkpoint:
            facts = {"state": self.state, **asdict(self.history)}
            self.checkpoint.write(self._tensors(), facts)

    def _tensors(self) -> dict[str, Tensor]:
        momentum = {
            name: self.optimiser.state[p]["momentum_buffer"]
            for name, p in self.parameters.items()
            if self.optimiser.state[p].get("momentum_buffer") is not None
        }
        return prefixed("network.", self.network.state_dict()) | prefixed("momentum.", momentum)

    def _resume(self) -> History:
        """Restore the finished epochs of this state; returns their numbers, or none."""
        if not self.checkpoint:
            return History()
        arrays, facts = self.checkpoint.read()
        tensors = as_tensors(arrays)
        momentum = part(tensors, "momentum.")
        if facts.pop("state", None) != self.state or not self._fits(tensors, momentum):
            return History()
        self.network.load_state_dict(part(tensors, "network."))
        for name, buffer in momentum.items():
            self.optimiser.state[self.parameters[name]]["momentum_buffer"] = buffer.to(self.device)
        return History(**facts)

    def _fits(self, tensors: dict[str, Tensor], momentum: dict[str, Tensor]) -> bool:
        """Return whether a checkpoint belongs to this network; another version may have made it."""
        moved = {name: p for name, p in self.parameters.items() if name in momentum}
        wanted = prefixed("network.", self.network.state_dict()) | prefixed("momentum.", moved)
        shapes = ({n: (t.shape, t.dtype) for n, t in side.items()} for side in (wanted, tensors))
        return next(shapes) == next(shapes)
