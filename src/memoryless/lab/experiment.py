"""A stream through a strategy: trains state by state, scores every method, writes run folders."""

from __future__ import annotations

import copy
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from msgspec import structs
from threadpoolctl import threadpool_limits
from torch import nn

from memoryless.errors import WriteError
from memoryless.images import Dataset
from memoryless.images.sources import load
from memoryless.lab.config import Config
from memoryless.lab.described import (
    Description,
    Durations,
    History,
    Machine,
    Preparation,
    Results,
    Sizes,
)
from memoryless.lab.estimate import check_memory, passes
from memoryless.lab.evaluate import score_methods
from memoryless.lab.runs import RunFolder, last_record, read_test
from memoryless.lab.stream import State, Stream
from memoryless.names import counted, utf8
from memoryless.progress import Observer
from memoryless.stats.heads import HEADS
from memoryless.stats.methods import (
    Method,
    grid_of,
    headline,
    lacking,
    methods_of,
    parse_method,
)
from memoryless.stats.record import EndOfState
from memoryless.stats.scorers import describe
from memoryless.store import LOCK, locked
from memoryless.strategies import SMALL_SIDE, STRATEGIES
from memoryless.tensors import as_tensors, to_bytes
from memoryless.train import augment
from memoryless.train.backbones import named_backbone
from memoryless.train.checkpoint import Checkpoint
from memoryless.train.features import compact
from memoryless.train.learner import Learned, Learner, prepare
from memoryless.train.loop import advice
from memoryless.train.strategies.base import Totals

NARROW = 8  # a width at which threads wait for each other more than they work


def set_threads(config: Config) -> None:
    """Let torch and NumPy use as many CPU threads as resolved settings say, or one for a narrow
    ResNet. Only a command may do so, since all of a program share them.
    """
    narrow = config.backbone.startswith("resnet18") and config.width <= NARROW
    number = config.threads or (1 if narrow else None)
    if number:
        number = min(number, os.cpu_count() or 1)
        torch.set_num_threads(number)
        threadpool_limits(number, user_api="blas")


def run(
    config: Config,
    dataset: Dataset | None = None,
    backbone: nn.Module | None = None,
    observer: Observer | None = None,
) -> list[Path]:
    """Run (or finish) the experiment for each of its seeds; return the run folders.

    `dataset` and `backbone` take the place of those the config names.
    """
    config = config.resolved(dataset.image_size if dataset else None)
    observer = observer or Observer()
    if dataset is None:
        dataset = load(config, partial(observer.working, "checking images"))
    for note in dataset.notes:
        observer.note(note)
    config, stream = in_states(config, dataset)
    observer.working("measuring colours")
    preparation = prepare(config, stream[0].train, dataset.image_size, dataset.augment, backbone)
    described = _described(config, stream, preparation, backbone)

    def opened(seed: int) -> RunFolder:
        """Return the seed's folder as it is now: another process may have written since."""
        folder = RunFolder(config.output / f"seed-{seed}")
        folder.verify(structs.replace(described, seed=seed))
        return folder

    begun = [opened(seed) for seed in config.seeds]
    photos = backbone is None and dataset.image_size > SMALL_SIDE
    if photos and not all(folder.complete for folder in begun):
        check_memory(config, dataset, stream)
    totals = Totals(len(dataset.classes), len(dataset.train))
    for seed in config.seeds:
        folder = opened(seed)
        if folder.complete:
            _leave_as_it_is(folder, len(stream), observer)
            continue
        with advice(config, folder.has_epochs):
            own = copy.deepcopy(backbone)
            learner = Learner(config, seed, dataset.channels, preparation, own, totals)
            learner.working = observer.working
        with locked(folder.path):
            folder = opened(seed).start(structs.replace(described, seed=seed))
            Run(learner, scored_in_run(config), stream, folder, observer).finish()
    return [folder.path for folder in begun]


def in_states(config: Config, dataset: Dataset) -> tuple[Config, Stream]:
    """Return an experiment's config and stream; joint training has one state."""
    if STRATEGIES[config.strategy].one_state:
        config = replace(config, states="1")
    return config, Stream(dataset, config.states, config.order)


