"""A first look at photos: whether each can be read, and which are nearly the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from memoryless.images.dataset import counted
from memoryless.images.pixels import (
    attempt,
    know_formats,
    open_image,
    open_upright,
    read_pixels,
    threads,
    to_mode,
)
from memoryless.errors import DataError
from memoryless.names import first_ten

if TYPE_CHECKING:
    from memoryless.images.photos import Found, Photo

SIDE = 32  # of the grey image that is hashed
# In how many of 64 bits near-identical photos may differ. Of 400 photos of birds, saved again at
# quality 50, at 80 % of their size, 10 % brighter, or all of these, none differed in more. Other
# pairs were as close in 4 of 2.6 million cases among birds, 7 of 4.5 million among drawings, 2 of
# 12.5 million in CIFAR-100. A hash of differences between neighbouring pixels needed 8 bits, and
# 25,000 pairs of drawings were as close: on a plain background most of its bits say nothing.
FARTHEST = 6
BANDS = FARTHEST + 1


@dataclass(frozen=True)
class Glance:
    """A glance tells of a photo what is needed before it is learned."""

    sha256: str
    """Of the bytes of its file."""
    size: int
    """Of its file, in bytes."""
    width: int
    height: int
    """As they are stored, whichever way EXIF data turn the photo."""
    frames: int
    """More than one if it is animated; the first is used."""
    hash: int
    """64 bits, of which few differ between photos that look the same."""
    exif: bool
    """Whether its EXIF data can be read; if not, it is taken as it is stored."""


def glance(photo: Photo) -> Glance | str:
    """What a first look at a photo finds, or why it cannot be used."""

    def look(exif: bool) -> Glance:
        content = photo.content()
        digest = sha256(content)
        image = open_image(content, exif)
        width, height = image.size
        number = perceptual_hash(to_mode(open_upright(content, 4 * SIDE, exif), "L"))
        if number is None:  # one colour says nothing: such photos are the same if their bytes are
            number = int.from_bytes(digest.digest()[:8], "big")
        frames = _frames(image)
        return Glance(digest.hexdigest(), len(content), width, height, frames, number, exif)

    found = attempt(look)
    return found if isinstance(found, str) else found[0]


def _frames(image: Image.Image) -> int:
    if image.format == "MPO":  # a photo with its preview, or one for each eye
        return 1
    try:
        return int(getattr(image, "n_frames", 1))
    except (OSError, EOFError, SyntaxError, ValueError, IndexError, Warning):
        return 1  # a damaged later frame does not matter


def glances(
    photos: Sequence[Photo], progress: Callable[[int], None] = lambda done: None
) -> list[Glance | str]:
    """A glance at every photo, in threads; `progress` is told how many are done."""
    know_formats()
    found = []
    with ThreadPoolExecutor(threads()) as pool:
        for done, one in enumerate(pool.map(glance, photos), 1):
            found.append(one)
            progress(done)
    return found


def load(photo: Photo, least: int) -> np.ndarray:
    """The pixels of a photo, uint8 (H, W, 3), as `read_pixels` gives them."""
    found = attempt(lambda exif: read_pixels(photo.content(), least, exif))
    if isinstance(found, str):
        raise DataError(f"the photo {photo.name} cannot be read ({found}): mend it, or take it out")
    return found[0]


def usable(found: Found, looks: Sequence[Glance | str]) -> tuple[list[Photo], list[Glance]]:
    """Photos that can be used, and their glances.

    The others are added to `found.skipped`, and what is odd about those used to `found.notes`; a
    class none of whose photos can be read is an error.
    """
    both = list(zip(found.photos, looks, strict=True))
    used = [(photo, look) for photo, look in both if isinstance(look, Glance)]
    bad = {photo: look for photo, look in both if isinstance(look, str)}
    _check_classes(used, bad)
    found.skipped |= {photo.name: why for photo, why in bad.items()}
    found.notes += _remarks(used)
    return [photo for photo, _ in used], [look for _, look in used]


def _check_classes(used: Sequence[tuple[Photo, Glance]], bad: Mapping[Photo, str]) -> None:
    left = {photo.label for photo, _ in used}
    lost = {p.label: f"{p.label} ({p.name}: {why})" for p, why in bad.items() if p.label}
    lost = {label: example for label, example in lost.items() if label not in left}
    if lost:
        number = counted(len(lost), "class has", "classes have")
        raise DataError(
            f"{number} no photo that can be read: {first_ten(lost.values())}; add photos, or take "
            f"{'the class' if len(lost) == 1 else 'these classes'} out"
        )


def _remarks(used: Sequence[tuple[Photo, Glance]]) -> Iterator[str]:
    odd = {
        ("photo has several frames, of which the first is used",
         "photos have several frames, of which the first is used"):
            [photo.name for photo, look in used if look.frames > 1],
        ("photo has damaged EXIF data and is taken as it is stored",
         "photos have damaged EXIF data and are taken as they are stored"):
            [photo.name for photo, look in used if not look.exif],
    }  # fmt: skip
    for nouns, names in odd.items():
        if names:
            yield f"{counted(len(names), *nouns)}: {first_ten(names)}"


def _cosines(number: int) -> np.ndarray:
    """The first rows of a discrete cosine transform."""
    place = 2 * np.arange(SIDE) + 1
    return np.cos(np.pi / (2 * SIDE) * np.arange(number)[:, None] * place)  # (number, SIDE)


def perceptual_hash(image: Image.Image) -> int | None:
    """Which of the 64 lowest frequencies of a grey image are above their median; None if flat."""
    grey = np.asarray(image.resize((SIDE, SIDE), Image.Resampling.BILINEAR), dtype=np.float64)
    if np.ptp(grey) < 2:
        return None
    frequencies = (_cosines(9) @ grey @ _cosines(8).T).ravel()[1:65]  # the mean is left out
    return int.from_bytes(np.packbits(frequencies > np.median(frequencies)).tobytes(), "big")


def near_identical(hashes: np.ndarray) -> np.ndarray:
    """The number of each photo's group: photos whose hashes differ in few bits are together.

    What is close to one of a group belongs to it. Two hashes that differ in at most `FARTHEST` bits
    are equal in one of `BANDS` bands, so only those that share a band are compared.
    """
    distinct, which = np.unique(np.asarray(hashes, dtype=np.uint64), return_inverse=True)
    group = np.arange(len(distinct))
    for band in np.array_split(np.arange(64, dtype=np.uint64), BANDS):
        mask = np.bitwise_or.reduce(np.uint64(1) << band)
        for one, other in _close_pairs(distinct, mask):
            group = _join(group, one, other)
    lowest = np.full(len(distinct), len(which))
    np.minimum.at(lowest, group[which], np.arange(len(which)))  # groups count from the first photo
    return np.unique(lowest[group[which]], return_inverse=True)[1]


def _close_pairs(hashes: np.ndarray, mask: np.uint64) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Pairs of close hashes that are equal under a mask, as two arrays of positions at a time."""
    order = np.argsort(hashes & mask, kind="stable")
    in_order = hashes[order]
    band = in_order & mask
    start, step = np.arange(len(order)), 0
    while len(start):  # compare each with the next, then the one after it, as long as bands agree
        step += 1
        start = start[start + step < len(order)]
        start = start[band[start] == band[start + step]]
        close = start[_bits(in_order[start] ^ in_order[start + step]) <= FARTHEST]
        if len(close):
            yield order[close], order[close + step]


def _bits(words: np.ndarray) -> np.ndarray:
    """How many bits are set in each 64-bit word (NumPy 1 has no function for it)."""
    eights = np.ascontiguousarray(words).view(np.uint8).reshape(-1, 8)
    return BITS[eights].sum(axis=1, dtype=np.uint8)


BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.uint8)


def _join(group: np.ndarray, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Groups after these pairs are put together, each named by its lowest position."""
    while (group[one] != group[other]).any():
        lower = np.minimum(group[one], group[other])
        for end in (one, other):
            np.minimum.at(group, group[end], lower)
        while (group[group] != group).any():
            group = group[group]
    return group
