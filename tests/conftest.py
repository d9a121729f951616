"""Toy data and settings small enough for a test; the same random numbers every time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from memoryless.config import Config
from memoryless.data import Dataset, from_arrays


@pytest.fixture(autouse=True)
def fixed_seeds() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    np.random.seed(0)


def make_toy(classes: int = 6, train: int = 12, test: int = 4, side: int = 8) -> Dataset:
    """Grey images, each class a pattern of its own under noise: learnable in a few epochs."""
    rng = np.random.default_rng(5)
    patterns = rng.integers(0, 256, (classes, side, side))

    def draw(number: int) -> tuple[np.ndarray, np.ndarray]:
        labels = np.repeat(np.arange(classes), number)
        noise = rng.normal(0, 40, (len(labels), side, side))
        return np.clip(patterns[labels] + noise, 0, 255).astype(np.uint8), labels

    return from_arrays(*draw(train), *draw(test), name="toy", augment=("pad_crop", "flip"))


def make_photos(root: Path, classes: int = 4, number: int = 6) -> Path:
    """A folder of small photos of odd sizes, each class a colour of its own under noise."""
    rng = np.random.default_rng(7)
    for label in range(classes):
        colour = rng.integers(0, 256, 3)
        (root / f"class {label}").mkdir(parents=True)
        for i in range(number):
            pixels = colour + rng.normal(0, 40, (11 + label, 9 + i, 3))
            photo = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
            photo.save(root / f"class {label}" / f"{i}.png")
    return root


@pytest.fixture
def toy() -> Dataset:
    return make_toy()


@pytest.fixture
def tiny(tmp_path: Path) -> Config:
    """Settings that train the toy data in well under a second."""
    return Config(states="3", width=2, epochs=2, batch_size=16, output=tmp_path / "out")
