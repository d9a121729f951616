"""Small archives in the form of the official CIFAR ones."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np

from memoryless.images.cifar import LAYOUTS


def as_python_2(content: dict) -> bytes:
    """A pickle that names NumPy's functions as the official files do."""
    pickled = pickle.dumps(content, protocol=3)
    return pickled.replace(b"numpy._core.multiarray", b"numpy.core.multiarray")


def make_cifar(root: Path, name: str, classes: int = 10) -> Path:
    layout = LAYOUTS[name]
    folder = root / layout.folder
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    for file in (*layout.train, layout.test):
        labels = list(range(classes)) * 2
        pixels = rng.integers(0, 256, (len(labels), 3072), dtype=np.uint8)
        content = {b"data": pixels, layout.label_key: labels, b"filenames": [b"x.png"]}
        (folder / file).write_bytes(as_python_2(content))
    names = [f"class {i}".encode() for i in range(classes)]
    (folder / layout.meta).write_bytes(as_python_2({layout.names_key: names}))
    return folder
