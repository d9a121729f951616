"""Digests of small runs: what a change of the program's structure must leave as it is, to the bit.

`python tests/golden.py` (make golden) prints which digests differ from the stored ones, and with
--write stores the new ones. The paper's methods never change; heads beyond it may, in a commit that
says why.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from msgspec import to_builtins

from conftest import make_toy
from memoryless.lab.compare import combinations
from memoryless.lab.config import Config
from memoryless.lab.experiment import run
from memoryless.lab.frame import results_with
from memoryless.lab.runs import RunFolder, last_record, read_test, states_of
from memoryless.progress import Observer
from memoryless.stats.methods import parse_method
from memoryless.stats.scorers import Projected

FILE = Path(__file__).parent / "golden.json"

# Every setting is stated, so that no default can hide a change.
STATED: dict[str, Any] = {
    "states": "3",
    "order": "seed:1",
    "validation": 0.0,
    "image_size": 8,
    "backbone": "resnet18_3x3",
    "width": 2,
    "epochs": 2,
    "epochs_later": 1,
    "batch_size": 16,
    "lr": 0.1,
    "lr_later": "t+1",
    "schedule": "cosine",
    "patience": 60,
    "patience_later": 15,
    "milestones": (0.5, 0.75),
    "decay": 0.1,
    "momentum": 0.9,
    "weight_decay": 5e-4,
    "classifier_init": "reset",
    "augment": ("pad_crop", "flip"),
    "mean": None,
    "std": None,
    "held_out": 0.0,
    "mu": "largest",
    "device": "cpu",
    "threads": 1,
    "outputs": "seen",
    "kd_weight": 10.0,
    "kd_temperature": 2.0,
    "lambda_base": 5.0,
    "memory": 0.1,
    "exemplars": "herding",
    "precision": "float32",
    "compile": False,
    "statistics": "none",
    "level": "last",
    "square_roots": False,
    "transports": ("none", "linear", "widened", "sdc"),
    "projection": 0,
}
RICH = {"statistics": "full", "level": "middle", "square_roots": True, "held_out": 0.25}
CASES: dict[str, dict[str, Any]] = {
    "finetune": {"strategy": "finetune"},
    "lwf": {"strategy": "lwf", "lr": 2.0, "lr_later": "constant", "classifier_init": "grow"},
    "lwf all": {"strategy": "lwf", "outputs": "all", "schedule": "multistep", "decay": 0.2},
    "lwf_kd": {"strategy": "lwf_kd", "lr_later": 0.05, "classifier_init": "grow"},
    "lucir": {"strategy": "lucir", "lr_later": "constant", "classifier_init": "grow"},
    "frozen": {"strategy": "frozen"},
    "joint": {"strategy": "joint"},
    "independent": {"strategy": "independent", "lr_later": "constant"},
    "replay": {"strategy": "replay"},
    "replay random": {"strategy": "replay", "exemplars": "random", "mu": "true"},
    "plateau": {"strategy": "finetune", "schedule": "plateau", "patience": 1, "epochs": 3},
    "affine": {"strategy": "finetune", "augment": ("affine", "resized_crop"), "lr_later": "t"},
    "finetune+": {"strategy": "finetune", **RICH},
    "lwf+": {"strategy": "lwf", "lr": 2.0, "lr_later": "constant", **RICH},
    "lwf_kd+": {"strategy": "lwf_kd", "lr_later": 0.05, "classifier_init": "grow", **RICH},
    "lucir+": {"strategy": "lucir", "classifier_init": "grow", "statistics": "full"},
    "frozen+": {"strategy": "frozen", "projection": 20, **RICH},
    "joint+": {"strategy": "joint", **RICH},
    "independent+": {"strategy": "independent", **RICH},
    "replay+": {"strategy": "replay", **RICH},
    "last": {"strategy": "finetune", "statistics": "full", "held_out": 0.25},
    "mean": {"strategy": "finetune", "statistics": "mean"},
    "tied": {"strategy": "lwf_kd", "lr_later": 0.05, "statistics": "tied", "square_roots": True},
    "low-rank": {"strategy": "finetune", "statistics": "low-rank:2"},
    "fixed": {"strategy": "fixed", "augment": ("none",)},
    "fixed+": {"strategy": "fixed", "augment": ("none",), "projection": 20, **RICH},
    "fixed last": {"strategy": "fixed", "augment": ("none",), "statistics": "tied"},
}


def key() -> str:
    """Where digests can be compared: the same kernels of the same version on as many threads."""
    cpu = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.processor(),
    )
    capability = torch.backends.cpu.get_cpu_capability()
    return f"torch {torch.__version__}, {capability} ({cpu}), {torch.get_num_threads()} thread"


def digest(arrays: Mapping[str, np.ndarray]) -> str:
    found = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        found.update(f"{name} {array.dtype} {array.shape}".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:16]


def run_case(name: str, output: Path, observer: Observer | None = None) -> RunFolder:
    config = Config(**STATED | CASES[name], output=output)
    return RunFolder(run(config, make_toy(train=8), observer=observer)[0])


def digests(folder: RunFolder) -> dict[str, str]:
    """Weights, record, statistics, fitted heads and figures of a finished run."""
    last = folder.finished - 1
    network = folder.arrays(last, "network")
    parts = {"network": digest(network)}
    parts |= {f"record.{n}": digest({n: t}) for n, t in last_record(folder).arrays().items()}
    for t, kept in enumerate(states_of(folder)):
        features, labels = read_test(folder, t)
        parts[f"{t}.layer"] = digest(dict(zip("Wb", kept.layer, strict=True)))
        parts[f"{t}.features"] = digest({"features": features, "labels": labels})
        for head, scorer in kept.fitted.items():
            layer = scorer.over if isinstance(scorer, Projected) else scorer
            parts[f"{t}.fitted.{head}"] = digest({"W": layer.W, "b": layer.b})
        if kept.held_out:
            parts[f"{t}.held_out"] = digest(dict(zip("Xy", kept.held_out, strict=True)))
    results = folder.results()
    if folder.about.config.held_out:  # every method there is
        names = combinations([folder], calibrations=())
        results = results_with(folder, names, leave_out=True)
    return parts | {
        f"{state.state}.{head}": figures
        for state in results
        for head, figures in by_head(to_builtins(state.methods)).items()
    }


def by_head(methods: Mapping[str, Any]) -> dict[str, str]:
    """A digest of what the methods of each head reach and keep."""
    told: dict[str, dict[str, Any]] = {}
    for name, reached in methods.items():
        figures = {k: reached[k] for k in ("top1", "top5", "typology", "by_state", "bytes")}
        told.setdefault(parse_method(name).head, {})[name] = figures
    texts = {head: json.dumps(all_of, sort_keys=True) for head, all_of in told.items()}
    return {
        head: hashlib.sha256(text.replace("NaN", "null").encode()).hexdigest()[:16]
        for head, text in texts.items()
    }


def compute() -> dict[str, dict[str, str]]:
    with tempfile.TemporaryDirectory() as folder:
        return {name: digests(run_case(name, Path(folder) / name)) for name in CASES}


def differences(stored: dict[str, dict[str, str]], now: dict[str, dict[str, str]]) -> list[str]:
    """What changed, one line each."""
    return [
        f"{case}: {part} was {stored.get(case, {}).get(part)}, is {now.get(case, {}).get(part)}"
        for case in stored | now
        for part in stored.get(case, {}) | now.get(case, {})
        if stored.get(case, {}).get(part) != now.get(case, {}).get(part)
    ]


def read() -> dict[str, dict[str, dict[str, str]]]:
    return json.loads(FILE.read_text()) if FILE.exists() else {}


if __name__ == "__main__":
    torch.set_num_threads(1)
    stored, now = read(), compute()
    print(*differences(stored.get(key(), {}), now) or ["nothing differs"], sep="\n")
    if "--write" in sys.argv:
        FILE.write_text(json.dumps(stored | {key(): now}, indent=0) + "\n")
