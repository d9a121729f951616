"""Data sources keep one contract: `load(config)` gives a `Dataset`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from memoryless.config import DataConfig
from memoryless.data.cifar import load_cifar
from memoryless.data.dataset import Dataset, Images, Split, from_arrays, hold_out, validation_set
from memoryless.data.files import load_folder, load_list
from memoryless.data.quickdraw import load_quickdraw100
from memoryless.names import choose

__all__ = ["SOURCES", "Dataset", "Images", "Split", "from_arrays", "hold_out", "load"]

SOURCES: dict[str, Callable[[DataConfig], Dataset]] = {
    "quickdraw100": lambda config: load_quickdraw100(config.root),
    "cifar100": lambda config: load_cifar("cifar100", config.root),
    "cifar10": lambda config: load_cifar("cifar10", config.root),
    "folder": load_folder,
    "list": load_list,
}


def load(config: DataConfig) -> Dataset:
    """A config names the data set, which is checked: every image readable, no class empty."""
    dataset = choose("data set", config.data, SOURCES)(config)
    if config.image_size:
        dataset = replace(dataset, image_size=config.image_size)
    return validation_set(dataset, config.validation) if config.validation else dataset
