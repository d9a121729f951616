"""CIFAR-10 and CIFAR-100 are read in the official layout: the folder, or its tar.gz."""

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

from memoryless.errors import DataError
from memoryless.images.dataset import Dataset, from_arrays

LARGEST = 250_000_000  # bytes; the official archives unpack to 186 million

ALLOWED = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("numpy.core.multiarray", "_reconstruct"): np.empty(0).__reduce__()[0],
}


class CifarUnpickler(pickle.Unpickler):
    """The unpickler builds arrays, lists and strings, and refuses all else a pickle can do."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in ALLOWED:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        return ALLOWED[module, name]


@dataclass(frozen=True)
class Layout:
    """A layout names the files of a data set and the keys in them."""

    archive: str
    folder: str
    train: tuple[str, ...]
    test: tuple[str, ...]
    meta: str
    label_key: bytes
    names_key: bytes

    @property
    def files(self) -> tuple[str, ...]:
        return (*self.train, *self.test, self.meta)


LAYOUTS = {
    "cifar100": Layout(
        archive="cifar-100-python.tar.gz",
        folder="cifar-100-python",
        train=("train",),
        test=("test",),
        meta="meta",
        label_key=b"fine_labels",
        names_key=b"fine_label_names",
    ),
    "cifar10": Layout(
        archive="cifar-10-python.tar.gz",
        folder="cifar-10-batches-py",
        train=tuple(f"data_batch_{i}" for i in range(1, 6)),
        test=("test_batch",),
        meta="batches.meta",
        label_key=b"labels",
        names_key=b"label_names",
    ),
}


def load_cifar(name: str, root: Path | None) -> Dataset:
    """The data set from `root`, which is or holds the official folder or its tar.gz."""
    layout = LAYOUTS[name]
    found = _read(name, layout, root)
    missing = [f for f in layout.files if f not in found]
    if missing:
        raise DataError(f"{name} lacks the files {', '.join(missing)}; unpack the archive again")
    parts = {f: _unpickle(f, content) for f, content in found.items()}
    try:
        train, train_labels = _join([parts[f] for f in layout.train], layout)
        test, test_labels = _join([parts[f] for f in layout.test], layout)
        classes = tuple(n.decode() for n in parts[layout.meta][layout.names_key])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(
            f"{name} is not in the official layout ({error!r}): fetch it again"
        ) from error
    augment = ("pad_crop", "flip")
    return from_arrays(train, train_labels, test, test_labels, classes, name, augment)


def _read(name: str, layout: Layout, root: Path | None) -> dict[str, bytes]:
    base = root or Path(os.environ.get("MEMORYLESS_DATA") or ".")
    try:
        for place in (base / layout.folder, base / layout.archive, base):
            if (place / layout.meta).is_file():
                return _read_folder(place, layout.files)
            if place.is_file():
                return _read_archive(place, layout.files)
    except (DataError, MemoryError):
        raise
    except PermissionError as error:
        raise DataError(f"{error.filename} may not be read: change its permissions") from error
    except Exception as error:  # a damaged archive can raise anything
        raise DataError(f"{place} cannot be read ({error}); fetch the archive again") from error
    raise DataError(
        f"{name} is not in {base}: give the folder that holds {layout.folder}/ or "
        f"{layout.archive} with `root` or in the environment variable MEMORYLESS_DATA"
    )


def _read_folder(folder: Path, wanted: Sequence[str]) -> dict[str, bytes]:
    paths = [folder / name for name in wanted if (folder / name).is_file()]
    for path in paths:
        _bound(path, path.stat().st_size)
    return {path.name: path.read_bytes() for path in paths}


def _read_archive(archive: Path, wanted: Sequence[str]) -> dict[str, bytes]:
    # Read to the end before a byte is used: only there does gzip compare its checksum.
    with gzip.open(archive) as packed:
        content = packed.read(LARGEST + 1)
    _bound(archive, len(content))
    found = {}
    with tarfile.open(fileobj=io.BytesIO(content)) as tar:
        for member in tar:
            name = Path(member.name).name
            file = tar.extractfile(member) if name in wanted and member.isfile() else None
            if file:
                _bound(archive / member.name, member.size)  # a sparse one can claim any size
                found[name] = file.read()
    return found


def _bound(what: Path, size: int) -> None:
    if size > LARGEST:
        raise DataError(
            f"{what} holds more than {LARGEST:,} bytes, which nothing in CIFAR does; fetch the "
            "archive again"
        )


def _unpickle(name: str, content: bytes) -> dict[bytes, Any]:
    try:
        part = CifarUnpickler(io.BytesIO(content), encoding="bytes").load()
    except Exception as error:  # a damaged pickle can raise anything
        raise DataError(
            f"the CIFAR file {name} is damaged or not genuine ({error}): fetch it again"
        ) from error
    if not isinstance(part, dict):
        raise DataError(f"the CIFAR file {name} does not hold a table: fetch it again")
    return part


def _join(parts: list[dict[bytes, Any]], layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    pixels = np.concatenate([np.asarray(p[b"data"]) for p in parts])
    labels = np.concatenate([np.asarray(p[layout.label_key]) for p in parts])
    return pixels.reshape(-1, 3, 32, 32), labels
