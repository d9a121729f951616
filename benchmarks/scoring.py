"""All nine methods for 50,000 test images, 1,000 classes, d = 512.

Beside it: the bare matrix products (all nine, in the same chunks), and a loop over images in
Python (timed on 500 of them and scaled).
"""

from __future__ import annotations

import resource

import numpy as np

from benchmarks.timing import side_by_side
from memoryless.lab.evaluate import CHUNK, score
from memoryless.stats.methods import build_scorer, methods_of
from memoryless.stats.record import EndOfState, Record

IMAGES, CLASSES, FEATURES, STATES, LOOPED = 50_000, 1_000, 512, 10, 500


def measure() -> dict[str, float]:
    rng = np.random.default_rng(0)

    def draw(*shape: int) -> np.ndarray:
        return rng.standard_normal(shape, dtype=np.float32)

    features = draw(IMAGES, FEATURES).astype(np.float16)
    labels = rng.integers(0, CLASSES, IMAGES)
    class_state = np.arange(CLASSES) * STATES // CLASSES
    mu = rng.random(STATES, dtype=np.float32) + 1
    record = Record(draw(CLASSES, FEATURES), draw(CLASSES), class_state, mu)
    end = EndOfState(record, (draw(CLASSES, FEATURES), draw(CLASSES)))
    methods = methods_of("finetune")
    made = [build_scorer(method, end) for method in methods.values()]

    def ours() -> None:
        score(features, labels, methods, end)

    def products() -> None:
        for start in range(0, IMAGES, CHUNK):
            rows = features[start : start + CHUNK].astype(np.float32)
            for layer in made:
                rows @ layer.W.T + layer.b

    def looped() -> None:
        for feature, label in zip(some, labels[:LOOPED].tolist(), strict=True):
            for layer in made:
                top5 = np.argsort(-(layer.W @ feature + layer.b))[:5]
                _ = label in top5, label == top5[0]

    some = features[:LOOPED].astype(np.float32)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ours()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    seconds = side_by_side({"ours": ours, "products": products, "looped": looped}, rounds=3)
    return {
        "seconds": round(seconds["ours"], 2),
        "ours / bare products": round(seconds["ours"] / seconds["products"], 2),
        "python loop / ours": round(seconds["looped"] * IMAGES / LOOPED / seconds["ours"], 1),
        "extra memory MB": round(grown / 1024, 1),
    }
