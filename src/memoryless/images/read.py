"""A photo is read once: upright, in sRGB, on white, 8 bits a channel, with facts about it."""

from __future__ import annotations

import importlib
import io
import math
import os
import re
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import PurePath
from typing import Any, BinaryIO, TypeVar

import numpy as np
from PIL import Image, ImageCms, ImageOps, UnidentifiedImageError
from PIL.JpegImagePlugin import JpegImageFile

from memoryless.errors import DataError, cause
from memoryless.images.duplicates import perceptual_hash
from memoryless.images.files import HEAD, HEIC, TIFF, Box, Photo
from memoryless.names import note
from memoryless.threads import ahead

T = TypeVar("T")
JPEG = b"\xff\xd8"
MOST_DECODED = 89_478_485  # pixels in memory; Pillow warns from here on
LARGEST_JPEG = 500_000_000  # pixels, which a reduced size brings to an eighth of each side
LEAST_SIDE = 512  # JPEGs are not decoded to a shorter side below this, whatever is needed
GREY = ("1", "L", "LA", "La")
SRGB = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB"))


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
        super().__init__(f"the photo {name} cannot be read ({why}): repair it, or take it out")
        self.name, self.why = name, why


def read(photo: Photo, min_side: int) -> tuple[np.ndarray, Facts]:
    """Return the pixels of a photo, as `read_pixels` gives them, and the facts about it."""
    return attempt(photo.name, partial(_read, photo, min_side))


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
    return attempt(photo.name, lambda exif: read_pixels(photo.content(), min_side, exif, photo.box))


def sizes_of(photos: Sequence[Photo]) -> Iterator[tuple[int, int]]:
    """Yield width and height of each photo, from its header; broken photos are passed over."""
    yield from filter(None, ahead(_size_of, photos))


def _size_of(photo: Photo) -> tuple[int, int] | None:
    if photo.box:
        left, top, right, bottom = photo.box
        return right - left, bottom - top

    def header(exif: bool) -> tuple[int, int]:
        with photo.open() as file:
            return open_image(file, exif).size

    try:
        return attempt(photo.name, header)
    except UnreadableError:
        return None


