"""Whether anything of a single photo is in the files of a model: bytes, name, texts, feature."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import combinations
from pathlib import PurePath
from typing import Any

import numpy as np
from PIL import Image

from memoryless.data.photos import Photo
from memoryless.data.pixels import attempt, open_image
from memoryless.model_folder import Saved
from memoryless.model_folder.saved import name_in
from memoryless.photos.seeing import Progress, silent
from memoryless.photos.windows import Files
from memoryless.scorers import square_roots
from memoryless.sums import Sums

SHORTEST = 8  # characters of a name or text that is searched for: shorter ones are anywhere
ENCODINGS = ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
CLOSE = 1e-3  # of its largest entry: so near to a feature nothing else comes by chance
STEP = 2**20  # places of an array that are looked at together
EXIF_PARTS = (0x8769, 0x8825)  # the parts of EXIF data for the camera and for the place
USER_COMMENT, WINDOWS_TEXTS = 0x9286, range(0x9C9B, 0x9CA0)


@dataclass(frozen=True)
class Trace:
    """Something of a photo that a file of a model holds."""

    kind: str
    """One of "bytes", "name", "text", "feature", and "difference" of two kept states."""
    photo: str
    file: str


@dataclass(frozen=True)
class Scan:
    """What was searched for in how much, and what was found."""

    files: int
    bytes: int
    photos: int
    names: int
    """Names of photos that were searched for; those of few characters, or of classes, are not."""
    texts: int
    """Texts in photos, such as EXIF data have, that were searched for."""
    features: int
    """Features of photos that were searched for in all arrays; none where features are trained."""
    traces: list[Trace]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def scan(
    files: Mapping[str, bytes],
    states: Sequence[Saved],
    photos: Sequence[Photo],
    features: np.ndarray | None = None,
    progress: Progress = silent,
) -> Scan:
    """Search the files of a model, and the arrays of its states, for anything of single photos.

    `features` (n, d) are those of the photos, in their order.
    """
    held, names = Files(list(files.values())), list(files)
    classes = {name for saved in states for name in saved.about["classes"]}
    owner, texts = _read(held, photos, progress)
    stems = [(i, PurePath(photo.name).stem) for i, photo in enumerate(photos)]
    stems, texts = _telling(stems, classes), _telling(texts, classes)
    found = [(i, "bytes", names[file]) for file, i in _owned(held, owner)]
    found += [(i, "name", names[file]) for i, file in _texts(held, stems)]
    found += [(i, "text", names[file]) for i, file in _texts(held, texts)]
    if features is not None:
        found += _features(states, features)
    traces = [Trace(kind, photos[i].name, file) for i, kind, file in dict.fromkeys(found)]
    number = 0 if features is None else len(features)
    size = sum(map(len, files.values()))
    return Scan(len(files), size, len(photos), len(stems), len(texts), number, traces)


def _read(
    held: Files, photos: Sequence[Photo], progress: Progress
) -> tuple[np.ndarray, list[tuple[int, str]]]:
    """Which photo alone holds each window of the files, and the texts in photos.

    A window's owner is the photo's number + 1; 0 is no photo, and -1 several. Of photos that are
    the same byte by byte, only the first is read.
    """
    owner = np.zeros(len(held.bytes), dtype=np.int32)
    texts: list[tuple[int, str]] = []
    seen = set()
    for i, photo in enumerate(photos):
        content = content_of(photo)
        if content is not None and (digest := sha256(content).digest()) not in seen:
            seen.add(digest)
            places = held.shared(content)
            owner[places] = np.where(owner[places] == 0, i + 1, -1)
            texts += [(i, text) for text in texts_in(content)]
        progress(i + 1)
    return owner, texts


def content_of(photo: Photo) -> bytes | None:
    """The bytes of a photo's file, unless it cannot be read."""
    found = attempt(lambda exif: photo.content())
    return None if isinstance(found, str) else found[0]


def _owned(held: Files, owner: np.ndarray) -> list[tuple[int, int]]:
    """Pairs of a file and of the one photo that a window of the file is from."""
    places = np.flatnonzero(owner > 0)
    pairs = np.stack([held.file_of(places), owner[places] - 1], axis=1)
    return [(int(file), int(i)) for file, i in np.unique(pairs, axis=0)]


def _telling(texts: Iterable[tuple[int, str]], classes: set[str]) -> list[tuple[int, str]]:
    """Texts that are long enough, and no part of a class name, which a model may hold."""
    names = "\n".join(classes)
    return [(i, text) for i, text in texts if len(text) >= SHORTEST and text not in names]


