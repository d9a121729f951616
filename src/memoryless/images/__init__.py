"""Data sources behind one contract: `load(settings)` gives a `Dataset`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from memoryless.images.cifar import load_cifar
from memoryless.images.dataset import Dataset, Images, Split, from_arrays, hold_out, validation_set
from memoryless.images.files import FILE_SIDE, FilesProgress, load_folder, load_list, silent
from memoryless.images.quickdraw import load_quickdraw100
from memoryless.names import choose
from memoryless.settings import WIDTH, DataSettings

__all__ = ["SOURCES", "Dataset", "Images", "Source", "Split", "from_arrays", "hold_out", "load"]


@dataclass(frozen=True)
class Source:
    """Where a data set comes from."""

    load: Callable[..., Dataset]
    """What makes a data set of settings; where it checks files, it tells how far it is."""
    side: int
    """Side in pixels of what the network sees, unless settings say otherwise."""
    about: str = ""
    width: int = WIDTH
    """Channels of a ResNet's first stage that suit the images, unless settings say otherwise."""
    files: bool = False
    """Whether it reads image files, which takes long enough to tell how far it is."""


SOURCES: dict[str, Source] = {
    "quickdraw100": Source(
        lambda settings: load_quickdraw100(settings.root),
        28,
        "100 classes of drawings, embedded in the package",
        width=8,
    ),
    "cifar100": Source(
        lambda settings: load_cifar("cifar100", settings.root),
        32,
        "CIFAR-100, read from the official archive or folder",
    ),
    "cifar10": Source(
        lambda settings: load_cifar("cifar10", settings.root),
        32,
        "CIFAR-10, read from the official archive or folder",
    ),
    "folder": Source(
        load_folder, FILE_SIDE, "your photos: folders of classes, a zip or a table", files=True
    ),
    "list": Source(
        load_list, FILE_SIDE, "your photos, in two lists of paths and labels", files=True
    ),
}


def load(settings: DataSettings, progress: FilesProgress = silent) -> Dataset:
    """The data set that settings name, checked: every image readable, no class empty.

    `progress` is told how many files are checked, of how many.
    """
    source = choose("data set", settings.data, SOURCES)
    dataset = source.load(settings, progress) if source.files else source.load(settings)
    if settings.image_size:
        dataset = replace(dataset, image_size=settings.image_size)
    return validation_set(dataset, settings.validation) if settings.validation else dataset
