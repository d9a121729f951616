"""What a data source must give: images that can be read by index, labels, class names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import torch

from memoryless.errors import DataError
from memoryless.names import first_ten
from memoryless.randomness import numpy_generator


class Images(Protocol):
    """Images of one size, in memory or decoded when read."""

    shape: tuple[int, int, int]  # (C, H, W)

    def __len__(self) -> int: ...

    def read(self, indices: np.ndarray) -> torch.Tensor:
        """The images at `indices` as uint8 (B, C, H, W)."""

    def stored_bytes(self, indices: np.ndarray) -> int:
        """What keeping these images would take."""


class ArrayImages:
    """Images in memory as uint8 (n, C, H, W)."""

    def __init__(self, pixels: torch.Tensor):
        self.pixels = pixels
        _, channels, height, width = pixels.shape
        self.shape = (channels, height, width)

    def __len__(self) -> int:
        return len(self.pixels)

    def read(self, indices: np.ndarray) -> torch.Tensor:
        return self.pixels[torch.from_numpy(indices)]

    def stored_bytes(self, indices: np.ndarray) -> int:
        return len(indices) * int(np.prod(self.shape))


@dataclass(frozen=True)
class Split:
    """Some of the images with their labels."""

    images: Images
    labels: np.ndarray  # (n,) int64
    indices: np.ndarray  # (n,) positions in `images`

    @classmethod
    def whole(cls, images: Images, labels: np.ndarray) -> Split:
        return cls(images, np.asarray(labels, dtype=np.int64), np.arange(len(images)))

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, positions: np.ndarray) -> Split:
        """The part of it at these positions, or where a mask is true."""
        return replace(self, labels=self.labels[positions], indices=self.indices[positions])

    def relabel(self, labels: np.ndarray) -> Split:
        return replace(self, labels=labels)

    def join(self, other: Split) -> Split:
        """Both, in this order; they must be of the same images."""
        assert self.images is other.images
        return replace(
            self,
            labels=np.concatenate([self.labels, other.labels]),
            indices=np.concatenate([self.indices, other.indices]),
        )

    def read(self, positions: np.ndarray) -> torch.Tensor:
        return self.images.read(self.indices[positions])

    @property
    def stored_bytes(self) -> int:
        return self.images.stored_bytes(self.indices)


@dataclass(frozen=True)
class Dataset:
    """A named set of classes with training and test images."""

    name: str
    classes: tuple[str, ...]
    train: Split
    test: Split
    image_size: int
    """Side of what the network sees."""
    augment: tuple[str, ...] = ("flip",)
    """Augmentation that suits these images."""
    notes: tuple[str, ...] = ()
    """What was left out on loading."""

    @property
    def channels(self) -> int:
        return self.train.images.shape[0]


def hold_out(labels: np.ndarray, share: float, *context: int | str) -> np.ndarray:
    """Mask of a random share of each class: at least one image, and one is left.

    Drawn from `context` alone, so the same share is held out whenever it is asked for.
    """
    shuffled = numpy_generator(0, *context).permutation(len(labels))
    counts = np.bincount(labels)
    wanted = np.minimum(np.maximum(np.rint(counts * share), 1), counts - 1)
    mask = np.empty(len(labels), dtype=bool)
    mask[shuffled] = place_within_class(labels[shuffled]) < wanted[labels[shuffled]]
    return mask


def place_within_class(labels: np.ndarray) -> np.ndarray:
    """How many of the same class come before each entry.

    >>> place_within_class(np.array([2, 0, 2, 2, 0])).tolist()
    [0, 0, 1, 2, 1]
    """
    order = np.argsort(labels, kind="stable")
    counts = np.bincount(labels)
    place = np.empty(len(labels), dtype=np.int64)
    place[order] = np.arange(len(labels)) - np.repeat(np.cumsum(counts) - counts, counts)
    return place


def validation_set(dataset: Dataset, share: float) -> Dataset:
    """The same classes with part of the training images in place of the test images."""
    mask = hold_out(dataset.train.labels, share, "validation")
    return replace(dataset, train=dataset.train.take(~mask), test=dataset.train.take(mask))


def check_classes(dataset: Dataset) -> Dataset:
    """The data set, if every class has training and test images."""
    for split, labels in (("training", dataset.train.labels), ("test", dataset.test.labels)):
        counts = np.bincount(labels, minlength=len(dataset.classes))
        empty = [dataset.classes[i] for i in np.flatnonzero(counts == 0)]
        if empty:
            raise DataError(
                f"{len(empty)} of the classes of {dataset.name} have no {split} image: "
                f"{first_ten(empty)}; number the classes without gaps, with images for each"
            )
    return dataset


def drop_empty_classes(dataset: Dataset) -> Dataset:
    """The data set without the classes that lack training or test images."""
    size = len(dataset.classes)
    counts = [np.bincount(s.labels, minlength=size) for s in (dataset.train, dataset.test)]
    keep = np.minimum(*counts) > 0
    if keep.all():
        return dataset
    new_index = np.cumsum(keep) - 1

    def part(split: Split) -> Split:
        kept = split.take(keep[split.labels])
        return kept.relabel(new_index[kept.labels])

    return replace(
        dataset,
        classes=tuple(np.array(dataset.classes, dtype=object)[keep]),
        train=part(dataset.train),
        test=part(dataset.test),
    )


def from_arrays(
    train_images: np.ndarray | torch.Tensor,
    train_labels: np.ndarray | torch.Tensor,
    test_images: np.ndarray | torch.Tensor,
    test_labels: np.ndarray | torch.Tensor,
    classes: tuple[str, ...] | None = None,
    name: str = "arrays",
    augment: tuple[str, ...] = ("flip",),
) -> Dataset:
    """A data set from uint8 arrays: (n, H, W), (n, C, H, W) or (n, H, W, C) with C 1 or 3."""
    labels = [_labels(train_labels), _labels(test_labels)]
    number = len(classes) if classes else max(int(y.max(initial=-1)) for y in labels) + 1
    for split, y in zip(("training", "test"), labels, strict=True):
        wrong = np.flatnonzero((y < 0) | (y >= number))
        if len(wrong):
            raise DataError(
                f"{len(wrong)} {split} labels are out of range 0..{number - 1}, at positions "
                f"{first_ten(map(str, wrong))}; number the classes from 0"
            )
    train, test = (
        Split.whole(ArrayImages(_pixels(x, len(y))), y)
        for x, y in zip((train_images, test_images), labels, strict=True)
    )
    if train.images.shape != test.images.shape:
        raise DataError(
            f"training images are {train.images.shape} and test images {test.images.shape}; "
            "bring them to one shape"
        )
    names = classes or tuple(str(i) for i in range(number))
    return check_classes(Dataset(name, names, train, test, train.images.shape[1], augment))


def as_images(images: np.ndarray | torch.Tensor | Images) -> Images:
    """Images that can be read by index, of arrays or as they are."""
    if isinstance(images, np.ndarray):
        images = torch.from_numpy(np.ascontiguousarray(images))
    if isinstance(images, torch.Tensor):
        return ArrayImages(_pixels(images, len(images)))
    return images


def _labels(labels: np.ndarray | torch.Tensor) -> np.ndarray:
    array = np.asarray(labels)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise DataError(f"labels must be one integer an image, not {array.dtype} {array.shape}")
    return array.astype(np.int64)


def _pixels(images: np.ndarray | torch.Tensor, number: int) -> torch.Tensor:
    pixels = torch.as_tensor(images)
    if pixels.dtype != torch.uint8 or pixels.ndim not in (3, 4):
        raise DataError(
            f"images must be uint8 (n, H, W), (n, C, H, W) or (n, H, W, C), "
            f"not {pixels.dtype} {tuple(pixels.shape)}"
        )
    if pixels.ndim == 3:
        pixels = pixels[:, None]
    if pixels.shape[1] not in (1, 3) and pixels.shape[-1] in (1, 3):
        pixels = pixels.permute(0, 3, 1, 2)
    _, channels, height, width = pixels.shape
    if channels not in (1, 3) or height != width or len(pixels) != number:
        raise DataError(
            f"images must be square, with 1 or 3 channels, one for each of the {number} labels, "
            f"not {tuple(pixels.shape)}"
        )
    return pixels.contiguous()
