"""Run the benchmarks named on the command line, or all, and say on what."""

from __future__ import annotations

import json
import platform
import sys
from pathlib import Path

import numpy as np
import torch

from benchmarks import (
    augmentation,
    check,
    compare,
    estimator,
    features,
    groups,
    growth,
    loop,
    memory,
    merging,
    model,
    more,
    privacy,
    scoring,
    serve,
    sums,
    suspects,
)

BENCHMARKS = {
    "augmentation": augmentation,
    "features": features,
    "model": model,
    "sums": sums,
    "estimator": estimator,
    "growth": growth,
    "memory": memory,
    "loop": loop,
    "scoring": scoring,
    "compare": compare,
    "serve": serve,
}
# They take a folder of photos.
OF_PHOTOS = {
    "check": check,
    "groups": groups,
    "merging": merging,
    "more": more,
    "privacy": privacy,
    "suspects": suspects,
}


def processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:  # noqa: PTH123
            return next(line.split(":")[1].strip() for line in file if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def main() -> None:
    print(f"{processor()}, {torch.get_num_threads()} threads; Python {platform.python_version()}, "
          f"torch {torch.__version__}, numpy {np.__version__}")  # fmt: skip
    if (named := sys.argv[1:2]) and named[0] in OF_PHOTOS:
        OF_PHOTOS[named[0]].measure(*map(Path, sys.argv[2:]))
        return
    for name in sys.argv[1:] or BENCHMARKS:
        print(f"{name}: {json.dumps(BENCHMARKS[name].measure())}", flush=True)


if __name__ == "__main__":
    main()
