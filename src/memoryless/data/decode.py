"""Image files of any kind become uint8 squares: each is checked once, then decoded when read."""

from __future__ import annotations

import io
import math
import re
import stat
import threading
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageOps, UnidentifiedImageError

from memoryless.errors import DataError

# Decoded images of a split stay in memory up to this: 5,400 photos at 224 pixels, and no more than
# a small computer can spare.
MOST_IN_MEMORY = 2**30
LARGEST_FILE = 2**30  # of the images that Pillow takes, none needs more bytes
_one_check = threading.Lock()


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
        self._pool = ThreadPoolExecutor(torch.get_num_threads())
        room = (len(self.files), side, side, self.shape[0])
        self._pixels = np.empty(room, np.uint8) if math.prod(room) <= MOST_IN_MEMORY else None
        self._decoded = np.zeros(len(self.files), dtype=bool)

    def __len__(self) -> int:
        return len(self.files)

    def read(self, indices: np.ndarray) -> torch.Tensor:
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


def check_files(paths: Iterable[Path], grey: bool = False) -> dict[Path, ImageFile | str]:
    """Every file is read to its end and decoded; those that cannot be used get their reason."""
    distinct = list(dict.fromkeys(paths))
    # Pillow loads its formats when first asked: two threads that ask at once may miss some.
    Image.preinit()
    Image.init()
    # Filters are the whole process's, so one check at a time sets them, and only for Pillow.
    with _one_check, warnings.catch_warnings():
        for category in (UserWarning, Image.DecompressionBombWarning):
            warnings.filterwarnings("error", category=category, module=r"PIL\.")
        with ThreadPoolExecutor(torch.get_num_threads()) as pool:
            return dict(zip(distinct, pool.map(partial(_check, grey=grey), distinct), strict=True))


def _check(path: Path, grey: bool) -> ImageFile | str:
    why = ""
    for exif in (True, False):
        try:
            content = _read(path)
            decode(content, 8, grey, exif)
            return ImageFile(path, sha256(content).digest(), len(content), exif)
        except MemoryError:
            raise
        except Exception as error:  # decoders of damaged images raise anything
            why = _reason(error)
    return why


def _reason(error: Exception) -> str:
    if isinstance(error, UnidentifiedImageError):
        return "not an image"
    if isinstance(error, Image.DecompressionBombError | Image.DecompressionBombWarning):
        return f"it has more than {Image.MAX_IMAGE_PIXELS:,} pixels"
    text = (getattr(error, "strerror", None) or str(error)).partition("\n")[0].strip()[:200]
    expected = isinstance(error, OSError | SyntaxError | ValueError | Warning)
    return text if text and expected else f"broken: {text or type(error).__name__}"


def _read(path: Path) -> bytes:
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError("not a regular file")  # a FIFO would keep us waiting, a device has no end
    if status.st_size > LARGEST_FILE:
        raise OSError(f"it has {status.st_size:,} bytes, more than {LARGEST_FILE:,}")
    return path.read_bytes()


def _decode_again(file: ImageFile, side: int, grey: bool) -> np.ndarray:
    try:
        content = _read(file.path)
        if sha256(content).digest() != file.digest:
            raise OSError("its bytes have changed")
        return decode(content, side, grey, file.exif)
    except MemoryError:
        raise
    except Exception as error:
        raise DataError(
            f"the image {file.path} cannot be read any more ({_reason(error)}): put it back as it "
            "was and run the same command again"
        ) from error


def decode(content: bytes, side: int, grey: bool = False, exif: bool = True) -> np.ndarray:
    """An image file's content becomes its central square, upright, as uint8 (side, side, C)."""
    if not exif and content.startswith(b"\xff\xd8"):  # JPEG: Pillow reads these on opening
        content = re.sub(rb"Exif\0\0|MPF\0", lambda found: bytes(len(found[0])), content)
    with Image.open(io.BytesIO(content)) as image:
        image.draft("RGB", (side, side))  # JPEG: decodes at reduced scale where that suffices
        upright = ImageOps.exif_transpose(image) if exif else image
        colour = to_mode(upright, "L" if grey else "RGB")
    square = ImageOps.fit(colour, (side, side), Image.Resampling.BILINEAR)
    return np.asarray(square).reshape(side, side, -1)


def to_mode(image: Image.Image, mode: str) -> Image.Image:
    """Any Pillow image becomes "L" or "RGB": 16 bits scaled to 8, transparency shown on white."""
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        deep = np.asarray(image).astype(np.float32)
        if not np.isfinite(deep).all():
            raise ValueError("it holds values that are not finite")
        scale = 1.0 if image.mode == "F" else 255 / 65535
        image = Image.fromarray(np.clip(np.rint(deep * scale), 0, 255).astype(np.uint8))
    if image.has_transparency_data:
        layer = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer)
    return image.convert(mode)
