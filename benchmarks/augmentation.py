"""Augmentation and normalisation of a batch of 128 images of 3 x 32 x 32, one thread."""

from __future__ import annotations

import torch

from benchmarks.timing import side_by_side
from memoryless.train.augment import Preparation

SETS = {
    "pad_crop+flip": ("pad_crop", "flip"),
    "affine+flip": ("affine", "flip"),
    "resized_crop+flip": ("resized_crop", "flip"),
}


def measure() -> dict[str, float]:
    """Microseconds an image."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    images = torch.randint(0, 256, (128, 3, 32, 32), dtype=torch.uint8)
    generator = torch.Generator().manual_seed(0)
    results = {}
    for name, augment in SETS.items():
        preparation = Preparation(32, (0.5,) * 3, (0.25,) * 3, augment)
        seconds = side_by_side({name: lambda p=preparation: p.train(images, generator)}, 300)
        results[f"{name} us/image"] = round(seconds[name] / 128 * 1e6, 1)
    torch.set_num_threads(threads)
    return results
