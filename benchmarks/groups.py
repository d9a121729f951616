"""What middle layers and a second network add: drawings, and photos of a folder."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from memoryless import Model
from memoryless.embed import PRETRAINED, WITH_LITE2, WITH_MIDDLE
from memoryless.images.find import find_photos
from memoryless.images.quickdraw import load_quickdraw100

Part = tuple[list[Any], list[str]]


def drawings() -> tuple[Part, Part]:
    """Return images and labels of quickdraw100, to learn and to test with."""
    data = load_quickdraw100()
    parts = []
    for split in (data.train, data.test):
        images = np.asarray(split.images.read(np.arange(len(split))))[:, 0]
        parts.append((list(images), [data.classes[label] for label in split.labels]))
    return parts[0], parts[1]


def photos(place: Path) -> tuple[Part, Part]:
    """Return the photos in train/ and test/ and their labels."""
    found = [find_photos(place / name).photos for name in ("train", "test")]
    train, test = ([[*part], [str(photo.label) for photo in part]] for part in found)
    return (train[0], train[1]), (test[0], test[1])


def compare(train: Part, test: Part) -> None:
    """Print the test accuracy of each backbone, the gain over the first with its 95 % interval, and
    the time.
    """
    found = {}
    for backbone in (PRETRAINED, WITH_MIDDLE, WITH_LITE2):
        model = Model(backbone=backbone)
        model.open()
        began = time.perf_counter()
        model.learn(*train)
        right = 100.0 * (np.array(model.predict(test[0])) == test[1])
        found[backbone] = right, time.perf_counter() - began
    first, shortest = found[PRETRAINED]
    for backbone, (right, seconds) in found.items():
        gain, error = (right - first).mean(), (right - first).std() / np.sqrt(len(right))
        print(f"{backbone}: {right.mean():.1f} % of {len(right):,}")
        print(f"gain {gain:.1f} +- {1.96 * error:.1f} points, time x {seconds / shortest:.1f}")


def measure(place: Path) -> None:
    compare(*drawings())
    compare(*photos(place))
