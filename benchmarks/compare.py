"""Every head, moved and under every transport, on a run of ten states, 100 classes, d = 512.

The folder is filled with random numbers in the form that a run with full statistics leaves, with
100 test images a class; nothing is trained. Beside it: the bare matrix products that two heads with
a covariance for each class cannot do without, under each of four transports.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec
import torch

from memoryless.lab.compare import combinations
from memoryless.lab.config import Config
from memoryless.lab.described import Description, Preparation, Results
from memoryless.lab.experiment import provenance
from memoryless.lab.frame import results_frame
from memoryless.lab.runs import RunFolder
from memoryless.tensors import to_bytes

STATES, NEW, FEATURES, TESTED = 10, 10, 512, 100


def measure() -> dict[str, float]:
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as place:
        run = _fill(RunFolder(Path(place) / "seed-0"))
        moved = _timed(run, ("linear",))
        everything = _timed(run, ())
    ratio = round(everything["all s"] / _products(), 2)
    return moved | everything | {"all / bare products": ratio}


def _timed(run: RunFolder, transports: tuple[str, ...]) -> dict[str, float]:
    names = [n for n in combinations([run], transports=transports) if "projection" not in n]
    started = time.perf_counter()
    results_frame([run], names)
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
    config = Config(statistics="full").resolved()
    sizes = [NEW] * STATES
    classes = [str(c) for c in range(sum(sizes))]
    described = Description(
        config=config,
        seed=0,
        dataset="random",
        classes=tuple(classes),
        sizes=sizes,
        train_images=[500] * len(classes),
        test_images=[TESTED] * len(classes),
        preparation=Preparation(32, [0.5], [0.5], []),
        memoryless=True,
        backbone_class="random",
        **provenance(),
    )
    run = run.start(described)
    for t in range(STATES):
        seen = (t + 1) * NEW
        noise = torch.randn(NEW, 2 * FEATURES, FEATURES)
        rows = {"W": torch.randn(seen, FEATURES), "b": torch.randn(seen)}
        state = {"class_state": torch.arange(seen) // NEW, "mu": torch.rand(t + 1) + 1}
        near = torch.eye(FEATURES) + 0.001 * torch.randn(FEATURES, FEATURES)
        drift = {
            "drift.forward": near,
            "drift.residual": 0.001 * torch.eye(FEATURES),
        }
        drift["drift.sdc"] = torch.randn(seen - NEW, FEATURES)
        birth = {
            "birth.count": torch.full((NEW,), 500.0),
            "birth.mean": torch.randn(NEW, FEATURES),
            "birth.own": noise.mT @ noise / len(noise),
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
        files = {"rows": rows | state, "layer": rows, "fitted": fitted, "test": test}
        files["birth"] = birth | (drift if t else {})
        kinds = {n.rpartition(".")[0]: {"kind": "linear", "unit": True} for n in fitted}
        contents = {n: to_bytes(ts, kinds if n == "fitted" else None) for n, ts in files.items()}

        def write(draft: Path, contents: dict[str, bytes] = contents) -> None:
            for name, content in contents.items():
                (draft / f"{name}.safetensors").write_bytes(content)

        run.commit(t, msgspec.convert(_results(t, seen), Results), write)
    return run


def _results(t: int, seen: int) -> dict[str, Any]:
    """Return what a state's results must say; none of it is read here."""
    typology = dict.fromkeys(("c_p", "e_pp", "e_pn"), 0.0 if t else None)
    typology |= dict.fromkeys(("c_n", "e_nn", "e_np"), 0.0)
    scored = {"top1": 0.0, "top5": 0.0, "by_state": [0.0] * (t + 1), "bytes": 0, "cost": 0}
    return {
        "state": t,
        "new_classes": NEW,
        "classes_seen": seen,
        "train_images": 500 * NEW,
        "test_images": seen * TESTED,
        "history": {"loss": [], "watched": [], "seconds": [], "images": []},
        "seconds": {"training": 0.0, "test_features": 0.0, "scoring": 0.0},
        "bytes": {"record": {"W": 0, "b": 0}, "images_not_kept": 0},
        "methods": {"finetune": scored | {"typology": typology}},
    }
