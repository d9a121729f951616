"""From photos to features with EfficientNet-Lite0 at 224 pixels, in as many threads as cores.

Decoding alone, the graph alone, and both together as models do it; the graph in batches of 32 as
onnxruntime spreads them over its own threads; and the time until a stored graph is ready.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from benchmarks.timing import side_by_side
from memoryless.embed.efficientnet import network_graph, packaged_weights
from memoryless.embed.graph import features_graph
from memoryless.embed.session import Extractor
from memoryless.images.read import read_pixels
from memoryless.model.fixed import features_graph_of
from memoryless.settings import ModelSettings
from memoryless.threads import ahead, cores

PHOTOS, BATCH = 128, 32


def photo_files() -> list[bytes]:
    """Return the two JPEGs of 640 x 427 pixels that scikit-learn ships, many times."""
    datasets = find_spec("sklearn.datasets")
    assert datasets is not None
    assert datasets.origin is not None
    folder = Path(datasets.origin).parent / "images"
    return [(folder / name).read_bytes() for name in ("china.jpg", "flower.jpg")] * (PHOTOS // 2)


def in_batches(graph: bytes, photos: Sequence[np.ndarray]) -> Callable[[], Any]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = cores()
    session = onnxruntime.InferenceSession(graph, options)
    batches = [np.stack(photos[i : i + BATCH]) for i in range(0, len(photos), BATCH)]
    return lambda: [session.run(None, {"photos": batch}) for batch in batches]


def measure() -> dict[str, float]:
    graph, preparation, _ = features_graph_of(ModelSettings(backbone="efficientnet-lite0"))
    extractor, files = Extractor(graph), photo_files()
    head = network_graph(packaged_weights(), preparation.size, middle=False)
    alone = Extractor(features_graph(head, preparation))

    def decode(file: bytes) -> np.ndarray:
        return read_pixels(file, preparation.resized)

    photos = [decode(file) for file in files]
    seconds = side_by_side(
        {
            "decoding": lambda: list(ahead(decode, files)),
            "graph": lambda: list(ahead(extractor.feature, photos)),
            "both": lambda: list(ahead(lambda file: extractor.feature(decode(file)), files)),
            "graph in batches": in_batches(graph, photos),
            "last layer alone": lambda: list(ahead(alone.feature, photos)),
        },
        rounds=10,
    )
    rates = {f"{name} photos/s": round(PHOTOS / s, 1) for name, s in seconds.items()}
    parts = seconds["decoding"] + seconds["graph"]
    start = side_by_side({"start": lambda: Extractor(graph)}, rounds=10)["start"]
    return rates | {
        "both / (decoding + graph)": round(seconds["both"] / parts, 3),
        "graph / last layer alone": round(seconds["graph"] / seconds["last layer alone"], 3),
        "graph / graph in batches": round(seconds["graph"] / seconds["graph in batches"], 3),
        "start s": round(start, 3),
    }
