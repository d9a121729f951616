"""Sample photos for a stranger who has none: some of the embedded drawings, as folders of PNGs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from memoryless.errors import ConfigError, WriteError
from memoryless.images.quickdraw import CLASSES, DRAWINGS, TRAIN, read_drawings
from memoryless.store import cannot_write


def write_samples(
    folder: Path, classes: int = 10, per_class: int = 30, test_per_class: int = 10
) -> None:
    """Write drawings as `folder/train/<class>/0001.png` and `folder/test/<class>/0001.png`.

    They are the same every time; test drawings are never among the training drawings.
    """
    _check("classes", classes, 1, CLASSES)
    _check("per_class", per_class, 1, TRAIN)
    _check("test_per_class", test_per_class, 0, DRAWINGS - TRAIN)
    names, drawings = read_drawings()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise WriteError(f"the folder {folder} is not empty: name a new one")
        for name, drawn in zip(names[:classes], drawings, strict=False):
            _write(folder / "train" / name, drawn[:per_class])
            _write(folder / "test" / name, drawn[TRAIN : TRAIN + test_per_class])
    except OSError as error:
        raise cannot_write(folder, error, "folder") from error


def _check(name: str, value: int, low: int, high: int) -> None:
    if not low <= value <= high:
        raise ConfigError(f"`{name}={value}` is not among {low} to {high}: give one of these")


def _write(folder: Path, drawings: np.ndarray) -> None:
    for number, drawing in enumerate(drawings, 1):
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(drawing).save(folder / f"{number:04d}.png")
