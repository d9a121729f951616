"""Image files of any kind become uint8 squares: each is checked once, then decoded when read."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image, ImageOps

from memoryless.images.pixels import (
    attempt,
    know_formats,
    open_upright,
    read_file,
    reason,
    strictly,
    threads,
    to_mode,
)
from memoryless.errors import DataError

if TYPE_CHECKING:
    import torch

# Decoded images of a split stay in memory up to this: 5,400 photos at 224 pixels, and no more than
# a small computer can spare.
MOST_IN_MEMORY = 2**30


@dataclass(frozen=True)
class ImageFile:
    """An image file is known by what its bytes were when it was checked."""

    path: Path
    digest: bytes
    size: int
    exif: bool
    """Whether its EXIF data can be read; if not, the image is taken as it is stored."""


class FileImages:
    """Checked image files are decoded to their central squares of `side` pixels, in one pool."""

    def __init__(self, files: Sequence[ImageFile], side: int, grey: bool = False):
        self.files = list(files)
        self.shape = (1 if grey else 3, side, side)
        self._pool = ThreadPoolExecutor(threads())
        room = (len(self.files), side, side, self.shape[0])
        self._pixels = np.empty(room, np.uint8) if math.prod(room) <= MOST_IN_MEMORY else None
        self._decoded = np.zeros(len(self.files), dtype=bool)

    def __len__(self) -> int:
        return len(self.files)

    def read(self, indices: np.ndarray) -> torch.Tensor:
        import torch

        pixels = self._decode(indices) if self._pixels is None else self._recall(indices)
        return torch.from_numpy(pixels).permute(0, 3, 1, 2)  # (B, C, H, W)

    def stored_bytes(self, indices: np.ndarray) -> int:
        return sum(self.files[i].size for i in indices)

    def _recall(self, indices: np.ndarray) -> np.ndarray:
        assert self._pixels is not None
        missing = np.unique(indices[~self._decoded[indices]])
        if len(missing):
            self._pixels[missing] = self._decode(missing)
            self._decoded[missing] = True
        return self._pixels[indices]

    def _decode(self, indices: np.ndarray) -> np.ndarray:
        channels, side, _ = self.shape
        decode_one = partial(_decode_again, side=side, grey=channels == 1)
        return np.stack(list(self._pool.map(decode_one, [self.files[i] for i in indices])))


def check_files(
    paths: Iterable[Path],
    grey: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[Path, ImageFile | str]:
    """Every file is read to its end and decoded; those that cannot be used get their reason.

    `progress` is told how many files are done, of how many.
    """
    distinct = list(dict.fromkeys(paths))
    know_formats()
    found: dict[Path, ImageFile | str] = {}
    with strictly, ThreadPoolExecutor(threads()) as pool:
        checked = pool.map(partial(_check, grey=grey), distinct)
        for done, (path, file) in enumerate(zip(distinct, checked, strict=True), 1):
            found[path] = file
            progress(done, len(distinct))
    return found


def _check(path: Path, grey: bool) -> ImageFile | str:
    def read(exif: bool) -> bytes:
        content = read_file(path)
        decode(content, 8, grey, exif)
        return content

    found = attempt(read)
    if isinstance(found, str):
        return found
    content, exif = found
    return ImageFile(path, sha256(content).digest(), len(content), exif)


def _decode_again(file: ImageFile, side: int, grey: bool) -> np.ndarray:
    try:
        content = read_file(file.path)
        if sha256(content).digest() != file.digest:
            raise OSError("its bytes have changed")
        return decode(content, side, grey, file.exif)
    except MemoryError:
        raise
    except Exception as error:
        raise DataError(
            f"the image {file.path} cannot be read any more ({reason(error)}): put it back as it "
            "was and run the same command again"
        ) from error


def decode(content: bytes, side: int, grey: bool = False, exif: bool = True) -> np.ndarray:
    """An image file's content becomes its central square, upright, as uint8 (side, side, C)."""
    colour = to_mode(open_upright(content, side, exif), "L" if grey else "RGB")
    square = ImageOps.fit(colour, (side, side), Image.Resampling.BILINEAR)
    return np.asarray(square).reshape(side, side, -1)
