"""All nine methods for 50,000 test images, 1,000 classes, d = 512.

Beside it: the bare matrix products (all nine, in the same chunks), and a loop over images in
Python (timed on 500 of them and scaled).
"""

from __future__ import annotations

import resource
from typing import cast

import numpy as np
import torch

from benchmarks.timing import side_by_side
from memoryless.build import EndOfState, build_scorers
from memoryless.lab.scoring import CHUNK, score
from memoryless.methods import methods_of
from memoryless.record import Record
from memoryless.scorers import Linear

IMAGES, CLASSES, FEATURES, STATES, LOOPED = 50_000, 1_000, 512, 10, 500


def measure() -> dict[str, float]:
    torch.manual_seed(0)
    features = torch.randn(IMAGES, FEATURES).half()
    labels = torch.randint(0, CLASSES, (IMAGES,))
    class_state = torch.arange(CLASSES) * STATES // CLASSES
    record = Record(
        torch.randn(CLASSES, FEATURES), torch.randn(CLASSES), class_state, torch.rand(STATES) + 1
    )
    kept = EndOfState(record, (torch.randn(CLASSES, FEATURES), torch.randn(CLASSES)))
    methods = methods_of("finetune")

    def ours() -> None:
        score(features, labels, build_scorers(methods, kept))

    def products() -> None:
        for chunk in features.split(CHUNK):
            rows = chunk.float()
            for layer in made:
                torch.addmm(layer.b, rows, layer.W.T)

    def looped() -> None:
        for feature, label in zip(numpy_features, labels[:LOOPED].tolist(), strict=True):
            for W, b in arrays:
                top5 = np.argsort(-(W @ feature + b))[:5]
                _ = label in top5, label == top5[0]

    made = [cast(Linear, scorer) for scorer in build_scorers(methods, kept).values()]
    numpy_features = features[:LOOPED].float().numpy()
    arrays = [(layer.W.numpy(), layer.b.numpy()) for layer in made]
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
