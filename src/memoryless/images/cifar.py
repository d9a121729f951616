"""CIFAR-10 and CIFAR-100, read in the official layout: the folder, or its tar.gz."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from memoryless.errors import DataError, cause
from memoryless.images.dataset import Dataset, from_arrays

LARGEST = 250_000_000  # bytes; the official archives unpack to 186 million

ALLOWED = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("numpy.core.multiarray", "_reconstruct"): np.empty(0).__reduce__()[0],
}


class CifarUnpickler(pickle.Unpickler):
    """An unpickler that builds arrays, lists and strings, and refuses all else a pickle can do."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in ALLOWED:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        return ALLOWED[module, name]


@dataclass(frozen=True)
class Layout:
    """Names of the files of a data set, and of the keys in them."""

    archive: str
    folder: str
    train: tuple[str, ...]
    test: str
    meta: str
    label_key: bytes
    names_key: bytes


LAYOUTS = {
    "cifar100": Layout(
        archive="cifar-100-python.tar.gz",
        folder="cifar-100-python",
        train=("train",),
        test="test",
        meta="meta",
        label_key=b"fine_labels",
        names_key=b"fine_label_names",
    ),
    "cifar10": Layout(
        archive="cifar-10-python.tar.gz",
        folder="cifar-10-batches-py",
        train=tuple(f"data_batch_{i}" for i in range(1, 6)),
        test="test_batch",
        meta="batches.meta",
        label_key=b"labels",
        names_key=b"label_names",
    ),
}


def load_cifar(name: str, root: Path | None) -> Dataset:
    """Load the data set from `root`, which is or holds the official folder or its tar.gz."""
    layout = LAYOUTS[name]
    place = _find(name, layout, root)
    try:
        parts = _read(place, (*layout.train, layout.test, layout.meta))
        train = _join([parts[file] for file in layout.train], layout)
        test = _join([parts[layout.test]], layout)
        classes = tuple(n.decode() for n in parts[layout.meta][layout.names_key])
    except MemoryError:
        raise
    except Exception as error:  # damaged files can raise anything
        raise DataError(
            f"{place} does not hold {name} as it is published ({cause(error)}): fetch the archive "
            "again"
        ) from error
    return from_arrays(*train, *test, classes, name, augment=("pad_crop", "flip"))


def _find(name: str, layout: Layout, root: Path | None) -> Path:
    base = root or Path(os.environ.get("MEMORYLESS_DATA") or ".")
    for place in (base / layout.folder, base / layout.archive, base):
        if place.is_file() or (place / layout.meta).is_file():
            return place
    raise DataError(
        f"{name} is not in {base}: give the folder that holds {layout.folder}/ or "
        f"{layout.archive} with `root` or in the environment variable MEMORYLESS_DATA"
    )


def _read(place: Path, wanted: Sequence[str]) -> dict[str, dict[bytes, Any]]:
    """Return the tables in the wanted files of a folder or an archive."""
    found = _read_archive(place, wanted) if place.is_file() else _read_folder(place, wanted)
    if missing := [name for name in wanted if name not in found]:
        raise ValueError(f"it lacks {', '.join(missing)}")
    return {
        name: CifarUnpickler(io.BytesIO(content), encoding="bytes").load()
        for name, content in found.items()
    }


def _read_folder(folder: Path, wanted: Sequence[str]) -> dict[str, bytes]:
    paths = [folder / name for name in wanted if (folder / name).is_file()]
    for path in paths:
        _check_size(path.name, path.stat().st_size)
    return {path.name: path.read_bytes() for path in paths}


def _read_archive(archive: Path, wanted: Sequence[str]) -> dict[str, bytes]:
    # Read to the end before a byte is used: only there does gzip compare its checksum.
    with gzip.open(archive) as packed:
        content = packed.read(LARGEST + 1)
    _check_size("it", len(content))
    found = {}
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        for member in tar:
            name = Path(member.name).name
            file = tar.extractfile(member) if name in wanted and member.isfile() else None
            if file:
                _check_size(name, member.size)  # a sparse one can claim any size
                found[name] = file.read()
    return found


def _check_size(name: str, size: int) -> None:
    if size > LARGEST:
        raise ValueError(f"{name} has more than {LARGEST:,} bytes, which nothing in CIFAR has")


def _join(parts: Sequence[dict[bytes, Any]], layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Return the pixels and the labels of several files."""
    pixels = np.concatenate([np.asarray(part[b"data"]) for part in parts])
    labels = np.concatenate([np.asarray(part[layout.label_key]) for part in parts])
    return pixels.reshape(-1, 3, 32, 32), labels