def example_photo(width: int, height: int) -> bytes:
    """Return a JPEG of random blots: decoding it takes about as long as a photo of that size."""
    blots = np.random.default_rng(0).integers(0, 256, (height // 8 + 1, width // 8 + 1, 3))
    image = Image.fromarray(blots.astype(np.uint8)).resize((width, height))
    file = io.BytesIO()
    image.save(file, "JPEG", quality=90)
    return file.getvalue()


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
    for i, image in enumerate(images):
        yield _from_pillow(image, i) if isinstance(image, Image.Image) else image


def _from_pillow(image: Image.Image, i: int) -> np.ndarray:
    return attempt(f"at index {i}", partial(pillow_pixels, image))


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


def read_pixels(
    content: bytes, min_side: int, exif: bool = True, box: Box | None = None
) -> np.ndarray:
    """Return the pixels of an image file, or of a box in it, as uint8 (H, W, 3).

    `min_side` is the shorter side that the network's resize needs: a large JPEG is decoded at a
    half, a quarter or an eighth of its size if its shorter side still has twice as many pixels,
    and 512. With a box it is decoded at full size, because the box counts the pixels of that.
    """
    with silently if content.startswith(TIFF) else nullcontext():
        image = open_image(io.BytesIO(content), exif)
        if box is None:
            side = max(LEAST_SIDE, 2 * min_side)
            image.draft("RGB", (side, side))
        if math.prod(image.size) > MOST_DECODED:
            raise OSError(f"it has more than {MOST_DECODED:,} pixels")
        return pillow_pixels(image, exif, box)


def pillow_pixels(image: Image.Image, exif: bool, box: Box | None = None) -> np.ndarray:
    """Return the pixels of a Pillow image, or of a box in it, as uint8 (H, W, 3)."""
    upright = ImageOps.exif_transpose(image) if exif else image
    return np.array(_to_rgb(_cut(upright, box)))


def _cut(image: Image.Image, box: Box | None) -> Image.Image:
    if box is None:
        return image
    left, top, right, bottom = box
    if not (0 <= left < right <= image.width and 0 <= top < bottom <= image.height):
        raise ValueError(f"its box {box} is not within {image.width} x {image.height} pixels")
    return image.crop(box)


def open_image(file: BinaryIO, exif: bool = True) -> Image.Image:
    """Open an image: Pillow reads its header, and its pixels only when they are asked for.

    Without `exif` these data are not touched, because damaged ones can spoil a sound image.
    """
    head = file.read(HEAD)
    file.seek(0)
    if not exif and head.startswith(JPEG):  # Pillow reads these on opening
        content = re.sub(rb"Exif\0\0|MPF\0", lambda found: bytes(len(found[0])), file.read())
        file = io.BytesIO(content)
    if head.startswith(JPEG):
        return _open_jpeg(file)
    try:
        image = Image.open(file)
    except UnidentifiedImageError:
        if head[4:8] == b"ftyp" and head[8:12] in HEIC:
            _learn_heic()
        file.seek(0)
        # Formats that another thread loaded meanwhile are only seen by a second try.
        image = Image.open(file)
    if image.format == "EPS":
        raise OSError("EPS, which is a program that Pillow would have run: convert it to PNG")
    return image


def _open_jpeg(file: BinaryIO) -> Image.Image:
    """Open a JPEG of up to `LARGEST_JPEG` pixels, which Pillow would refuse.

    It is decoded at a reduced size; a progressive one is held in memory at its full size.
    """
    try:
        image = JpegImageFile(file)
    except SyntaxError as error:
        raise UnidentifiedImageError(str(error)) from error
    most = MOST_DECODED if "progressive" in image.info else LARGEST_JPEG
    if math.prod(image.size) > most:
        raise OSError(f"it has more than {most:,} pixels")
    return image


def _learn_heic() -> None:
    try:
        importlib.import_module("pillow_heif").register_heif_opener()
    except ImportError:
        raise OSError(
            "HEIC, which needs pillow-heif: convert it to JPEG, or pip install 'memoryless[heic]'"
        ) from None


def _to_rgb(image: Image.Image) -> Image.Image:
    """Return any Pillow image in sRGB; 16 bits are scaled to 8, what is transparent is white."""
    profile = image.info.get("icc_profile")
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        image = _eight_bits(image)
    if not image.has_transparency_data:
        return _to_srgb(image, profile).convert("RGB")
    layer = image.convert("RGBA")
    opaque = layer.convert("L" if image.mode in GREY else "RGB")
    shown = _to_srgb(opaque, profile).convert("RGB")
    shown.putalpha(layer.getchannel("A"))
    return Image.alpha_composite(Image.new("RGBA", shown.size, "white"), shown).convert("RGB")


def _eight_bits(image: Image.Image) -> Image.Image:
    deep = np.asarray(image).astype(np.float32)
    if not np.isfinite(deep).all():
        raise ValueError("it holds values that are not finite")
    scale = 1.0 if image.mode == "F" else 255 / 65535
    return Image.fromarray(np.clip(np.rint(deep * scale), 0, 255).astype(np.uint8))


def _to_srgb(image: Image.Image, profile: bytes | None) -> Image.Image:
    """Return an image in sRGB; a profile that does not fit or is damaged is ignored."""
    if not profile:
        return image
    if image.mode == "P":
        image = image.convert("RGB")
    transform = _transform(profile, image.mode)
    return ImageCms.applyTransform(image, transform) or image if transform else image


@lru_cache(16)
def _transform(profile: bytes, mode: str) -> ImageCms.ImageCmsTransform | None:
    """Return what brings pixels to sRGB; None if lcms refuses the profile or changes nothing.

    Many photos embed sRGB itself: finding that out on a few colours saves 6 ms on each of them.
    """
    levels = np.arange(0, 256, 51, dtype=np.uint8)
    colours = np.stack(np.meshgrid(levels, levels, levels), axis=-1).reshape(6, 36, 3)
    try:
        sample = Image.fromarray(colours).convert(mode)
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        transform = ImageCms.buildTransform(source, SRGB, mode, "RGB", ImageCms.Intent.PERCEPTUAL)
        shown = ImageCms.applyTransform(sample, transform)
    except (ImageCms.PyCMSError, OSError, ValueError, TypeError):
        return None
    change = np.asarray(shown, dtype=int) - np.asarray(sample.convert("RGB"), dtype=int)
    return transform if np.abs(change).max() > 1 else None


def count_frames(content: bytes, exif: bool) -> int:
    """Return how many frames an animation has; of other images 1."""
    image = open_image(io.BytesIO(content), exif)
    if image.format in ("JPEG", "MPO"):  # an MPO is a photo with its preview, or one for each eye
        return 1
    try:
        return int(getattr(image, "n_frames", 1))
    except (OSError, EOFError, SyntaxError, ValueError, IndexError, Warning):
        return 1  # a damaged later frame does not matter


def central_square(pixels: np.ndarray, side: int, grey: bool = False) -> np.ndarray:
    """Return the central square of pixels (H, W, 3), resized: uint8 (side, side, C).

    A network that is trained sees such squares; the graph of a trained or a fixed network resizes
    photos by the same bicubic filter.
    """
    height, width, _ = pixels.shape
    edge = min(height, width)
    top, left = (height - edge) // 2, (width - edge) // 2
    image = Image.fromarray(pixels[top : top + edge, left : left + edge])
    square = image.convert("L" if grey else "RGB").resize((side, side), Image.Resampling.BICUBIC)
    return np.asarray(square).reshape(side, side, -1)


def attempt(name: str, read: Callable[[bool], T]) -> T:
    """Return what `read(exif)` gives, with EXIF data or else without; or raise why it fails."""
    why: Exception | None = None
    for exif in (True, False):
        try:
            with strictly:
                return read(exif)
        except MemoryError:
            raise
        except Exception as error:  # decoders of damaged images raise anything
            why = error
    assert why is not None
    raise UnreadableError(name, reason(why)) from why


def reason(error: Exception) -> str:
    """Return why an image cannot be used, from what reading it raised."""
    if isinstance(error, UnidentifiedImageError):
        return "not an image"
    if isinstance(error, Image.DecompressionBombError | Image.DecompressionBombWarning):
        return f"it has more than {MOST_DECODED:,} pixels"
    expected = isinstance(error, OSError | SyntaxError | ValueError | Warning) and str(error)
    return cause(error) if expected else f"broken: {cause(error)}"


class _Shared:
    """A context for what belongs to the whole process: the first thread that enters sets it, the
    last one that leaves restores it.
    """

    def __init__(self, context: Callable[[], AbstractContextManager[None]]):
        self.context, self.lock = context, threading.Lock()
        self.inside, self.entered = 0, ExitStack()

    def __enter__(self) -> None:
        with self.lock:
            if not self.inside:
                self.entered.enter_context(self.context())
            self.inside += 1

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.inside -= 1
            if not self.inside:
                self.entered.close()


@contextmanager
def _warnings_are_errors() -> Iterator[None]:
    with warnings.catch_warnings():
        for category in (UserWarning, Image.DecompressionBombWarning):
            warnings.filterwarnings("error", category=category, module=r"PIL\.")
        yield


@contextmanager
def _closed_stderr() -> Iterator[None]:
    """Silence the C library of TIFF, which prints what is wrong with a file by itself."""
    try:
        kept = os.dup(2)
    except OSError:  # there is no standard error
        yield
        return
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 - a device, not a path of ours
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


strictly, silently = _Shared(_warnings_are_errors), _Shared(_closed_stderr)
