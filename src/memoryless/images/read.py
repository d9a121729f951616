"""A photo, in a file or a zip, becomes pixels, with the facts that learning asks for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path, PurePath
from typing import Any, BinaryIO

import numpy as np
from PIL import Image

from memoryless.errors import DataError
from memoryless.images.duplicates import perceptual_hash
from memoryless.images.pixels import (
    Box,
    attempt,
    count_frames,
    know_formats,
    open_file,
    open_image,
    pillow_pixels,
    read_pixels,
    threads,
)
from memoryless.images.sources import note
from memoryless.threads import ahead


@dataclass(frozen=True)
class Photo:
    """A photo: the name that messages show, its class, and how its file is opened."""

    name: str
    label: str | None
    """The class that its source names; None for photos without labels."""
    open: Callable[[], BinaryIO] = field(repr=False, compare=False)
    """Opens its file, or raises an OSError with the reason."""
    box: Box | None = None
    """The part of the upright image that counts; all of it where there is none."""

    @classmethod
    def at(cls, path: PurePath | str, label: str | None = None) -> Photo:
        """Return the photo in a file."""
        return cls(str(path), label, partial(open_file, Path(path)))

    def content(self) -> bytes:
        """Return the bytes of its file."""
        with self.open() as file:
            return file.read()


@dataclass(frozen=True)
class Facts:
    """What learning asks of a photo beside its pixels."""

    sha256: str
    """Of the bytes of its file, and of its box, if it has one."""
    hash: int
    """64 bits, of which few differ between photos that look the same."""
    size: int
    """Of its file, in bytes."""
    frames: int
    """More than one if it is animated; the first is used."""
    exif: bool
    """Whether its EXIF data can be read; if not, it is taken as it is stored."""


class UnreadableError(DataError):
    """A photo that cannot be read, and why."""

    def __init__(self, name: str, why: str):
        super().__init__(f"the photo {name} cannot be read ({why}): mend it, or take it out")
        self.name, self.why = name, why


def read(photo: Photo, min_side: int) -> tuple[np.ndarray, Facts]:
    """Return the pixels of a photo, as `read_pixels` gives them, and the facts about it."""
    found = attempt(partial(_read, photo, min_side))
    if isinstance(found, str):
        raise UnreadableError(photo.name, found)
    return found[0]


def _read(photo: Photo, min_side: int, exif: bool) -> tuple[np.ndarray, Facts]:
    content = photo.content()
    pixels = read_pixels(content, min_side, exif, photo.box)
    digest = sha256(content + repr(photo.box).encode() if photo.box else content)
    number = perceptual_hash(pixels)
    if number is None:  # photos of one colour are the same if their bytes are
        number = int.from_bytes(digest.digest()[:8], "big")
    frames = count_frames(content, exif)
    return pixels, Facts(digest.hexdigest(), number, len(content), frames, exif)


def load(photo: Photo, min_side: int) -> np.ndarray:
    """Return the pixels of a photo alone, which is a little faster."""
    found = attempt(lambda exif: read_pixels(photo.content(), min_side, exif, photo.box))
    if isinstance(found, str):
        raise UnreadableError(photo.name, found)
    return found[0]


def shorter_sides(photos: Sequence[Photo]) -> Iterator[int]:
    """Yield the shorter side of each photo, from its header; broken photos are passed over."""
    know_formats()
    for side in ahead(_shorter_side, photos, threads()):
        if side:
            yield side


def _shorter_side(photo: Photo) -> int:
    if photo.box:
        left, top, right, bottom = photo.box
        return min(right - left, bottom - top)

    def header(exif: bool) -> int:
        with photo.open() as file:
            return min(open_image(file, exif).size)

    found = attempt(header)
    return 0 if isinstance(found, str) else found[0]


def remarks(photos: Sequence[Photo], facts: Sequence[Facts]) -> Iterator[str]:
    """Yield what is odd about photos that can be used all the same."""
    both = list(zip(photos, facts, strict=True))
    yield from note(
        [photo.name for photo, fact in both if fact.frames > 1],
        "photo has several frames, of which the first is used",
        "photos have several frames, of which the first is used",
    )
    yield from note(
        [photo.name for photo, fact in both if not fact.exif],
        "photo has damaged EXIF data and is taken as it is stored",
        "photos have damaged EXIF data and are taken as they are stored",
    )


def pixels_of(image: Any, min_side: int) -> np.ndarray:
    """Return the pixels, uint8 (H, W, 3), of a path, a `Photo`, a Pillow image or an array."""
    if isinstance(image, str | PurePath):
        image = Photo.at(image)
    if isinstance(image, Photo):
        return load(image, min_side)
    return _from_pillow(image, 0) if isinstance(image, Image.Image) else as_photo(image)


def one_by_one(images: Any) -> bool:
    """Return whether images are a list of whatever `pixels_of` reads, not one array of pixels."""
    kind = getattr(getattr(images, "dtype", None), "kind", "")
    return isinstance(images, Sequence) or kind in ("O", "U")


def ready(images: Iterable[Any]) -> Iterator[Any]:
    """Yield images that any thread can read: Pillow's are decoded here, in the thread that asks."""
    know_formats()
    for i, image in enumerate(images):
        yield _from_pillow(image, i) if isinstance(image, Image.Image) else image


def _from_pillow(image: Image.Image, i: int) -> np.ndarray:
    found = attempt(partial(pillow_pixels, image))
    if isinstance(found, str):
        raise DataError(f"image {i} cannot be read ({found}): mend it, or take it out")
    return found[0]


def as_photo(image: Any) -> np.ndarray:
    """Return an array as uint8 (H, W, 3); grey ones stand in all three channels."""
    photo = np.asarray(image)
    if photo.ndim == 2:
        photo = photo[..., None]
    if photo.ndim == 3 and photo.shape[2] not in (1, 3) and photo.shape[0] in (1, 3):
        photo = photo.transpose(1, 2, 0)
    if photo.dtype != np.uint8 or photo.ndim != 3 or photo.shape[2] not in (1, 3) or not photo.size:
        raise DataError(
            f"a photo must be uint8 (H, W), (H, W, 3) or (3, H, W), not {photo.dtype} "
            f"{photo.shape}: convert it, by (255 * photo).astype('uint8') if it holds 0 to 1"
        )
    return np.ascontiguousarray(np.broadcast_to(photo, (*photo.shape[:2], 3)))
