"""Every head, moved and under every transport, on a run of ten states, 100 classes, d = 512.

The folder is filled with random numbers in the form that a run with full statistics leaves, with
100 test images a class; nothing is trained. Beside it: the bare matrix products that two heads with
a covariance for each class cannot do without, under each of four transports.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import torch

from memoryless.lab.analysis.compare import combinations, compare
from memoryless.lab.config import Config
from memoryless.lab.runs import RunFolder
from memoryless.store import write_json, write_tensors

STATES, NEW, FEATURES, TESTED = 10, 10, 512, 100


def measure() -> dict[str, float]:
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as place:
        run = _fill(RunFolder(Path(place) / "seed-0"))
        moved = _timed(run, ("linear", "backward"))
        everything = _timed(run, ())
    ratio = round(everything["all s"] / _products(), 2)
    return moved | everything | {"all / bare products": ratio}


def _timed(run: RunFolder, transports: tuple[str, ...]) -> dict[str, float]:
    names = [n for n in combinations([run], transports=transports) if "projection" not in n]
    started = time.perf_counter()
    compare([run], names)
    what = "moved" if transports else "all"
    return {f"{what} methods": len(names), f"{what} s": round(time.perf_counter() - started, 1)}


def _products() -> float:
    """Seconds of f R for all test images and classes, triangles as if they were squares."""
    started = time.perf_counter()
    for t in range(1, STATES + 1):
        wide = torch.randn(FEATURES, t * NEW * FEATURES)
        for features in torch.randn(t * NEW * TESTED, FEATURES).split(256):
            _ = features @ wide
    return 8 * (time.perf_counter() - started)


def _fill(run: RunFolder) -> RunFolder:
    config = Config(statistics="full")
    sizes = [NEW] * STATES
    classes = [str(c) for c in range(sum(sizes))]
    facts = {"dataset": "random", "classes": classes, "sizes": sizes, "memoryless": True}
    run.start(config.to_dict(), 0, facts)
    for t in range(STATES):
        seen = (t + 1) * NEW
        folder = run.state(t)
        noise = torch.randn(NEW, 2 * FEATURES, FEATURES)
        rows = {"W": torch.randn(seen, FEATURES), "b": torch.randn(seen)}
        state = {"class_state": torch.arange(seen) // NEW, "mu": torch.rand(t + 1) + 1}
        near = torch.eye(FEATURES) + 0.001 * torch.randn(FEATURES, FEATURES)
        drift = {
            "drift.forward": near,
            "drift.backward": near,
            "drift.residual": 0.001 * torch.eye(FEATURES),
        }
        drift["drift.sdc"] = torch.randn(seen - NEW, FEATURES)
        birth = {
            "birth.count": torch.full((NEW,), 500.0),
            "birth.mean": torch.randn(NEW, FEATURES),
            "birth.full": noise.mT @ noise / len(noise),
        }
        fitted = {
            f"{head}+{transport}.{name}": part
            for head in ("fetril", "gaussian_replay")
            for transport in ("none", "linear", "widened", "sdc")
            if (head, transport) != ("fetril", "widened")
            for name, part in rows.items()
        }
        test = {"features": torch.randn(seen * TESTED, FEATURES).half()}
        test["labels"] = torch.arange(seen).repeat_interleave(TESTED)
        write_tensors(folder / "rows.safetensors", rows | state)
        write_tensors(folder / "layer.safetensors", rows)
        write_tensors(folder / "birth.safetensors", birth | (drift if t else {}))
        kinds = {n.rpartition(".")[0]: {"kind": "linear", "unit": True} for n in fitted}
        write_tensors(folder / "fitted.safetensors", fitted, kinds)
        write_tensors(folder / "test.safetensors", test)
        ledger = {"record": {"W": 0, "b": 0}}
        write_json(folder / "results.json", {"state": t, "methods": {}, "bytes": ledger})
    return run
