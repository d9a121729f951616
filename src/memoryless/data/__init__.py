"""Data sources behind one contract: `load(settings)` gives a `Dataset`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from memoryless.data.cifar import load_cifar
from memoryless.data.dataset import Dataset, Images, Split, from_arrays, hold_out, validation_set
from memoryless.data.files import FILE_SIDE, load_folder, load_list
from memoryless.data.quickdraw import load_quickdraw100
from memoryless.names import choose
from memoryless.settings import DataSettings

__all__ = ["SOURCES", "Dataset", "Images", "Source", "Split", "from_arrays", "hold_out", "load"]


@dataclass(frozen=True)
class Source:
    """Where a data set comes from."""

    load: Callable[[DataSettings], Dataset]
    side: int
    """Side in pixels of what the network sees, unless settings say otherwise."""


SOURCES: dict[str, Source] = {
    "quickdraw100": Source(lambda settings: load_quickdraw100(settings.root), 28),
    "cifar100": Source(lambda settings: load_cifar("cifar100", settings.root), 32),
    "cifar10": Source(lambda settings: load_cifar("cifar10", settings.root), 32),
    "folder": Source(load_folder, FILE_SIDE),
    "list": Source(load_list, FILE_SIDE),
}


def load(settings: DataSettings) -> Dataset:
    """The data set that settings name, checked: every image readable, no class empty."""
    dataset = choose("data set", settings.data, SOURCES).load(settings)
    if settings.image_size:
        dataset = replace(dataset, image_size=settings.image_size)
    return validation_set(dataset, settings.validation) if settings.validation else dataset
