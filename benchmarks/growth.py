"""Learning 1,000 and 10,000 classes at once: time and memory of a process of its own, one thread.

Features are random; d is 512, five rows a class. The time is that of `learn` and of one answer, so
that the layer is solved in it whenever that is done.
"""

from __future__ import annotations

import numpy as np

from benchmarks.timing import fresh_process

FEW, MANY, ROUNDS = 1_000, 10_000, 3
LEARN = """
import sys, time
import numpy as np
from memoryless import Model
classes = int(sys.argv[1])
rng = np.random.default_rng(0)
y = np.repeat(np.arange(classes), 5)
X = rng.standard_normal((len(y), 512), dtype=np.float32)
X += rng.standard_normal((classes, 512), dtype=np.float32)[y]
labels = [f"class {c:05d}" for c in y]
model = Model(backbone="none")
began = time.perf_counter()
model.learn(X, labels)
model.predict(X[:1])
print(time.perf_counter() - began)
"""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def measure() -> dict[str, float]:
    seconds: dict[int, list[float]] = {FEW: [], MANY: []}
    peaks: dict[int, list[int]] = {FEW: [], MANY: []}
    for _ in range(ROUNDS):
        for classes in (FEW, MANY):
            learned = fresh_process("-c", LEARN, str(classes), **ONE_THREAD)
            seconds[classes].append(float(learned.output))
            peaks[classes].append(learned.peak)
    few, many = (float(np.median(seconds[classes])) for classes in (FEW, MANY))
    return {
        "1,000 classes s": round(few, 2),
        "10,000 classes s": round(many, 2),
        "10,000 / 1,000": round(many / few, 1),
        "1,000 classes peak MB": round(max(peaks[FEW]) / 1e6),
        "10,000 classes peak MB": round(max(peaks[MANY]) / 1e6),
    }