def _texts(held: Files, texts: Sequence[tuple[int, str]]) -> list[tuple[int, int]]:
    """Pairs of a photo and of a file that holds its text."""
    encoded = {
        (i, text.encode(encoding, "surrogatepass")) for i, text in texts for encoding in ENCODINGS
    }
    ordered = sorted(encoded)
    found = held.texts([text for _, text in ordered])
    return sorted({(ordered[number][0], file) for number, file in found})


def texts_in(content: bytes) -> list[str]:
    """The texts in an image file beside its pixels: EXIF data, comments, text chunks."""
    found = attempt(lambda exif: sorted(_texts_of(open_image(content, exif), exif)))
    return [] if isinstance(found, str) else found[0]


def _texts_of(image: Image.Image, exif: bool) -> set[str]:
    parts: list[Mapping[Any, Any]] = [image.info]
    if exif:
        data = image.getexif()
        parts += [data, *(data.get_ifd(part) for part in EXIF_PARTS)]
    values = [(tag, value) for part in parts for tag, value in part.items()]
    return {text for tag, value in values for text in _as_text(tag, value)}


def _as_text(tag: Any, value: Any) -> Iterator[str]:
    if isinstance(value, bytes) and tag in WINDOWS_TEXTS:
        value = value.decode("utf-16-le", "ignore")
    elif isinstance(value, bytes) and tag == USER_COMMENT:
        value = value[8:].decode("utf-8", "ignore")  # eight bytes say which signs it has
    elif isinstance(value, bytes) and tag == "comment":
        value = value.decode("utf-8", "ignore")
    if isinstance(value, str):
        yield value.strip("\0 \n")


def _features(states: Sequence[Saved], features: np.ndarray) -> Iterator[tuple[int, str, str]]:
    """Photos whose feature, as it is or as it is summed up, is in an array, or what two states
    differ by.
    """
    raw = features.astype(np.float64)
    wanted = np.concatenate([raw, square_roots(raw)])
    for saved in states:
        for part in saved.about["files"]:
            file = name_in(saved.folder, saved.path / f"{part}.safetensors")
            for array in saved.arrays(part).values():
                for i in find_rows(wanted, array):
                    yield i % len(raw), "feature", file
    for one, two in combinations(states, 2):
        for i in find_rows(wanted, differences(one, two)):
            yield i % len(raw), "difference", f"states {one.number} and {two.number}"


def differences(one: Saved, two: Saved) -> np.ndarray:
    """The mean of the photos that two states differ by, for each class that both know."""
    sums = [Sums.restore(saved.arrays("record")) for saved in (one, two)]
    own, other = _same_classes(one.about, two.about)
    added = sums[1].count[other] - sums[0].count[own]
    moved = added != 0
    total = [s.count[at, None] * s.mean[at] for s, at in zip(sums, (own, other), strict=True)]
    return (total[1] - total[0])[moved] / added[moved, None]


def _same_classes(one: Mapping[str, Any], two: Mapping[str, Any]) -> np.ndarray:
    """The columns (2, n) of classes that two states share, also if they were renamed: a class keeps
    its column, unless others were forgotten in between.
    """
    if one["forgotten"] == two["forgotten"]:
        both = range(min(len(one["classes"]), len(two["classes"])))
        return np.array([both, both], dtype=int)
    index = {name: i for i, name in enumerate(one["classes"])}
    pairs = [(index[name], j) for j, name in enumerate(two["classes"]) if name in index]
    return np.array(pairs, dtype=int).reshape(-1, 2).T


def find_rows(features: np.ndarray, array: np.ndarray) -> list[int]:
    """The numbers of features (n, d) that stand in an array, at any place of it.

    Where a feature stands, the sum of d numbers is nearly its own: running sums tell these places.
    Of them, those stay that are near to it entry by entry, from its largest on.
    """
    flat = array.reshape(-1).astype(np.float64)
    d, most = features.shape[1], CLOSE * np.abs(features).max(1)
    found: set[int] = set()
    for start in range(0, len(flat) - d + 1, STEP):
        part = flat[start : start + STEP + d - 1]
        running = np.concatenate([[0], part.cumsum()])
        sums = running[d:] - running[:-d]
        order = np.argsort(sums)
        wide = d * most + 1e-9 * np.abs(running).max()  # and rounding errors
        ends = [np.searchsorted(sums[order], features.sum(1) + side) for side in (-wide, wide)]
        for i in np.flatnonzero((ends[0] < ends[1]) & (most > 0)):
            if len(_near(features[i], part, order[ends[0][i] : ends[1][i]], most[i])):
                found.add(int(i))
    return sorted(found)


def _near(feature: np.ndarray, part: np.ndarray, places: np.ndarray, most: float) -> np.ndarray:
    """Those of some places of an array from which on every entry is near to the feature's."""
    for j in np.argsort(-np.abs(feature)):
        places = places[np.abs(part[places + j] - feature[j]) <= most]
        if not len(places):
            break
    return places
