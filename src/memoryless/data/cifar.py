"""CIFAR-10 and CIFAR-100 in the official layout: the folder, or the tar.gz it comes in."""

from __future__ import annotations

import io
import lzma
import os
import pickle
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from memoryless.data.dataset import Dataset, from_arrays
from memoryless.errors import DataError

ALLOWED = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("numpy.core.multiarray", "_reconstruct"): np.empty(0).__reduce__()[0],
}


class CifarUnpickler(pickle.Unpickler):
    """Builds arrays, lists and strings; everything else a pickle can do is refused."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in ALLOWED:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        return ALLOWED[module, name]


@dataclass(frozen=True)
class Layout:
    archive: str
    folder: str
    train: tuple[str, ...]
    test: tuple[str, ...]
    meta: str
    label_key: bytes
    names_key: bytes


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
    """`root` holds the official folder or its tar.gz, or is one of them."""
    layout = LAYOUTS[name]
    found = dict(_files(_locate(name, layout, root), layout))
    missing = [f for f in (*layout.train, *layout.test, layout.meta) if f not in found]
    if missing:
        raise DataError(f"{name} lacks the files {', '.join(missing)}; unpack the archive again")
    parts = {f: _unpickle(f, content) for f, content in found.items()}
    try:
        train, train_labels = _join([parts[f] for f in layout.train], layout)
        test, test_labels = _join([parts[f] for f in layout.test], layout)
        classes = tuple(n.decode() for n in parts[layout.meta][layout.names_key])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"{name} is not in the official layout ({error!r})") from error
    augment = ("pad_crop", "flip")
    return from_arrays(train, train_labels, test, test_labels, classes, name, augment)


def _locate(name: str, layout: Layout, root: Path | None) -> Path:
    base = root or Path(os.environ.get("MEMORYLESS_DATA") or ".")
    for candidate in (base / layout.folder, base / layout.archive, base):
        if candidate.is_file() or (candidate / layout.meta).is_file():
            return candidate
    raise DataError(
        f"{name} is not in {base}: give the folder that holds {layout.folder}/ or "
        f"{layout.archive} with --root or in the environment variable MEMORYLESS_DATA"
    )


def _files(place: Path, layout: Layout) -> Iterator[tuple[str, bytes]]:
    wanted = {*layout.train, *layout.test, layout.meta}
    if place.is_dir():
        for path in place.iterdir():
            if path.name in wanted and path.is_file():
                yield path.name, path.read_bytes()
        return
    try:
        with tarfile.open(place) as tar:
            for member in tar:  # to the end: only there does gzip check what was read
                name = Path(member.name).name
                if name in wanted and member.isfile():
                    file = tar.extractfile(member)
                    assert file is not None
                    yield name, file.read()
    except (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        raise DataError(f"{place} cannot be read ({error}); fetch the archive again") from error


def _unpickle(name: str, content: bytes) -> dict[bytes, Any]:
    try:
        part = CifarUnpickler(io.BytesIO(content), encoding="bytes").load()
    except Exception as error:  # a damaged pickle can raise anything
        raise DataError(f"the CIFAR file {name} is damaged or not genuine: {error}") from error
    if not isinstance(part, dict):
        raise DataError(f"the CIFAR file {name} does not hold a table")
    return part


def _join(parts: list[dict[bytes, Any]], layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    pixels = np.concatenate([np.asarray(p[b"data"], dtype=np.uint8) for p in parts])
    labels = np.concatenate([np.asarray(p[layout.label_key], dtype=np.int64) for p in parts])
    return pixels.reshape(-1, 3, 32, 32), labels
