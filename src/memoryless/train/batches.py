"""Batches of a split are read ahead where reading means decoding."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch

from memoryless.images.dataset import ArrayImages, Split
from memoryless.threads import ahead

Batch = tuple[torch.Tensor, torch.Tensor]


def batches(split: Split, batch_size: int, order: np.ndarray | None = None) -> Iterator[Batch]:
    """Yield images and labels in `order`, in batches of almost equal size.

    No batch has one image, which batch normalisation could not take, unless there is only one.
    """
    positions = np.arange(len(split)) if order is None else order

    def read(part: np.ndarray) -> Batch:
        return split.read(part), torch.from_numpy(split.labels[part])

    number = min(math.ceil(len(positions) / batch_size), max(len(positions) // 2, 1))
    parts = np.array_split(positions, number)
    in_memory = isinstance(split.images, ArrayImages)
    yield from map(read, parts) if in_memory else ahead(read, parts, threads=1)


def channel_statistics(split: Split) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return mean and deviation of each channel over all pixels, on the scale 0..1."""
    total = torch.zeros(split.images.shape[0], dtype=torch.float64)
    squares = torch.zeros_like(total)
    pixels = 0
    for images, _ in batches(split, 256):
        values = images.to(torch.float32) / 255
        total += values.sum((0, 2, 3), dtype=torch.float64)
        squares += values.square().sum((0, 2, 3), dtype=torch.float64)
        pixels += values[:, 0].numel()
    mean = total / pixels
    std = (squares / pixels - mean.square()).clamp(min=0).sqrt()
    std[std == 0] = 1.0  # a constant channel carries nothing to scale
    return tuple(mean.tolist()), tuple(std.tolist())
