"""quickdraw100 is 100 classes x 100 human drawings, shipped with the package.

Data by Google, CC BY 4.0; see embedded/ATTRIBUTION.md. Built by tools/build_quickdraw100.py, which
can draw other classes: `root` names the folder that it wrote.
"""

from __future__ import annotations

import io
import json
import lzma
from importlib.resources import files
from pathlib import Path

import numpy as np

from memoryless.errors import DataError, cause
from memoryless.images.dataset import Dataset, from_arrays

CLASSES, DRAWINGS, TRAIN, SIDE = 100, 100, 80, 28
BYTES = CLASSES * DRAWINGS * SIDE * SIDE // 2  # two pixels in a byte


def read_drawings(root: Path | None = None) -> tuple[tuple[str, ...], np.ndarray]:
    """Read the names of the classes and their drawings, uint8 (CLASSES, DRAWINGS, SIDE, SIDE).

    They are the embedded ones, or others from the folder `root`.
    """
    folder = root or files("memoryless.images") / "embedded"
    try:
        names = (folder / "quickdraw100.json").read_text(encoding="utf-8")
        classes = tuple(str(name) for name in json.loads(names)["classes"])
        if len(set(classes)) != CLASSES:
            raise ValueError(f"{len(set(classes))} classes")
        with lzma.open(io.BytesIO((folder / "quickdraw100.xz").read_bytes())) as file:
            packed = np.frombuffer(file.read(BYTES + 1), np.uint8)
        levels = np.stack([packed >> 4, packed & 15], axis=1)  # (all pixels / 2, 2)
        pixels = (levels * 17).reshape(CLASSES, DRAWINGS, SIDE, SIDE)  # 15 becomes 255
    except (OSError, KeyError, TypeError, ValueError, EOFError, RecursionError,
            lzma.LZMAError) as error:  # fmt: skip
        raise DataError(
            f"{folder} does not hold quickdraw100 ({cause(error)}): leave out `root` for the "
            "embedded set, or build another with tools/build_quickdraw100.py"
        ) from error
    return classes, pixels


def load_quickdraw100(root: Path | None = None) -> Dataset:
    """Load the drawings as a data set: the first of each class train, the others test."""
    classes, pixels = read_drawings(root)
    labels = np.repeat(np.arange(CLASSES), DRAWINGS).reshape(CLASSES, DRAWINGS)
    train, test = np.s_[:, :TRAIN], np.s_[:, TRAIN:]
    return from_arrays(
        pixels[train].reshape(-1, SIDE, SIDE),
        labels[train].ravel(),
        pixels[test].reshape(-1, SIDE, SIDE),
        labels[test].ravel(),
        classes=classes,
        name="quickdraw100",
        augment=("affine", "flip"),
    )
