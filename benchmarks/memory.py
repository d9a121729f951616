"""Peak memory of `memoryless learn` of 5,000 and 50,000 small photos, each in a process of its own.

Photos are PNGs of 16 x 16 pixels in 100 classes; the network gives their 12 mean colours.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from onnx import TensorProto
from PIL import Image

from benchmarks.timing import Process, fresh_process
from memoryless.embed.graph import Nodes

FEW, MANY, CLASSES, SIDE = 5_000, 50_000, 100, 16


def make_network(file: Path) -> Path:
    """Write an ONNX file whose features are the mean colours of four squares."""
    nodes, half = Nodes(), [SIDE // 2] * 2
    squares = nodes.add("AveragePool", "images", kernel_shape=half, strides=half)
    nodes.add("Flatten", squares, name="out")
    ends = {"images": (TensorProto.FLOAT, ["n", 3, SIDE, SIDE])}
    graph = nodes.model(ends, {"out": (TensorProto.FLOAT, ["n", 12])})
    file.write_bytes(graph.SerializeToString())
    return file


def make_photos(root: Path, number: int) -> Path:
    """Folders of so many photos in all: squares of the class's own colours, under noise."""
    rng = np.random.default_rng(number)
    for c in range(CLASSES):
        folder = root / f"class {c:03d}"
        folder.mkdir(parents=True)
        colours = np.random.default_rng(c).integers(0, 256, (2, 2, 3))
        squares = np.kron(colours, np.ones((SIDE // 2, SIDE // 2, 1)))
        for i in range(number // CLASSES):
            pixels = np.clip(squares + rng.normal(0, 60, squares.shape), 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(folder / f"{i:05d}.png", compress_level=1)
    return root


def learn(root: Path, network: Path, number: int) -> Process:
    photos = make_photos(root / f"photos-{number}", number)
    preparation = f"--image-size {SIDE} --crop 1 --mean 0 0 0 --std 1 1 1".split()
    line = ["learn", str(root / f"model-{number}"), str(photos), "--backbone", f"onnx:{network}"]
    return fresh_process("-m", "memoryless", *line, *preparation)


def measure() -> dict[str, float]:
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        network = make_network(root / "colours.onnx")
        few, many = (learn(root, network, number) for number in (FEW, MANY))
    return {
        "5,000 photos peak MB": round(few.peak / 1e6, 1),
        "50,000 photos peak MB": round(many.peak / 1e6, 1),
        "bytes a photo": round((many.peak - few.peak) / (MANY - FEW)),
        "50,000 photos s": round(many.seconds, 1),
        "photos/s": round(MANY / many.seconds),
    }
