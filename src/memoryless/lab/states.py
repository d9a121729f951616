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
from typing import TYPE_CHECKING, Any

import numpy as np

from memoryless.lab.config import Config
from memoryless.lab.runs import RunFolder
from memoryless.stats.class_statistics import ClassStatistics
from memoryless.stats.methods import EndOfState, view_of
from memoryless.stats.record import Record
from memoryless.stats.scorers import Scorer, describe, restore
from memoryless.stats.transports import TRANSPORTS, carry
from memoryless.strategies import STRATEGIES
from memoryless.tensors import part, to_bytes

if TYPE_CHECKING:
    from memoryless.train.learner import Learned, Learner


def write_state(
    folder: Path,
    learner: Learner,
    learned: Learned,
    features: np.ndarray,
    labels: np.ndarray,
) -> None:
    """Write all that a state leaves but its results."""

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


def last_record(run: RunFolder) -> Record:
    """The record of the last finished state."""
    return Record.of(run.arrays(run.finished - 1, "record"), _fixed(run))


def read_rows(run: RunFolder, t: int) -> Record:
    """What every strategy keeps, after state t."""
    return Record.of(run.arrays(t, "rows"), _fixed(run))


def _fixed(run: RunFolder) -> bool:
    """Whether a run's features are fixed."""
    return not STRATEGIES[run.about.config.strategy].backbone_learns


def composable(config: Config) -> tuple[str, ...]:
    """The transports that births and drifts can give, whatever the record held."""
    if not STRATEGIES[config.strategy].backbone_learns:
        return ("none",)
    return tuple(n for n, t in TRANSPORTS.items() if not t.follows or n in config.transports)


def states_of(run: RunFolder) -> Iterator[EndOfState]:
    """What each finished state left, statistics composed of births and drifts."""
    before: Record | None = None
    for t in range(run.finished):
        record = read_rows(run, t)
        if run.holds(t, "birth"):
            parts = run.arrays(t, "birth")
            drift = part(parts, "drift.") if before else None
            held = before.statistics if before else {}
            birth = ClassStatistics.restore(part(parts, "birth."), _fixed(run))
            carried = carry(held, birth, drift, composable(run.about.config))
            record = replace(record, statistics=carried)
        if t == run.finished - 1 and run.about.config.projection:  # kept by the last only
            record = replace(record, projection=last_record(run).projection)
        before = record
        yield _end_of_state(run, t, record)


def last_state(run: RunFolder) -> EndOfState:
    """What the last finished state left."""
    return _end_of_state(run, run.finished - 1, last_record(run))


def _end_of_state(run: RunFolder, t: int, record: Record) -> EndOfState:
    layer = run.arrays(t, "layer")
    view = view_of(run.about.config, record.W.shape[1])
    return EndOfState(record, (layer["W"], layer["b"]), _fitted(run, t), _held_out(run, t), view)


def read_test(run: RunFolder, t: int) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels of the test images after state t."""
    test = run.arrays(t, "test")
    return test["features"], test["labels"]


def _held_out(run: RunFolder, t: int) -> tuple[np.ndarray, np.ndarray] | None:
    if not run.holds(t, "held_out"):
        return None
    held = run.arrays(t, "held_out")
    return held["features"], held["labels"]


def _fitted(run: RunFolder, t: int) -> dict[str, Scorer]:
    if not run.holds(t, "fitted"):
        return {}
    arrays, facts = run.arrays_and_facts(t, "fitted")
    return {name: restore(kind, part(arrays, f"{name}.")) for name, kind in facts.items()}
