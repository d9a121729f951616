"""One way from a file to its pixels: upright, in sRGB, on white, 8 bits a channel."""

from __future__ import annotations

import importlib
import io
import os
import re
import stat
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, TypeVar

import numpy as np
from PIL import Image, ImageCms, ImageOps, UnidentifiedImageError

from memoryless.threads import cores

T = TypeVar("T")
Box = tuple[int, int, int, int]
"""Left, top, right, bottom, in pixels of the upright image."""
LARGEST_FILE = 2**30  # of the images that Pillow takes, none needs more bytes
LEAST_SIDE = 512  # JPEGs are not decoded to a shorter side below this, whatever is needed
GREY = ("1", "L", "LA", "La")
# Brands of the box `ftyp` that HEIC files begin with (ISO/IEC 23008-12, annex B).
HEIC = (b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"msf1")
HEAD = 32  # bytes of a file that tell whether it may be an image
TIFF = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
BEGINNINGS = (b"\xff\xd8\xff", b"\x89PNG", b"GIF8", b"BM", *TIFF)
SRGB = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB"))


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
        return np.array(to_mode(_cut(_upright(image, exif), box), "RGB"))


def pillow_pixels(image: Image.Image, exif: bool = True) -> np.ndarray:
    """Return the pixels of a Pillow image, uint8 (H, W, 3)."""
    return np.array(to_mode(_upright(image, exif), "RGB"))


def _upright(image: Image.Image, exif: bool) -> Image.Image:
    return ImageOps.exif_transpose(image) if exif else image


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
    if not exif and head.startswith(b"\xff\xd8"):  # JPEG: Pillow reads these on opening
        content = re.sub(rb"Exif\0\0|MPF\0", lambda found: bytes(len(found[0])), file.read())
        file = io.BytesIO(content)
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


def _learn_heic() -> None:
    try:
        importlib.import_module("pillow_heif").register_heif_opener()
    except ImportError:
        raise OSError(
            "HEIC, which needs pillow-heif: convert it to JPEG, or pip install 'memoryless[heic]'"
        ) from None


def to_mode(image: Image.Image, mode: str) -> Image.Image:
    """Any Pillow image becomes "L" or "RGB": 16 bits scaled to 8, in sRGB, alpha on white."""
    profile = image.info.get("icc_profile")
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        image = _eight_bits(image)
    if not image.has_transparency_data:
        return _to_srgb(image, profile).convert(mode)
    layer = image.convert("RGBA")
    opaque = layer.convert("L" if image.mode in GREY else "RGB")
    shown = _to_srgb(opaque, profile).convert("RGB")
    shown.putalpha(layer.getchannel("A"))
    return Image.alpha_composite(Image.new("RGBA", shown.size, "white"), shown).convert(mode)


def _eight_bits(image: Image.Image) -> Image.Image:
    deep = np.asarray(image).astype(np.float32)
    if not np.isfinite(deep).all():
        raise ValueError("it holds values that are not finite")
    scale = 1.0 if image.mode == "F" else 255 / 65535
    return Image.fromarray(np.clip(np.rint(deep * scale), 0, 255).astype(np.uint8))


def _to_srgb(image: Image.Image, profile: bytes | None) -> Image.Image:
    """The image by its embedded profile; one that does not fit or is damaged is ignored."""
    if not profile:
        return image
    if image.mode == "P":
        image = image.convert("RGB")
    transform = _transform(profile, image.mode)
    return ImageCms.applyTransform(image, transform) or image if transform else image


@lru_cache(16)
def _transform(profile: bytes, mode: str) -> ImageCms.ImageCmsTransform | None:
    """What brings pixels to sRGB, or None if lcms refuses the profile or nothing would change.

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


def open_file(path: Path) -> BinaryIO:
    """Open a regular file that is not too large for an image."""
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise OSError("not a regular file")  # a FIFO would keep us waiting, a device has no end
    check_size(status.st_size)
    return path.open("rb")


def begins_as_image(head: bytes) -> bool:
    """Whether a file that begins so may be a JPEG, PNG, GIF, BMP, TIFF, WebP, AVIF or HEIC."""
    boxed = head[4:8] == b"ftyp" and head[8:12] in (*HEIC, b"avif", b"avis")
    return boxed or head.startswith(BEGINNINGS) or head[:4] + head[8:12] == b"RIFFWEBP"


def check_size(size: int) -> None:
    """Raise if a file has more bytes than any image needs."""
    if size > LARGEST_FILE:
        raise OSError(f"it has {size:,} bytes, more than {LARGEST_FILE:,}")


def attempt(read: Callable[[bool], T]) -> tuple[T, bool] | str:
    """What `read(exif)` gives, with EXIF data or else without, and which; or why it fails."""
    why = ""
    for exif in (True, False):
        try:
            with strictly:
                return read(exif), exif
        except MemoryError:
            raise
        except Exception as error:  # decoders of damaged images raise anything
            why = reason(error)
    return why


def reason(error: Exception) -> str:
    """Why an image cannot be used, from what reading it raised."""
    if isinstance(error, UnidentifiedImageError):
        return "not an image"
    if isinstance(error, Image.DecompressionBombError | Image.DecompressionBombWarning):
        return f"it has more than {Image.MAX_IMAGE_PIXELS:,} pixels"
    text = (getattr(error, "strerror", None) or str(error)).partition("\n")[0].strip()[:200]
    expected = isinstance(error, OSError | SyntaxError | ValueError | Warning)
    return text if text and expected else f"broken: {text or type(error).__name__}"


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


def know_formats() -> None:
    """Pillow loads its formats when first asked: two threads that ask at once may miss some."""
    Image.preinit()
    Image.init()


def threads() -> int:
    """How many threads decode: torch's number where it is loaded, else one for each core."""
    torch = sys.modules.get("torch")
    if torch:
        return int(torch.get_num_threads())
    return cores()
