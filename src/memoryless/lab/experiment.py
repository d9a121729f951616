"""A stream through a strategy: trains state by state, scores every method, writes run folders."""

from __future__ import annotations

import copy
import os
import time
from contextlib import suppress
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
from memoryless.errors import ConfigError, StoreError, WriteError
from memoryless.features import compact
from memoryless.heads import ROW_HEADS
from memoryless.inference import Kept
from memoryless.lab.run_format import MEND
from memoryless.lab.runs import RunFolder
from memoryless.lab.scoring import score_methods
from memoryless.lab.states import last_record, write_state
from memoryless.lab.stream import State, Stream
from memoryless.learner import NO_STAGES, Learned, Learner, prepare
from memoryless.methods import Method, grid_of, lacking, methods_of, parse_method
from memoryless.names import choose
from memoryless.schedules import LR_RULES, SCHEDULES, epochs_of
from memoryless.statistics import check_form
from memoryless.store import commit_folder, locked, write_json
from memoryless.strategies import STRATEGIES, Totals
from memoryless.training import Checkpoint, Progress, advice, pick_device
from memoryless.transports import TRANSPORTS


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
        *(("transport", name, TRANSPORTS) for name in config.transports),
    ]
    if not config.backbone.startswith("timm:"):
        names.append(("backbone", config.backbone, BACKBONES))
    for kind, name, table in names:
        try:
            choose(kind, name, table)
        except ConfigError as error:
            problems.append(str(error))
    try:
        check_form(config.statistics)
    except ConfigError as error:
        problems.append(str(error))
    problems += [problem for name in config.methods for problem in _problems(name, config)]
    if config.level == "middle" and config.backbone.startswith("timm:"):
        problems.append(NO_STAGES)
    if config.projection and config.strategy != "frozen":
        problems.append("projection needs a backbone that stays as it is: --strategy frozen")
    if config.data == "folder" and config.root:
        root = config.root.resolve()
        if config.output.resolve().is_relative_to(root):
            problems.append(f"output {config.output} lies in the folder of images: move it outside")
    if problems:
        raise ConfigError("; ".join(problems))
    pick_device(config.device)


def _problems(name: str, config: Config) -> list[str]:
    """What is wrong with a method that is to be scored in a run."""
    try:
        method = parse_method(name)
    except ConfigError as error:
        return [str(error)]
    lack = lacking(method, config.to_dict())
    problems = [f"method {name} reads what is not kept: {lack}"] if lack else []
    if method.strategy != config.strategy:
        problems.append(f"method {name} is not of the strategy {config.strategy}")
    return problems


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

    def opened(seed: int) -> RunFolder:
        """The seed's folder as it is now: another process may have written since."""
        folder = RunFolder(config.output / f"seed-{seed}")
        folder.verify(config.to_dict(), facts | {"seed": seed})
        return folder

    folders = [opened(seed) for seed in config.seeds]
    totals = Totals(len(dataset.classes), len(dataset.train))
    for seed in config.seeds:
        folder = opened(seed)
        if folder.complete:
            _leave_as_it_is(folder, _work(config, stream), observer)
            continue
        with advice(config, folder.has_epochs):
            own = copy.deepcopy(backbone)
            learner = Learner(config, seed, dataset.channels, preparation, own, totals)
        with locked(folder.path):
            folder = opened(seed)
            folder.start(config.to_dict(), facts | {"seed": seed})
            Run(learner, stream, folder, observer).finish()
    return [folder.path for folder in folders]


def _work(config: Config, stream: Stream) -> list[int]:
    """Images to train on in each state, all epochs."""
    return [epochs_of(config, state.index) * len(state.train) for state in stream]


def _leave_as_it_is(folder: RunFolder, work: list[int], observer: Observer) -> None:
    """A complete run needs no lock and no write, but to remove what a kill at its end left."""
    observer.run_started(folder.path, work, folder.finished)
    if folder.leftovers:
        with suppress(WriteError), locked(folder.path):
            folder.tidy()


def scored_in_run(config: Config) -> dict[str, Method]:
    """The paper's methods, and what statistics add to them, uncalibrated; others can be had later
    without training.
    """
    settings = config.to_dict()
    plain = {
        name: m
        for name, m in grid_of(config.strategy).items()
        if m.calibration == "none"
        and (m.head not in ROW_HEADS or m.transport != "none")
        and not lacking(m, settings)
    }
    asked = {name: parse_method(name) for name in config.methods}
    return methods_of(config.strategy) | plain | asked


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
        self.folder.tidy()
        work = _work(self.learner.config, self.stream)
        self.observer.run_started(self.folder.path, work, done)
        if 0 < done < len(self.stream):
            self._restore(done - 1)
        for state in self.stream[done:]:
            self.observer.state_finished(self._learn(state))

    def _restore(self, t: int) -> None:
        """Put the learner where state t left it."""
        learner, images = self.learner, self.stream.dataset.train.images
        features = learner.record.W.shape[1]
        try:
            learner.restore(self.folder.tensors(t, "network"), last_record(self.folder), images)
            for rows in (learner.record.W, learner.layer[0]):
                if rows.shape[1] != features:
                    raise ValueError(f"rows of {rows.shape[1]} features, not {features}")
        except (RuntimeError, KeyError, IndexError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise StoreError(f"{self.folder.state(t)} does not fit ({reason}): {MEND}") from error

    def _learn(self, state: State) -> dict[str, Any]:
        learner = self.learner
        new = self.stream.sizes[state.index]
        file = self.folder.checkpoint
        checkpoint = Checkpoint(file, self.folder.place(file.name))
        learned = learner.learn(state.train, new, checkpoint, self.observer.training)
        history = learned.history
        started = time.perf_counter()
        features = compact(learner.all_features(state.test))
        extracted = time.perf_counter()
        labels = torch.from_numpy(state.test.labels)
        kept = Kept(
            learner.record, learner.layer, learned.fitted, learned.held_out, learner.reading
        )
        scored = score_methods(features, labels, scored_in_run(learner.config), kept)
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
        self._commit(state, learned, features, results)
        return results

    def _commit(
        self, state: State, learned: Learned, features: Tensor, results: dict[str, Any]
    ) -> None:
        folder, t = self.folder, state.index
        labels = torch.from_numpy(state.test.labels)

        def place(name: str) -> str:
            return folder.place(name, t)

        def fill(draft: Path) -> None:
            write_state(draft, place, self.learner, learned, features, labels)
            files = {path.name: path.stat().st_size for path in sorted(draft.iterdir())}
            write_json(
                draft / "results.json", results | {"files": files}, bound=place("results.json")
            )

        commit_folder(folder.state(t), fill)
        folder.checkpoint.unlink(missing_ok=True)
        folder.tidy()
