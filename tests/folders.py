"""Small models for tests of their folder: a few sums and a scorer, no photo and no torch needed."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from memoryless.model_folder import Saved, save_state
from memoryless.settings import plain_values
from memoryless.stats.confidence import MARGINS, TEMPERATURES, HeldOut
from memoryless.stats.scorers import Linear, Viewed, describe
from memoryless.train.settings import ModelSettings

SETTINGS = plain_values(ModelSettings().filled())
FACTS, _ = describe(Viewed(Linear(np.zeros(0), np.zeros(0)), start=0, square_roots=True))
STATE = {"date": "2026-11-16T12:00:00Z", "photos": 40, "more": {}, "model": None}
GRAPHS = (b"a graph", b"another graph")


def describe_toy(classes: int = 4, states: int = 2, graph: bytes | None = None) -> dict[str, Any]:
    """A description of fixed features; with a graph it sees photos, else it is given features."""
    photos = {"size": 224, "crop": 0.875, "mean": [127.0] * 3, "std": [128.0] * 3}
    digest = hashlib.sha256(graph or b"").hexdigest()
    return {
        "method": "fixed+lda",
        "settings": SETTINGS,
        "seed": 0,
        "classes": [f"bird {i:04d}" for i in range(classes)],
        "labels": "str",
        "counts": [20] * classes,
        "class_state": [i * states // classes for i in range(classes)],
        "states": [STATE] * states,
        "preparation": photos if graph else None,
        "backbone": {"name": "toy", "sha256": digest} if graph else None,
        "scorer": FACTS,
        "confidence": {"temperature": 2.5, "threshold": -3.0, "averaged": False},
        "forgettable": False,
    }


def draw_toy(classes: int = 4, d: int = 3, seed: int = 0) -> dict[str, dict[str, np.ndarray]]:
    rng = np.random.default_rng(seed)
    record = {
        "count": np.full(classes, 20.0),
        "mean": rng.normal(size=(classes, d)),
        "scatter": rng.normal(size=d * (d + 1) // 2),
    }
    below = np.linspace(0, 4 * classes, len(MARGINS))
    record |= HeldOut(rng.random(len(TEMPERATURES)), below, np.array(4.0 * classes)).arrays()
    W, b = rng.normal(size=(classes + 1, d)), rng.normal(size=classes + 1)
    scorer = {"over.W": W.astype(np.float32), "over.b": b.astype(np.float32)}
    return {"record": record, "scorer": scorer}


def save_toy(
    folder: Path,
    before: Saved | None = None,
    seed: int = 0,
    graph: bytes | None = None,
    **more: Any,
) -> Saved:
    about = describe_toy(graph=graph) | {"seed": seed}
    return save_state(folder, about, draw_toy(seed=seed), before, graph, **more)


def save_toys(folder: Path, number: int, **more: Any) -> Saved:
    """So many states, one after the other; their arrays differ."""
    saved = None
    for seed in range(number):
        saved = save_toy(folder, saved, seed, **more)
    assert saved
    return saved


def content(folder: Path) -> dict[str, bytes]:
    """Every file but the lock, by name."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != ".lock"]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(files)}
