"""What a finished state leaves in its folder, and what methods are made of again from it.

rows.safetensors        rows, biases, states of classes and mu: what every strategy keeps
record.safetensors      the whole record, of the last state only
birth.safetensors       statistics of the state's own classes, and how features moved in the state
fitted.safetensors      heads that were fitted while the state's images were there
held_out.safetensors    features of current images that were held out from training
layer.safetensors       the classification layer as trained
test.safetensors        features and labels of the test images of all classes so far
network.safetensors     the whole network, of the last state only

All but record and network are for the laboratory. Statistics of earlier states are composed of
births and drifts, so a run's folder does not hold every class's covariance in every state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import Tensor

from memoryless.build import EndOfState
from memoryless.lab.runs import RunFolder
from memoryless.learner import Learned, Learner
from memoryless.record import Record
from memoryless.scorers import Scorer, View, describe, restore
from memoryless.statistics import Statistics
from memoryless.store import read_tensors, write_tensors
from memoryless.training import part
from memoryless.transports import TRANSPORTS


def write_state(
    folder: Path, learner: Learner, learned: Learned, features: Tensor, labels: Tensor
) -> None:
    """Everything that a state leaves but its results."""
    W, b = learner.layer
    learner.record.basics.save(folder / "rows.safetensors")
    learner.record.save(folder / "record.safetensors")
    write_tensors(folder / "layer.safetensors", {"W": W, "b": b})
    write_tensors(folder / "test.safetensors", {"features": features, "labels": labels})
    write_tensors(folder / "network.safetensors", learner.tensors())
    if learned.birth:
        born = {f"birth.{name}": part for name, part in learned.birth.tensors().items()}
        moved = {f"drift.{name}": part for name, part in (learned.drift or {}).items()}
        write_tensors(folder / "birth.safetensors", born | moved)
    if learned.fitted:
        described = {name: describe(scorer) for name, scorer in learned.fitted.items()}
        arrays = {f"{n}.{p}": a for n, (_, parts) in described.items() for p, a in parts.items()}
        facts = {name: kind for name, (kind, _) in described.items()}
        write_tensors(folder / "fitted.safetensors", arrays, facts)
    if learned.held_out:
        held, truth = learned.held_out
        write_tensors(folder / "held_out.safetensors", {"features": held, "labels": truth})


def last_record(run: RunFolder) -> Record:
    """The record of the last finished state."""
    return Record.load(run.state(run.finished - 1) / "record.safetensors")


def composable(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The transports that births and drifts can give, whatever the record held."""
    return tuple(n for n, t in TRANSPORTS.items() if not t.follows or n in config["transports"])


def states_of(run: RunFolder) -> Iterator[EndOfState]:
    """What each finished state left, statistics composed of births and drifts."""
    before: Record | None = None
    for t in range(run.finished):
        folder = run.state(t)
        record = Record.load(folder / "rows.safetensors")
        if (folder / "birth.safetensors").exists():
            parts, _ = read_tensors(folder / "birth.safetensors")
            drift = part(parts, "drift.") if before else None
            if before:
                record = replace(record, statistics=before.statistics, rows=before.rows)
            birth = Statistics(**part(parts, "birth."))
            record = record.carry(birth, drift, composable(run.about["config"]))
        if t == run.finished - 1 and run.about["config"]["projection"]:  # kept by the last only
            record = replace(record, projection=last_record(run).projection)
        before = record
        yield _end_of_state(run, t, record)


def last_state(run: RunFolder) -> EndOfState:
    """What the last finished state left."""
    return _end_of_state(run, run.finished - 1, last_record(run))


def _end_of_state(run: RunFolder, t: int, record: Record) -> EndOfState:
    folder = run.state(t)
    layer, _ = read_tensors(folder / "layer.safetensors")
    view = View.of(run.about["config"], record.W.shape[1])
    return EndOfState(record, (layer["W"], layer["b"]), _fitted(folder), _held_out(folder), view)


def read_test(run: RunFolder, t: int) -> tuple[Tensor, Tensor]:
    """Features and labels of the test images after state t."""
    test, _ = read_tensors(run.state(t) / "test.safetensors")
    return test["features"], test["labels"]


def _held_out(folder: Path) -> tuple[Tensor, Tensor] | None:
    if not (folder / "held_out.safetensors").exists():
        return None
    held, _ = read_tensors(folder / "held_out.safetensors")
    return held["features"], held["labels"]


def _fitted(folder: Path) -> dict[str, Scorer]:
    if not (folder / "fitted.safetensors").exists():
        return {}
    arrays, facts = read_tensors(folder / "fitted.safetensors")
    return {name: restore(kind, part(arrays, f"{name}.")) for name, kind in facts.items()}