def passes_left(config: Config, dataset: Dataset) -> int:
    """Return how many images the runs of all seeds have still to pass through the backbone."""
    config, stream = in_states(config.resolved(dataset.image_size), dataset)
    folders = [RunFolder(config.output / f"seed-{seed}") for seed in config.seeds]
    planned = list(map(sum, passes(config, stream)))
    return sum(sum(planned[folder.finished :]) for folder in folders)


def _described(
    config: Config, stream: Stream, preparation: augment.Preparation, backbone: nn.Module | None
) -> Description:
    """Return the description of a run, with seed 0."""
    dataset = stream.dataset
    return Description(
        config=config,
        seed=0,
        dataset=utf8(dataset.name),
        classes=stream.classes,
        sizes=stream.sizes,
        train_images=np.bincount(dataset.train.labels).tolist(),
        test_images=np.bincount(dataset.test.labels).tolist(),
        preparation=Preparation(**asdict(preparation)),
        memoryless=STRATEGIES[config.strategy].memoryless,
        backbone_class=type(backbone).__qualname__ if backbone else named_backbone(config),
        **provenance(),
    )


def provenance() -> dict[str, Any]:
    """Return how the run is made: versions, commit, command, machine."""
    packages = ("memoryless", "torch", "numpy", "pillow", "safetensors")
    return {
        "versions": {"python": platform.python_version()} | {p: version(p) for p in packages},
        "commit": _commit(),
        "command": [*map(utf8, (Path(sys.argv[0]).name, *sys.argv[1:]))],
        "machine": Machine(system=platform.platform(), cores=os.cpu_count()),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _commit() -> str | None:
    """Return the commit of the checkout this package runs from, if it runs from one."""
    checkout = Path(__file__).parents[3]
    if not (checkout / ".git").exists():
        return None
    command = ["git", "-C", str(checkout), "describe", "--always", "--dirty", "--abbrev=40"]
    try:
        answer = subprocess.run(
            [*command, "--exclude=*"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout.strip()


def _leave_as_it_is(folder: RunFolder, states: int, observer: Observer) -> None:
    """Remove the files that a kill at its end left in a complete run, if any."""
    observer.note(f"{folder.path}: {_standing(states, folder.finished)}")
    if folder.leftovers or (folder.path / LOCK).exists():
        with suppress(WriteError), locked(folder.path):
            folder.tidy()


def _standing(states: int, finished: int) -> str:
    """Return how far a run is when a command starts on it."""
    count = counted(states, "state", "states")
    if finished == states:
        return f"{count}, complete already"
    return f"{count}, {finished} of them learned already" if finished else count


def shown_methods(methods: Iterable[str]) -> list[str]:
    """Return the methods to print: the strategy itself, standardised rows, and the reference."""
    first = headline(methods)
    rows = [name for name in first if parse_method(name).head == "siw"]
    return list(dict.fromkeys([*first[:1], *rows, *first[-1:]]))


def scored_in_run(config: Config) -> dict[str, Method]:
    """Return the paper's methods and uncalibrated heads over statistics; others can be scored
    later without training.
    """
    plain = {
        name: m
        for name, m in grid_of(config.strategy).items()
        if m.calibration == "none"
        and (not HEADS[m.head].gives_logits or m.transport != "none")
        and not lacking(m, config)
    }
    asked = {name: parse_method(name) for name in config.methods}
    return methods_of(config.strategy) | plain | asked


@dataclass(frozen=True)
class Run:
    """One seed's run through a stream, which continues after the last finished state."""

    learner: Learner
    methods: Mapping[str, Method]
    stream: Stream
    folder: RunFolder
    observer: Observer

    def finish(self) -> None:
        """Learn the states that are not finished."""
        done = self.folder.finished
        self.folder.tidy()
        standing = _standing(len(self.stream), done)
        self.observer.note(f"{self.folder.path}: {standing}; top-1 in percent")
        self.observer.run_started(passes(self.learner.settings, self.stream), done)
        if 0 < done < len(self.stream):
            self._restore(done - 1)
        started = time.monotonic()
        for state in self.stream[done:]:
            results = self._learn(state)
            elapsed = timedelta(seconds=round(time.monotonic() - started))
            self._print_state(results, str(elapsed), heading=state.index == done)
            self.observer.state_finished(results)

    def _print_state(self, results: Results, elapsed: str, heading: bool) -> None:
        """Print the row of a state in a table of top-1 accuracies, below a heading if asked."""
        methods = results.methods
        top1 = {name: f"{methods[name].top1:.1f}" for name in shown_methods(methods)}
        cells = {"state": str(results.state), "classes": str(results.classes_seen), **top1}
        cells["elapsed"] = elapsed
        widths = [max(5, len(name)) for name in cells]
        for row in ([cells.keys()] if heading else []) + [cells.values()]:
            self.observer.note("  ".join(map(str.rjust, row, widths)))

    def _restore(self, t: int) -> None:
        """Put the learner where state t left it."""
        learner, images = self.learner, self.stream.dataset.train.images
        features = learner.record.W.shape[1]
        record = last_record(self.folder)
        with self.folder.fitting(t):
            learner.restore(as_tensors(self.folder.arrays(t, "network")), record, images)
            for rows in (learner.record.W, learner.layer[0]):
                if rows.shape[1] != features:
                    raise ValueError(f"rows of {rows.shape[1]} features, not {features}")

    def _learn(self, state: State) -> Results:
        learner = self.learner
        new = self.stream.sizes[state.index]
        checkpoint = Checkpoint(self.folder.checkpoint, self.folder.id)
        learned = learner.learn(state.train, new, checkpoint, self.observer.training)
        history = learned.history
        started = time.perf_counter()
        features = self._test_features(state)
        extracted = time.perf_counter()
        end = EndOfState(
            learner.record, learner.layer, learned.fitted, learned.held_out, learner.view
        )
        progress = partial(self.observer.working, "scores")
        scored = score_methods(features, state.test.labels, self.methods, end, progress)
        past = self.stream[: state.index + 1]
        results = Results(
            state=state.index,
            new_classes=new,
            classes_seen=state.past + new,
            train_images=len(state.train),
            test_images=len(state.test),
            history=History(**asdict(history)),
            seconds=Durations(
                training=sum(history.seconds),
                test_features=extracted - started,
                scoring=time.perf_counter() - extracted,
            ),
            bytes=Sizes(
                record=learner.record.ledger,
                images_not_kept=sum(s.train.stored_bytes for s in past),
            ),
            methods=scored,
        )
        tests = state.test.labels
        self.folder.commit(
            state.index,
            results,
            lambda draft: _write_state(draft, learner, learned, features, tests),
        )
        return results

    def _test_features(self, state: State) -> np.ndarray:
        """Return the test images' features; those of past classes are read back if they stay."""
        new = state.test.labels >= state.past
        if not (self.learner.facts.backbone_stays and state.index and new.any()):
            return compact(self.learner.all_features(state.test))
        before, _ = read_test(self.folder, state.index - 1)
        added = compact(self.learner.all_features(state.test.take(new)))
        kind = np.promote_types(before.dtype, added.dtype)
        features = np.empty((len(new), before.shape[1]), kind)
        features[new], features[~new] = added, before
        return features


def _write_state(
    folder: Path,
    learner: Learner,
    learned: Learned,
    features: np.ndarray,
    labels: np.ndarray,
) -> None:
    """Write all files of a state but its results."""

    def write(
        name: str, tensors: Mapping[str, Any], facts: Mapping[str, Any] | None = None
    ) -> None:
        (folder / f"{name}.safetensors").write_bytes(to_bytes(tensors, facts))

    W, b = learner.layer
    write("rows", learner.record.basics.arrays())
    write("record", learner.record.arrays())
    write("layer", {"W": W, "b": b})
    write("test", {"features": features, "labels": labels})
    write("network", learner.tensors())
    if learned.birth:
        born = {f"birth.{name}": part for name, part in learned.birth.arrays().items()}
        moved = {f"drift.{name}": part for name, part in (learned.drift or {}).items()}
        write("birth", born | moved)
    if learned.fitted:
        described = {name: describe(scorer) for name, scorer in learned.fitted.items()}
        arrays = {f"{n}.{p}": a for n, (_, parts) in described.items() for p, a in parts.items()}
        write("fitted", arrays, {name: kind for name, (kind, _) in described.items()})
    if learned.held_out:
        held, truth = learned.held_out
        write("held_out", {"features": held, "labels": truth})
