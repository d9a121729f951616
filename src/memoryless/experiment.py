"""A stream through a strategy: trains state by state, scores every method, writes run folders."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import nn

from memoryless.backbones import BACKBONES
from memoryless.config import Config
from memoryless.data import SOURCES, Dataset, load
from memoryless.data.augment import AUGMENTATIONS, Preparation
from memoryless.errors import ConfigError, choose
from memoryless.inference import Outcome, method_layer, score
from memoryless.learner import Learner, prepare
from memoryless.methods import methods_of
from memoryless.metrics import accuracy_at, accuracy_by_state, error_typology
from memoryless.record import Record
from memoryless.runs import RunFolder
from memoryless.schedules import LR_RULES, SCHEDULES, epochs_of
from memoryless.store import commit_folder, read_tensors, write_json, write_tensors
from memoryless.strategies import STRATEGIES
from memoryless.stream import State, Stream
from memoryless.training import Progress, pick_device

FLOAT16_MAX = torch.finfo(torch.float16).max


class Observer:
    """Told how an experiment goes on; by default it stays silent."""

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
    dataset = dataset or load(config)
    stream = Stream.from_config(dataset, config)
    preparation = prepare(config, dataset, stream[0].train)
    folders = []
    for seed in config.seeds:
        folder = RunFolder(config.output / f"seed-{seed}")
        _run_seed(config, seed, stream, preparation, backbone, folder, observer or Observer())
        folders.append(folder.path)
    return folders


def _run_seed(
    config: Config,
    seed: int,
    stream: Stream,
    preparation: Preparation,
    backbone: nn.Module | None,
    folder: RunFolder,
    observer: Observer,
) -> None:
    facts = {
        "dataset": stream.dataset.name,
        "classes": stream.classes,
        "sizes": stream.sizes,
        "channels": stream.dataset.channels,
        "preparation": asdict(preparation),
        "notes": stream.dataset.notes,
        "backbone_class": type(backbone).__qualname__ if backbone else config.backbone,
    }
    folder.open(config.to_dict(), seed, facts)
    learner = Learner(config, seed, stream.dataset.channels, preparation, backbone)
    done = folder.finished
    work = [epochs_of(config, t) * len(stream[t].train) for t in range(len(stream))]
    observer.run_started(folder.path, work, done)
    if 0 < done < len(stream):
        last = folder.state(done - 1)
        learner.restore(
            read_tensors(last / "network.safetensors")[0], Record.load(last / "record.safetensors")
        )
    for state in stream[done:]:
        observer.state_finished(_run_state(learner, state, stream, folder, observer))


def _run_state(
    learner: Learner, state: State, stream: Stream, folder: RunFolder, observer: Observer
) -> dict[str, Any]:
    new = stream.sizes[state.index]
    history = learner.learn(state.train, new, folder.checkpoint, observer.training)
    started = time.perf_counter()
    features = _compact(learner.features(state.test))
    extracted = time.perf_counter()
    labels = torch.from_numpy(state.test.labels)
    layers = {
        name: method_layer(method, learner.record, learner.layer)
        for name, method in methods_of(learner.config.strategy).items()
    }
    outcomes = score(features, labels, layers)
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
            "images_not_kept": sum(s.train.stored_bytes for s in stream[: state.index + 1]),
        },
        "methods": {name: figures(o, state, learner.record) for name, o in outcomes.items()},
    }

    def fill(draft: Path) -> None:
        W, b = learner.layer
        learner.record.save(draft / "record.safetensors")
        write_tensors(draft / "layer.safetensors", {"W": W, "b": b})
        write_tensors(draft / "test.safetensors", {"features": features, "labels": labels})
        write_tensors(draft / "network.safetensors", learner.network.state_dict())
        write_json(draft / "results.json", results)

    commit_folder(folder.state(state.index), fill)
    folder.checkpoint.unlink(missing_ok=True)
    if state.index:
        (folder.state(state.index - 1) / "network.safetensors").unlink(missing_ok=True)
    return results


def _compact(features: torch.Tensor) -> torch.Tensor:
    """float16 where the values fit: what is scored is what is stored."""
    return features.half() if features.abs().max() < FLOAT16_MAX else features


def figures(outcome: Outcome, state: State, record: Record) -> dict[str, Any]:
    """One method's figures after one state, in percent."""
    labels, seen = state.test.labels, len(record.b)
    return {
        "top1": accuracy_at(outcome.ranks, 1),
        "top5": accuracy_at(outcome.ranks, min(5, seen)),
        "typology": error_typology(outcome.predictions, labels, state.first_new),
        "by_state": accuracy_by_state(outcome.predictions, labels, record.class_state),
    }
