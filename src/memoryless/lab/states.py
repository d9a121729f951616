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

from collections.abc import Callable, Iterator, Mapping
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
from memoryless.store import write_tensors
from memoryless.transports import TRANSPORTS, Drift

DRIFTS = ("linear", "backward", "residual", "sdc")


def write_state(
    folder: Path,
    place: Callable[[str], str],
    learner: Learner,
    learned: Learned,
    features: Tensor,
    labels: Tensor,
) -> None:
    """Everything that a state leaves but its results; `place` is what files are bound to."""

    def write(name: str, tensors: Mapping[str, Tensor]) -> None:
        file = folder / f"{name}.safetensors"
        write_tensors(file, tensors, bound=place(file.name))

    W, b = learner.layer
    write("record", learner.record.basics.tensors())
    write("layer", {"W": W, "b": b})
    write("test", {"features": features, "labels": labels})
    write("network", learner.tensors())
    if learned.birth:
        moved = {name: getattr(learned.drift, name, None) for name in DRIFTS}
        born = {f"birth.{name}": part for name, part in learned.birth.tensors().items()}
        drifts = {name: part for name, part in moved.items() if part is not None}
        write("birth", born | drifts)
    if learned.birth or learner.record.projection:
        write("statistics", learner.record.tensors())
    if learned.fitted:
        write("fitted", {n: p for name, s in learned.fitted.items() for n, p in _parts(name, s)})
    if learned.held_out:
        held, truth = learned.held_out
        write("held_out", {"features": held, "labels": truth})


def _parts(name: str, scorer: Scorer) -> list[tuple[str, Tensor]]:
    if isinstance(scorer, Projected):  # its directions are drawn again
        size = torch.tensor(len(scorer.directions))
        return [(f"{name}.W", scorer.over.W), (f"{name}.features", size)]
    assert isinstance(scorer, Linear)
    return [(f"{name}.W", scorer.W), (f"{name}.b", scorer.b)]


def last_record(run: RunFolder) -> Record:
    """The record of the last finished state, with all its parts."""
    t = run.finished - 1
    return Record.of(run.tensors(t, "statistics" if run.holds(t, "statistics") else "record"))


def read_record(run: RunFolder, t: int) -> Record:
    """What every strategy keeps, after state t."""
    return Record.of(run.tensors(t, "record"))


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
        record = read_record(run, t)
        if run.holds(t, "birth"):
            parts = run.tensors(t, "birth")
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
    layer = run.tensors(t, "layer")
    fitted, held_out = _fitted(run, t, record), _held_out(run, t)
    reading = Reading.of(run.about["config"], record.W.shape[1])
    return Kept(record, (layer["W"], layer["b"]), fitted, held_out, reading)


def read_test(run: RunFolder, t: int) -> tuple[Tensor, Tensor]:
    """Features and labels of the test images after state t."""
    test = run.tensors(t, "test")
    return test["features"], test["labels"]


def _held_out(run: RunFolder, t: int) -> tuple[Tensor, Tensor] | None:
    if not run.holds(t, "held_out"):
        return None
    held = run.tensors(t, "held_out")
    return held["features"], held["labels"]


def _fitted(run: RunFolder, t: int, record: Record) -> dict[str, Scorer]:
    parts = run.tensors(t, "fitted") if run.holds(t, "fitted") else {}
    names = dict.fromkeys(name.rpartition(".")[0] for name in parts)
    row = record.W.shape[1]
    return {
        name: projected(parts[f"{name}.W"], int(parts.get(f"{name}.features", row)))
        if name.startswith("projection")
        else Linear(parts[f"{name}.W"], parts[f"{name}.b"], unit=True)
        for name in names
    }
