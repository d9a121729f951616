"""A stream through a strategy: trains state by state, scores every method, writes run folders."""

from __future__ import annotations

import copy
import os
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from memoryless.backbones import BACKBONES
from memoryless.config import Config
from memoryless.data import SOURCES, Dataset, load
from memoryless.data.augment import AUGMENTATIONS
from memoryless.errors import ConfigError, choose
from memoryless.learner import Learner, prepare
from memoryless.methods import methods_of
from memoryless.record import Record
from memoryless.runs import RunFolder
from memoryless.schedules import LR_RULES, SCHEDULES, epochs_of
from memoryless.scoring import score_methods
from memoryless.store import commit_folder, read_tensors, write_json, write_tensors
from memoryless.strategies import STRATEGIES, Totals
from memoryless.stream import State, Stream
from memoryless.training import Progress, advice, pick_device

FLOAT16_MAX = torch.finfo(torch.float16).max


class Observer:
    """Told how an experiment goes on; by default it stays silent."""

    def data_loaded(self, dataset: Dataset) -> None: ...

    def run_started(self, folder: Path, work: list[int], finished: int) -> None:
        """`work` is the images to train on in each state, all epochs."""

    def training(self, progress: Progress) -> None: ...

    def state_finished(self, results: dict[str, Any]) -> None: ...


def check(config: Config) -> None:
    """Every name of a config, before anything is loaded; all wrong ones in one error."""
    problems = []
    names: list[tuple[str, str, Any]] = [
        ("data set", config.data, SOURCES),
        ("strategy", config.strategy, STRATEGIES),
        ("schedule", config.schedule, SCHEDULES),
        ("lr_rule", config.lr_rule, LR_RULES),
        *(("augmentation", name, AUGMENTATIONS) for name in config.augment or ()),
    ]
    if not config.backbone.startswith("timm:"):
        names.append(("backbone", config.backbone, BACKBONES))
    for kind, name, table in names:
        try:
            choose(kind, name, table)
        except ConfigError as error:
            problems.append(str(error))
    if config.data == "folder" and config.root:
        root = config.root.resolve()
        if config.output.resolve().is_relative_to(root):
            problems.append(f"output {config.output} lies in the folder of images: move it outside")
    if problems:
        raise ConfigError("; ".join(problems))
    pick_device(config.device)


def run(
    config: Config,
    dataset: Dataset | None = None,
    backbone: nn.Module | None = None,
    observer: Observer | None = None,
) -> list[Path]:
    """Run (or finish) the experiment for each of its seeds; gives the run folders.

    `dataset` and `backbone` take the place of those the config names.
    """
    check(config)
    if config.threads:
        torch.set_num_threads(min(config.threads, os.cpu_count() or 1))
    observer = observer or Observer()
    dataset = dataset or load(config)
    observer.data_loaded(dataset)
    if STRATEGIES[config.strategy].one_state:
        config = replace(config, states="1")
    stream = Stream.from_config(dataset, config)
    preparation = prepare(config, dataset, stream[0].train)
    facts = {
        "dataset": dataset.name,
        "classes": stream.classes,
        "sizes": stream.sizes,
        "train_images": np.bincount(dataset.train.labels).tolist(),
        "test_images": np.bincount(dataset.test.labels).tolist(),
        "preparation": asdict(preparation),
        "memoryless": STRATEGIES[config.strategy].memoryless,
        "backbone_class": type(backbone).__qualname__ if backbone else config.backbone,
    }
    folders = [RunFolder(config.output / f"seed-{seed}") for seed in config.seeds]
    for folder in folders:
        folder.verify(config.to_dict(), facts)
    totals = Totals(len(dataset.classes), len(dataset.train))
    for seed, folder in zip(config.seeds, folders, strict=True):
        with advice(config):
            own = copy.deepcopy(backbone)
            learner = Learner(config, seed, dataset.channels, preparation, own, totals)
        folder.start(config.to_dict(), seed, facts)
        Run(learner, stream, folder, observer).finish()
    return [folder.path for folder in folders]


@dataclass(frozen=True)
class Run:
    """One seed's way through a stream, from wherever its folder stands."""

    learner: Learner
    stream: Stream
    folder: RunFolder
    observer: Observer

    def finish(self) -> None:
        """Learn the states that are not committed yet."""
        done = self.folder.finished
        work = [epochs_of(self.learner.config, s.index) * len(s.train) for s in self.stream]
        self.folder.tidy()
        self.observer.run_started(self.folder.path, work, done)
        if 0 < done < len(self.stream):
            last = self.folder.state(done - 1)
            tensors, _ = read_tensors(last / "network.safetensors")
            record = Record.load(last / "record.safetensors")
            self.learner.restore(tensors, record, self.stream.dataset.train.images)
        for state in self.stream[done:]:
            self.observer.state_finished(self._learn(state))

    def _learn(self, state: State) -> dict[str, Any]:
        learner = self.learner
        new = self.stream.sizes[state.index]
        history = learner.learn(state.train, new, self.folder.checkpoint, self.observer.training)
        started = time.perf_counter()
        features = _compact(learner.features(state.test))
        extracted = time.perf_counter()
        labels = torch.from_numpy(state.test.labels)
        methods = methods_of(learner.config.strategy)
        scored = score_methods(features, labels, methods, learner.record, learner.layer)
        past = self.stream[: state.index + 1]
        results = {
            "state": state.index,
            "new_classes": new,
            "classes_seen": state.first_new + new,
            "train_images": len(state.train),
            "test_images": len(state.test),
            "history": asdict(history),
            "seconds": {
                "training": sum(history.seconds),
                "test_features": extracted - started,
                "scoring": time.perf_counter() - extracted,
            },
            "bytes": {
                "record": learner.record.ledger,
                "images_not_kept": sum(s.train.stored_bytes for s in past),
            },
            "methods": scored,
        }
        self._commit(state, features, results)
        return results

    def _commit(self, state: State, features: Tensor, results: dict[str, Any]) -> None:
        learner, labels = self.learner, torch.from_numpy(state.test.labels)

        def fill(draft: Path) -> None:
            W, b = learner.layer
            learner.record.save(draft / "record.safetensors")
            write_tensors(draft / "layer.safetensors", {"W": W, "b": b})
            write_tensors(draft / "test.safetensors", {"features": features, "labels": labels})
            write_tensors(draft / "network.safetensors", learner.tensors())
            write_json(draft / "results.json", results)

        commit_folder(self.folder.state(state.index), fill)
        self.folder.checkpoint.unlink(missing_ok=True)
        self.folder.tidy()


def _compact(features: Tensor) -> Tensor:
    """float16 where the values fit: what is scored is what is stored."""
    return features.half() if features.abs().max() < FLOAT16_MAX else features
