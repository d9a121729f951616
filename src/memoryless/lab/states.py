"""What a finished state leaves in its folder, and what methods are made of again from it.

record.safetensors      rows, biases, states and mu: what every strategy keeps
statistics.safetensors  the record's class statistics under every transport, of the last state only
birth.safetensors       statistics of the state's own classes, and how features moved in the state
fitted.safetensors      heads that were fitted while the state's images were there
held_out.safetensors    features of current images that were held out from training
layer.safetensors       the classification layer as trained
test.safetensors        features and labels of the test images of all classes so far
network.safetensors     the whole network, of the last state only

All but the first two are for the laboratory. Statistics of earlier states are composed of births
and drifts, so a run's folder does not hold every class's covariance in every state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from memoryless.heads import projected
from memoryless.inference import Kept
from memoryless.lab.runs import RunFolder
from memoryless.learner import Learned, Learner
from memoryless.record import Record
from memoryless.scorers import Linear, Projected, Scorer
from memoryless.statistics import Reading, Statistics
from memoryless.store import read_tensors, write_tensors
from memoryless.transports import TRANSPORTS, Drift

DRIFTS = ("linear", "backward", "residual", "sdc")


def write_state(
    folder: Path, learner: Learner, learned: Learned, features: Tensor, labels: Tensor
) -> None:
    """Everything that a state leaves but its results."""
    W, b = learner.layer
    learner.record.basics.save(folder / "record.safetensors")
    write_tensors(folder / "layer.safetensors", {"W": W, "b": b})
    write_tensors(folder / "test.safetensors", {"features": features, "labels": labels})
    write_tensors(folder / "network.safetensors", learner.tensors())
    if learned.birth:
        moved = {name: getattr(learned.drift, name, None) for name in DRIFTS}
        born = {f"birth.{name}": part for name, part in learned.birth.tensors().items()}
        drifts = {name: part for name, part in moved.items() if part is not None}
        write_tensors(folder / "birth.safetensors", born | drifts)
    if learned.birth or learner.record.projection:
        learner.record.save(folder / "statistics.safetensors")
    if learned.fitted:
        parts = {n: part for name, s in learned.fitted.items() for n, part in _parts(name, s)}
        write_tensors(folder / "fitted.safetensors", parts)
    if learned.held_out:
        held, truth = learned.held_out
        write_tensors(folder / "held_out.safetensors", {"features": held, "labels": truth})


def _parts(name: str, scorer: Scorer) -> list[tuple[str, Tensor]]:
    if isinstance(scorer, Projected):  # its directions are drawn again
        size = torch.tensor(len(scorer.directions))
        return [(f"{name}.W", scorer.over.W), (f"{name}.features", size)]
    assert isinstance(scorer, Linear)
    return [(f"{name}.W", scorer.W), (f"{name}.b", scorer.b)]


def last_record(run: RunFolder) -> Record:
    """The record of the last finished state, with all its parts."""
    folder = run.state(run.finished - 1)
    whole = folder / "statistics.safetensors"
    return Record.load(whole if whole.exists() else folder / "record.safetensors")


def composable(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The transports that births and drifts can give, whatever the record held.

    But sdc is a path of means that must have been followed, and older runs have no residuals.
    """
    must = ("sdc", "widened")
    return tuple(t for t in TRANSPORTS if t not in must or t in config["transports"])


def kept_states(run: RunFolder) -> Iterator[Kept]:
    """What each finished state kept, statistics composed of births and drifts."""
    before: Record | None = None
    for t in range(run.finished):
        folder = run.state(t)
        record = Record.load(folder / "record.safetensors")
        if (folder / "birth.safetensors").exists():
            parts, _ = read_tensors(folder / "birth.safetensors")
            drift = Drift(**{n: parts[n] for n in DRIFTS if n in parts}) if before else None
            birth = {n.removeprefix("birth."): p for n, p in parts.items() if n not in DRIFTS}
            if before:
                record = replace(record, statistics=before.statistics, moved=before.moved)
            record = record.carry(Statistics(**birth), drift, composable(run.about["config"]))
        if t == run.finished - 1 and run.about["config"]["projection"]:  # kept by the last only
            record = replace(record, projection=last_record(run).projection)
        before = record
        yield _kept(run, t, record)


def last_kept(run: RunFolder) -> Kept:
    """What the last finished state kept."""
    return _kept(run, run.finished - 1, last_record(run))


def _kept(run: RunFolder, t: int, record: Record) -> Kept:
    folder = run.state(t)
    layer, _ = read_tensors(folder / "layer.safetensors")
    fitted, held_out = _fitted(folder, record), _held_out(folder)
    reading = Reading.of(run.about["config"], record.W.shape[1])
    return Kept(record, (layer["W"], layer["b"]), fitted, held_out, reading)


def read_test(run: RunFolder, t: int) -> tuple[Tensor, Tensor]:
    """Features and labels of the test images after state t."""
    test, _ = read_tensors(run.state(t) / "test.safetensors")
    return test["features"], test["labels"]


def _held_out(folder: Path) -> tuple[Tensor, Tensor] | None:
    if not (folder / "held_out.safetensors").exists():
        return None
    held, _ = read_tensors(folder / "held_out.safetensors")
    return held["features"], held["labels"]


def _fitted(folder: Path, record: Record) -> dict[str, Scorer]:
    if not (folder / "fitted.safetensors").exists():
        return {}
    parts, _ = read_tensors(folder / "fitted.safetensors")
    names = dict.fromkeys(name.rpartition(".")[0] for name in parts)
    row = record.W.shape[1]
    return {
        name: projected(parts[f"{name}.W"], int(parts.get(f"{name}.features", row)))
        if name.startswith("projection")
        else Linear(parts[f"{name}.W"], parts[f"{name}.b"], unit=True)
        for name in names
    }
