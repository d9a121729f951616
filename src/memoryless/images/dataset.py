"""A data source gives a `Dataset`: images that can be read by index, labels, class names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, cast

import numpy as np

from memoryless.errors import DataError
from memoryless.names import counted, first_ten
from memoryless.randomness import numpy_generator

if TYPE_CHECKING:
    import torch


class Images(Protocol):
    """Images have one size and are held in memory or decoded when read."""

    shape: tuple[int, int, int]  # (C, H, W)

    def __len__(self) -> int: ...

    def read(self, indices: np.ndarray) -> torch.Tensor:
        """Return images at `indices` as uint8 (B, C, H, W)."""

    def stored_bytes(self, indices: np.ndarray) -> int:
        """Return how many bytes keeping these images would take."""


class ArrayImages:
    """Images in memory, uint8 (n, C, H, W), or features in their place, float (n, d, 1, 1)."""

    def __init__(self, pixels: torch.Tensor):
        self.pixels = pixels
        _, channels, height, width = pixels.shape
        self.shape = (channels, height, width)

    def __len__(self) -> int:
        return len(self.pixels)

    def read(self, indices: np.ndarray) -> torch.Tensor:
        import torch

        return self.pixels[torch.from_numpy(indices)]

    def stored_bytes(self, indices: np.ndarray) -> int:
        return len(indices) * self.pixels[:1].nbytes


@dataclass(frozen=True)
class Split:
    """A split names some of the images and gives their labels."""

    images: Images
    labels: np.ndarray  # (n,) int64
    indices: np.ndarray  # (n,) positions in `images`

    @classmethod
    def whole(cls, images: Images, labels: np.ndarray) -> Split:
        return cls(images, np.asarray(labels, dtype=np.int64), np.arange(len(images)))

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, positions: np.ndarray) -> Split:
        """Return the part at these positions, or where a mask is true."""
        return replace(self, labels=self.labels[positions], indices=self.indices[positions])

    def relabel(self, labels: np.ndarray) -> Split:
        return replace(self, labels=labels)

    def join(self, other: Split) -> Split:
        """Return both splits as one; they must be of the same images."""
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
    """A data set names its classes and holds their training and test images."""

    name: str
    classes: tuple[str, ...]
    train: Split
    test: Split
    image_size: int
    """The network sees squares of this side."""
    augment: tuple[str, ...] = ("flip",)
    """These augmentations suit the images."""
    notes: tuple[str, ...] = ()
    """Sentences about what loading left out or found odd."""

    @property
    def channels(self) -> int:
        return self.train.images.shape[0]


def hold_out(labels: np.ndarray, share: float, *context: int | str) -> np.ndarray:
    """Draw a mask of a random share of each class: at least one image, and at least one is left.

    It is drawn from `context` alone, so the same share is held out whenever it is asked for.
    """
    shuffled = numpy_generator(0, *context).permutation(len(labels))
    counts = np.bincount(labels)
    wanted = np.minimum(np.maximum(np.rint(counts * share), 1), counts - 1)
    mask = np.empty(len(labels), dtype=bool)
    mask[shuffled] = place_within_class(labels[shuffled]) < wanted[labels[shuffled]]
    return mask


def hold_out_groups(
    labels: np.ndarray, groups: np.ndarray, share: float, *context: int | str
) -> np.ndarray:
    """Draw a mask of a share of each class, of whole groups only; some of each class are left.

    >>> labels, groups = np.array([0, 0, 0, 0, 1]), np.array([0, 0, 1, 2, 3])
    >>> mask = hold_out_groups(labels, groups, 0.5, 0)
    >>> bool(mask[0] == mask[1]), bool(mask[4])
    (True, False)
    """
    rank = numpy_generator(0, *context, "held-out photos").permutation(groups.max(initial=0) + 1)
    count = np.bincount(labels)
    wanted = np.rint(count * share).clip(min=1)
    pairs, size = np.unique(labels * len(rank) + groups, return_counts=True)
    own, group = divmod(pairs, len(rank))  # each class has a part of each of its groups
    order = np.lexsort((rank[group], size > wanted[own], own))  # what is too large comes last
    own, group, size = own[order], group[order], size[order]
    place = np.cumsum(size) - size - (np.cumsum(count) - count)[own]  # of a part within its class
    fits = (place + size <= wanted[own]) | (place == 0)
    taken = fits & (place + size < count[own])
    whole = np.ones(groups.max(initial=0) + 1, dtype=bool)
    whole[group[~taken]] = False  # a group of several classes is held out in all of them or none
    held_out: np.ndarray = whole[groups]
    return held_out


def place_within_class(labels: np.ndarray) -> np.ndarray:
    """Return, for each entry, how many entries of its class come before it.

    >>> place_within_class(np.array([2, 0, 2, 2, 0])).tolist()
    [0, 0, 1, 2, 1]
    """
    order = np.argsort(labels, kind="stable")
    counts = np.bincount(labels)
    place = np.empty(len(labels), dtype=np.int64)
    place[order] = np.arange(len(labels)) - np.repeat(np.cumsum(counts) - counts, counts)
    return place


def validation_set(dataset: Dataset, share: float) -> Dataset:
    """Return the data set with a share of its training images in place of the test images."""
    mask = hold_out(dataset.train.labels, share, "validation")
    return replace(dataset, train=dataset.train.take(~mask), test=dataset.train.take(mask))


def check_classes(dataset: Dataset) -> Dataset:
    """Return the data set; raise if a class has no training or no test image."""
    if not dataset.classes:
        raise DataError(f"{dataset.name} has no class with training and test images: add images")
    for split, labels in (("training", dataset.train.labels), ("test", dataset.test.labels)):
        counts = np.bincount(labels, minlength=len(dataset.classes))
        empty = [dataset.classes[i] for i in np.flatnonzero(counts == 0)]
        if empty:
            raise DataError(
                f"{dataset.name} has {counted(len(empty), 'class', 'classes')} without a {split} "
                f"image: {first_ten(empty)}; number the classes without gaps, with images for each"
            )
    return dataset


def from_arrays(
    train_images: np.ndarray | torch.Tensor,
    train_labels: np.ndarray | torch.Tensor,
    test_images: np.ndarray | torch.Tensor,
    test_labels: np.ndarray | torch.Tensor,
    classes: tuple[str, ...] | None = None,
    name: str = "arrays",
    augment: tuple[str, ...] = ("flip",),
) -> Dataset:
    """Make a data set of uint8 arrays (n, H, W), (n, C, H, W) or (n, H, W, C) with C 1 or 3."""
    labels = [_labels(train_labels), _labels(test_labels)]
    number = len(classes) if classes else max(int(y.max(initial=0)) for y in labels) + 1
    for split, y in zip(("training", "test"), labels, strict=True):
        wrong = np.flatnonzero((y < 0) | (y >= number))
        if len(wrong):
            raise DataError(
                f"{counted(len(wrong), f'{split} label', f'{split} labels')} out of range "
                f"0..{number - 1}, at {first_ten(map(str, wrong))}: number the classes from 0"
            )
    train, test = (
        Split.whole(_in_memory(as_pixels(x, len(y))), y)
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
    """Return images that can be read by index: arrays are wrapped, others stay as they are."""
    if hasattr(images, "read"):
        return cast("Images", images)
    return _in_memory(as_pixels(images, len(images)))


def _in_memory(pixels: np.ndarray) -> ArrayImages:
    import torch

    return ArrayImages(torch.from_numpy(pixels))


def _labels(labels: np.ndarray | torch.Tensor) -> np.ndarray:
    array = np.asarray(labels)
    if array.ndim != 1 or not np.issubdtype(array.dtype, np.integer):
        raise DataError(f"labels must be one integer an image, not {array.dtype} {array.shape}")
    return array.astype(np.int64)


def as_pixels(images: np.ndarray | torch.Tensor, number: int) -> np.ndarray:
    """Return images as one array (n, C, H, W), checked: square, of one or three channels."""
    array = np.asarray(images)
    if array.dtype != np.uint8 or array.ndim not in (3, 4):
        raise DataError(
            f"images must be uint8 (n, H, W), (n, C, H, W) or (n, H, W, C), "
            f"not {array.dtype} {array.shape}"
        )
    pixels = array[:, None] if array.ndim == 3 else array
    if pixels.shape[1] not in (1, 3) and pixels.shape[-1] in (1, 3):
        pixels = pixels.transpose(0, 3, 1, 2)
    _, channels, height, width = pixels.shape
    if channels not in (1, 3) or height != width or len(pixels) != number:
        raise DataError(
            f"images must be square, with 1 or 3 channels, one for each of the {number} labels, "
            f"not {pixels.shape}"
        )
    # torch cannot share arrays that are reversed, and warns of those that are read-only.
    return np.require(pixels, requirements=["C", "W"])
