"""Images and labels as callers give them to a model: checked, counted, and noted in passing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from pathlib import PurePath
from typing import Any

import numpy as np

from memoryless.errors import DataError


def are_features(images: Any) -> bool:
    """Say whether images are an array of features (n, d)."""
    return isinstance(images, np.ndarray) and images.ndim == 2 and images.dtype.kind == "f"


def labelled(
    chunks: Iterable[np.ndarray], names: Sequence[str]
) -> Iterator[tuple[np.ndarray, Sequence[str]]]:
    """Yield chunks with their part of the names; raise at the end if there were more or fewer."""
    start = 0
    for rows in chunks:
        if start + len(rows) <= len(names):
            yield rows, names[start : start + len(rows)]
        start += len(rows)
    check_number(start, names)


def check_number(images: int, names: Sequence[str]) -> None:
    """Raise unless there are images, and a label for each."""
    if images != len(names) or not names:
        raise DataError(f"there are {images} images and {len(names)} labels: give each one")


class Repeats:
    """The digests of feature rows, by which leave-one-out leaves out equal ones together."""

    def __init__(self) -> None:
        self.digests: list[int] = []

    def noted(self, rows: np.ndarray) -> np.ndarray:
        """Note the rows of a chunk, and return them."""
        self.digests += [hash(row.tobytes()) for row in rows]
        return rows

    def groups(self) -> np.ndarray:
        """Return a number for each row, the same for equal ones."""
        return np.unique(np.array(self.digests, dtype=np.int64), return_inverse=True)[1]


def several(images: Any) -> Any:
    """Return images, a pandas column as its array; raise if they are none, or only one."""
    if isinstance(images, str | PurePath) or not isinstance(images, Iterable | Sized):
        raise DataError(
            f"images must be several, in a list of paths or of arrays of pixels, not {images!r}"
        )
    shape = tuple(getattr(images, "shape", ()))
    if hasattr(images, "dtype") and len(shape) == 3 and shape[2] in (1, 3):
        raise DataError(f"an array of the shape {shape} is one image, not several: give [image]")
    return images.to_numpy() if hasattr(images, "to_numpy") else images


class FewPhotos:
    """A note whether the sums before and after a call reveal features of single photos.

    The two sums give the mean of the new photos of a known class. With one new photo, the mean is
    its feature. With two, mean and scatter give both features, if the scatter is stored for each
    class or contains no other photo.
    """

    def __init__(self, known: int, forgettable: bool):
        self.known, self.most = known, 2 if forgettable else 1
        self.different: dict[int, set[int]] = {}
        """Hashes of features of each class of the call that differ, three at most."""

    def add(self, features: np.ndarray, labels: np.ndarray) -> None:
        enough = [label for label, rows in self.different.items() if len(rows) > 2]
        for i in np.flatnonzero(~np.isin(labels, enough)):
            rows = self.different.setdefault(int(labels[i]), set())
            if len(rows) < 3:
                rows.add(hash((features[i] + 0.0).tobytes()))  # -0.0 becomes 0.0

    @property
    def traceable(self) -> bool:
        number = {c: len(rows) for c, rows in self.different.items()}
        added = any(count <= self.most for c, count in number.items() if c < self.known)
        return added or sum(count - 1 for count in number.values()) == 1
