"""A model to export, and why one is not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from memoryless import Model
from memoryless.errors import MemorylessError
from memoryless.model.database import model_file
from memoryless.photos.export import export_onnx
from photo_toys import tiny_settings

NAMES = ("cat", "dog", "owl")


def draw(name: str, number: int, side: int = 20) -> list[np.ndarray]:
    """Photos of a class: four by four colours of its own, under noise."""
    colours = np.random.default_rng([*name.encode()]).integers(0, 256, (4, 4, 3))
    rng = np.random.default_rng(len(name))
    cells = np.clip(colours + rng.normal(0, 60, (number, 4, 4, 3)), 0, 255)
    return list(cells.repeat(side // 4, 1).repeat(side // 4, 2).astype(np.uint8))


def teach(folder: Path, backbone: Path, *names: str, **settings: object) -> Path:
    """The file of a model over a tiny backbone."""
    model = Model(**{**tiny_settings(backbone), **settings})
    model.learn(
        [p for name in names for p in draw(name, 12)], [n for n in names for _ in range(12)]
    )
    model.save(folder)
    return model_file(folder)


def refusal(kind: type[MemorylessError], *arguments, **settings) -> str:
    with pytest.raises(kind) as caught:
        export_onnx(*arguments, **settings)
    assert type(caught.value) is kind
    return str(caught.value)
