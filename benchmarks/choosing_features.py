"""Features of birds40, CIFAR-100 and the drawings, extracted once and kept for `choosing`.

Each file of the cache holds features and labels of training and test photos, in one size, and for
birds40 of the mirrored photos too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from memoryless.embed.session import Extractor
from memoryless.images.cifar import load_cifar
from memoryless.images.dataset import Split, place_within_class
from memoryless.images.quickdraw import load_quickdraw100
from memoryless.model.fixed import features_graph_of
from memoryless.settings import ModelSettings
from memoryless.threads import ahead

CIFAR_TRAIN, CIFAR_TEST, MANY_CLASSES, MANY = 100, 30, 10, 500  # photos a class


class Photos(NamedTuple):
    """Photos that are read one by one, and the class of each."""

    read: Callable[[int], np.ndarray]  # uint8 (H, W, 3)
    labels: np.ndarray

    def mirrored(self) -> Photos:
        return Photos(lambda i: np.ascontiguousarray(self.read(i)[:, ::-1]), self.labels)

    def take(self, keep: np.ndarray) -> Photos:
        places = np.flatnonzero(keep)
        return Photos(lambda i: self.read(int(places[i])), self.labels[keep])


def folder(root: Path) -> Photos:
    """Photos below one folder a class, the classes in the order of their names."""
    classes = sorted(p for p in root.iterdir() if p.is_dir())
    files = [(file, c) for c, place in enumerate(classes) for file in sorted(place.iterdir())]

    def read(i: int) -> np.ndarray:
        with Image.open(files[i][0]) as image:
            return np.asarray(image.convert("RGB"))

    return Photos(read, np.array([c for _, c in files]))


def arrays(split: Split) -> Photos:
    """Small images, grey ones in all three channels."""

    def read(i: int) -> np.ndarray:
        pixels = split.read(np.array([i]))[0].numpy().transpose(1, 2, 0)
        return np.ascontiguousarray(np.broadcast_to(pixels, (*pixels.shape[:2], 3)))

    return Photos(read, split.labels)


def first(photos: Photos, each: int, many: int = 0) -> Photos:
    """The first photos of each class, and more of the first few classes."""
    wanted = np.where(photos.labels < MANY_CLASSES, max(each, many), each)
    return photos.take(place_within_class(photos.labels) < wanted)


def extractor(size: int) -> Extractor:
    settings = ModelSettings(backbone="efficientnet-lite0", image_size=size)
    return Extractor(features_graph_of(settings)[0])


def features(photos: Photos, through: Extractor) -> np.ndarray:
    rows: Iterable[np.ndarray] = ahead(
        lambda i: through.feature(photos.read(i)), range(len(photos.labels))
    )
    return np.stack(list(rows))


def sources(birds: Path, cifar: Path) -> dict[str, tuple[Photos, Photos]]:
    """Training and test photos of each data set."""
    objects, drawings = load_cifar("cifar100", cifar), load_quickdraw100()
    learned = first(arrays(objects.train), CIFAR_TRAIN, MANY)
    cifar_parts = learned, first(arrays(objects.test), CIFAR_TEST)
    bird_parts = folder(birds / "train"), folder(birds / "test")
    return {
        "birds40-224": bird_parts,
        "birds40-224-mirror": (bird_parts[0].mirrored(), bird_parts[1].mirrored()),
        "birds40-320": bird_parts,
        "cifar100-224": cifar_parts,
        "drawings-224": (arrays(drawings.train), arrays(drawings.test)),
    }


def fill(cache: Path, birds: Path, cifar: Path) -> None:
    """Fill the cache; what it holds already is not made again."""
    cache.mkdir(parents=True, exist_ok=True)
    for name, parts in sources(birds, cifar).items():
        file = cache / f"{name}.npz"
        if file.exists():
            continue
        through, start = extractor(int(name.split("-")[1])), time.perf_counter()
        train, test = (features(photos, through) for photos in parts)
        seconds = time.perf_counter() - start
        np.savez(file, train=train, test=test, train_labels=parts[0].labels,
                 test_labels=parts[1].labels)  # fmt: skip
        print(f"{name}: {(len(train) + len(test)) / seconds:.0f} photos/s", flush=True)
