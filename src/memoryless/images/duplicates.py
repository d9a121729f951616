"""Photos that stand more than once: equal files by their digests, and photos that look the same."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import combinations

import numpy as np
from PIL import Image

from memoryless.images.files import Photo
from memoryless.threads import ahead

SIDE = 32  # of the grey image that is hashed
# In how many of 64 bits near-identical photos may differ. Of 400 photos of birds, saved again at
# quality 50, at 80 % of their size, 10 % brighter, or all of these, none differed in more. Other
# pairs were as close in 4 of 2.6 million cases among birds, 7 of 4.5 million among drawings, 2 of
# 12.5 million in CIFAR-100. A hash of differences between neighbouring pixels needed 8 bits, and
# 25,000 pairs of drawings were as close: on a plain background most of its bits say nothing.
FARTHEST = 6
# Hashes that differ in 6 of 64 bits are equal in at least 3 of 9 bands of 7 or 8 bits. Random ones
# hardly ever are: each of the 84 choices of 3 bands has 2 million values.
EQUAL_BANDS = 3
BANDS = FARTHEST + EQUAL_BANDS
SEVERAL_LABELS = "one image under several labels"


def several_labels(pairs: Iterable[tuple[str, str]]) -> set[str]:
    """Return the digests of images that stand under several labels.

    >>> several_labels([("cat", "A"), ("dog", "A"), ("cat", "B"), ("cat", "B"), ("dog", "C")])
    {'A'}
    """
    times = Counter(digest for _, digest in set(pairs))
    return {digest for digest, labels in times.items() if labels > 1}


def under_several_labels(photos: Sequence[Photo]) -> set[Photo]:
    """Return the photos that are equal to one of another class, byte by byte.

    Only files of the same size are read.
    """
    place: dict[str | None, int] = {}
    each = (place.setdefault(photo.label, len(place)) for photo in photos)
    labels = np.fromiter(each, np.int64, len(photos))
    sizes = np.fromiter(ahead(_size, photos), np.int64, len(photos))
    same = np.flatnonzero(_in_several(sizes, labels) & (sizes > 0))
    read = ahead(_short_digest, (photos[i] for i in same.tolist()))
    digests = np.fromiter(read, np.uint64, len(same))
    equal = same[_in_several(digests, labels[same]) & (digests > 0)]
    return {photos[i] for i in equal.tolist()}


def _in_several(values: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return which values (n,) stand under several labels (n,)."""
    distinct, number = np.unique(values, return_inverse=True)
    classes = labels.max(initial=0) + 1
    pairs = np.unique(number * classes + labels) // classes
    return (np.bincount(pairs, minlength=len(distinct)) > 1)[number]


def _size(photo: Photo) -> int:
    """Return the bytes of a photo's file; 0 if it cannot be read, which reading it will say."""
    try:
        with photo.open() as file:
            return file.seek(0, os.SEEK_END)
    except Exception:  # a damaged member of a zip raises what its decompressor raises
        return 0


def _short_digest(photo: Photo) -> int:
    """Return 8 bytes of the digest of a photo and its box; 0 if it cannot be read."""
    try:
        digest = sha256(photo.content() + repr(photo.box).encode()).digest()
        return int.from_bytes(digest[:8], "big")
    except Exception:
        return 0


def name_copies(names: Sequence[str], digests: Sequence[str]) -> dict[str, str]:
    """Return the names of each image's copies, at most three of them, by digest."""
    found: dict[str, dict[str, None]] = defaultdict(dict)  # in order, each once
    for name, digest in zip(names, digests, strict=True):
        found[digest][name] = None
    return {digest: _first_three([*several]) for digest, several in found.items()}


def _first_three(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return " = ".join(names[:3]) + more


def _cosines(number: int) -> np.ndarray:
    """Return the first rows of a discrete cosine transform."""
    place = 2 * np.arange(SIDE) + 1
    rows: np.ndarray = np.cos(np.pi / (2 * SIDE) * np.arange(number)[:, None] * place)
    return rows  # (number, SIDE)


def perceptual_hash(pixels: np.ndarray) -> int | None:
    """Return which of the 64 lowest frequencies of the grey image are above their median; None if
    the image is flat.
    """
    image = Image.fromarray(pixels).resize((SIDE, SIDE), Image.Resampling.BILINEAR, reducing_gap=4)
    grey = np.asarray(image.convert("L"), dtype=np.float64)
    if np.ptp(grey) < 2:
        return None
    frequencies = (_cosines(9) @ grey @ _cosines(8).T).ravel()[1:65]  # the mean is left out
    return int.from_bytes(np.packbits(frequencies > np.median(frequencies)).tobytes(), "big")


def near_identical(hashes: np.ndarray) -> np.ndarray:
    """Return the number of each photo's group: photos whose hashes differ in few bits are together.

    What is close to one of a group belongs to it. Two hashes that differ in at most `FARTHEST` bits
    are equal in `EQUAL_BANDS` of their `BANDS` bands, so only such hashes are compared.
    """
    distinct, which = np.unique(np.asarray(hashes, dtype=np.uint64), return_inverse=True)
    bands = np.array_split(np.uint64(1) << np.arange(64, dtype=np.uint64), BANDS)
    group = np.arange(len(distinct))
    for equal in combinations(bands, EQUAL_BANDS):
        pairs = [*_close_pairs(distinct, np.bitwise_or.reduce(np.concatenate(equal)))]
        if pairs:
            group = _merged(group, np.concatenate(pairs, axis=1))
    _, first, number = np.unique(group[which], return_index=True, return_inverse=True)
    return first.argsort().argsort()[number]  # groups count from the first photo


def _merged(group: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """Return the group of each hash where the two of each pair are in one."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components  # predicting starts faster without it

    links = coo_array((np.ones(pairs.shape[1]), group[pairs]), shape=(len(group),) * 2)
    joined: np.ndarray = connected_components(links, directed=False)[1][group]
    return joined


def _close_pairs(hashes: np.ndarray, mask: np.uint64) -> Iterator[np.ndarray]:
    """Yield pairs of close hashes that are equal under a mask, as positions (2, n) at a time."""
    order = np.argsort(hashes & mask)
    in_order = hashes[order]
    bands = in_order & mask
    start, step = np.arange(len(order)), 0
    while len(start):  # compare each with the next, then the one after it, as far as bands agree
        step += 1
        start = start[start + step < len(order)]
        start = start[bands[start] == bands[start + step]]
        close = start[_bits(in_order[start] ^ in_order[start + step]) <= FARTHEST]
        if len(close):
            yield np.stack([order[close], order[close + step]])


def _bits(words: np.ndarray) -> np.ndarray:
    """How many bits are set in each 64-bit word (NumPy 1 has no function for it)."""
    eights = np.ascontiguousarray(words).view(np.uint8).reshape(-1, 8)
    number: np.ndarray = BITS[eights].sum(axis=1, dtype=np.uint8)
    return number


BITS = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).sum(axis=1, dtype=np.uint8)
