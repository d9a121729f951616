"""Image files of any kind to uint8 squares, decoded when read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageOps, UnidentifiedImageError

READ_ERRORS = (
    OSError,
    SyntaxError,  # what Pillow raises for some damaged PNG files
    ValueError,
    UnidentifiedImageError,
    Image.DecompressionBombError,
)


class FileImages:
    """Image files, each decoded to its central square of `side` pixels."""

    def __init__(self, paths: Sequence[Path], side: int, grey: bool = False):
        self.paths = list(paths)
        self.shape = (1 if grey else 3, side, side)

    def __len__(self) -> int:
        return len(self.paths)

    def read(self, indices: np.ndarray) -> torch.Tensor:
        channels, side, _ = self.shape
        decode_one = partial(decode, side=side, grey=channels == 1)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            pixels = list(pool.map(decode_one, [self.paths[i] for i in indices]))
        return torch.from_numpy(np.stack(pixels)).permute(0, 3, 1, 2)  # (B, C, H, W)

    def stored_bytes(self, indices: np.ndarray) -> int:
        return sum(self.paths[i].stat().st_size for i in indices)


def decode(path: Path, side: int, grey: bool = False) -> np.ndarray:
    """The central square of an image file as uint8 (side, side, C), upright."""
    with Image.open(path) as image:
        image.draft("RGB", (side, side))  # JPEG: decodes at reduced scale where that suffices
        upright = ImageOps.exif_transpose(image)
        colour = to_mode(upright, "L" if grey else "RGB")
    square = ImageOps.fit(colour, (side, side), Image.Resampling.BILINEAR)
    return np.asarray(square).reshape(side, side, -1)


def to_mode(image: Image.Image, mode: str) -> Image.Image:
    """Any Pillow image as "L" or "RGB": 16 bits scaled to 8, transparency shown on white."""
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        deep = np.asarray(image).astype(np.float32)
        scale = 1.0 if image.mode == "F" else 255 / 65535
        image = Image.fromarray(np.clip(np.rint(deep * scale), 0, 255).astype(np.uint8))
    if image.has_transparency_data:
        layer = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", layer.size, "white"), layer)
    return image.convert(mode)


def find_broken(paths: Sequence[Path]) -> dict[Path, str]:
    """Which files cannot be decoded, and why; every file is read to its end."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        reasons = list(pool.map(_why_broken, paths))
    return {path: why for path, why in zip(paths, reasons, strict=True) if why}


def _why_broken(path: Path) -> str:
    try:
        decode(path, side=8)
    except UnidentifiedImageError:
        return "not an image"
    except READ_ERRORS as error:
        return str(error).split("\n")[0].replace(str(path), "").strip(" :'") or "unreadable"
    return ""
