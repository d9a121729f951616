"""A stream through a strategy: trains state by state, scores every method, writes run folders."""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from memoryless.build import EndOfState
from memoryless.data import Dataset, load
from memoryless.features import compact
from memoryless.heads import HEADS
from memoryless.lab.config import Config
from memoryless.lab.counting import score_methods
from memoryless.lab.runs import RunFolder
from memoryless.lab.states import last_record, write_state
from memoryless.lab.stream import State, Stream
from memoryless.learner import Learned, Learner, prepare
from memoryless.methods import Method, grid_of, lacking, methods_of, parse_method
from memoryless.schedules import epochs_of
from memoryless.store import commit_folder, read_tensors, write_json
from memoryless.strategies import STRATEGIES, Totals
from memoryless.training import Progress, advice


class Observer:
    """Told how an experiment goes on; by default it stays silent."""

    def data_loaded(self, dataset: Dataset) -> None: ...

    def run_started(self, folder: Path, work: list[int], finished: int) -> None:
        """`work` is the images to train on in each state, all epochs."""

    def training(self, progress: Progress) -> None: ...

    def state_finished(self, results: dict[str, Any]) -> None: ...


def run(
    config: Config,
    dataset: Dataset | None = None,
    backbone: nn.Module | None = None,
    observer: Observer | None = None,
) -> list[Path]:
    """Run (or finish) the experiment for each of its seeds; gives the run folders.

    `dataset` and `backbone` take the place of those the config names.
    """
    config = config.resolved(dataset.image_size if dataset else None)
    observer = observer or Observer()
    dataset = dataset or load(config)
    observer.data_loaded(dataset)
    if STRATEGIES[config.strategy].one_state:
        config = replace(config, states="1")
    stream = Stream.from_config(dataset, config)
    preparation = prepare(config, stream[0].train, dataset.image_size, dataset.augment)
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
        Run(learner, scored_in_run(config), stream, folder, observer).finish()
    return [folder.path for folder in folders]


def scored_in_run(config: Config) -> dict[str, Method]:
    """The paper's methods, and what statistics add to them, uncalibrated; others can be had later
    without training.
    """
    settings = config.to_dict()
    plain = {
        name: m
        for name, m in grid_of(config.strategy).items()
        if m.calibration == "none"
        and (not HEADS[m.head].gives_logits or m.transport != "none")
        and not lacking(m, settings)
    }
    asked = {name: parse_method(name) for name in config.methods}
    return methods_of(config.strategy) | plain | asked


@dataclass(frozen=True)
class Run:
    """One seed's way through a stream, from wherever its folder stands."""

    learner: Learner
    methods: Mapping[str, Method]
    stream: Stream
    folder: RunFolder
    observer: Observer

    def finish(self) -> None:
        """Learn the states that are not committed yet."""
        done = self.folder.finished
        work = [epochs_of(self.learner.settings, s.index) * len(s.train) for s in self.stream]
        self.folder.tidy()
        self.observer.run_started(self.folder.path, work, done)
        if 0 < done < len(self.stream):
            tensors, _ = read_tensors(self.folder.state(done - 1) / "network.safetensors")
            images = self.stream.dataset.train.images
            self.learner.restore(tensors, last_record(self.folder), images)
        for state in self.stream[done:]:
            self.observer.state_finished(self._learn(state))

    def _learn(self, state: State) -> dict[str, Any]:
        learner = self.learner
        new = self.stream.sizes[state.index]
        learned = learner.learn(state.train, new, self.folder.checkpoint, self.observer.training)
        history = learned.history
        started = time.perf_counter()
        features = compact(learner.all_features(state.test))
        extracted = time.perf_counter()
        labels = torch.from_numpy(state.test.labels)
        end = EndOfState(
            learner.record, learner.layer, learned.fitted, learned.held_out, learner.view
        )
        scored = score_methods(features, labels, self.methods, end)
        past = self.stream[: state.index + 1]
        results = {
            "state": state.index,
            "new_classes": new,
            "classes_seen": state.past + new,
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
        self._commit(state, learned, features, results)
        return results

    def _commit(
        self, state: State, learned: Learned, features: Tensor, results: dict[str, Any]
    ) -> None:
        labels = torch.from_numpy(state.test.labels)

        def fill(draft: Path) -> None:
            write_state(draft, self.learner, learned, features, labels)
            write_json(draft / "results.json", results)

        commit_folder(self.folder.state(state.index), fill)
        self.folder.checkpoint.unlink(missing_ok=True)
        self.folder.tidy()
