"""The embedded drawings, and other draws of their classes."""

from __future__ import annotations

import hashlib
import json
import lzma

import numpy as np
import pytest

from memoryless.errors import DataError
from memoryless.images.sources import load
from memoryless.settings import DataSettings


def test_quickdraw100_is_what_was_packed():
    dataset = load(DataSettings())
    assert len(dataset.classes) == 100
    assert (np.bincount(dataset.train.labels) == 80).all()
    assert (np.bincount(dataset.test.labels) == 20).all()
    assert dataset.train.images.shape == (1, 28, 28)
    pixels = dataset.train.read(np.arange(8000))
    assert sorted(pixels.unique().tolist()) == list(range(0, 256, 17))
    digest = hashlib.sha256(pixels.numpy().tobytes()).hexdigest()
    assert digest.startswith("2669245ee3471292")


def test_quickdraw100_with_other_classes_is_read_from_its_folder(tmp_path):
    embedded = load(DataSettings())
    classes = [f"class {i}" for i in range(100)]
    (tmp_path / "quickdraw100.json").write_text(json.dumps({"classes": classes}))
    pixels = np.repeat(np.arange(100, dtype=np.uint8), 100 * 28 * 14)  # both halves hold the class
    (tmp_path / "quickdraw100.xz").write_bytes(lzma.compress(pixels))
    dataset = load(DataSettings(root=tmp_path))
    assert dataset.classes == tuple(classes) != embedded.classes
    last = dataset.train.read(np.array([7999]))  # class 99 is 0x63
    assert sorted(last.unique().tolist()) == [3 * 17, 6 * 17]


DISTINCT = json.dumps({"classes": [f"class {i}" for i in range(100)]})
SIZE = 100 * 100 * 28 * 14


@pytest.mark.parametrize(
    ("names", "pixels"),
    [
        (DISTINCT, b""),
        (DISTINCT, lzma.compress(bytes(10))),
        (DISTINCT, lzma.compress(bytes(SIZE + 1))),
        (DISTINCT, lzma.compress(bytes(100_000_000))),
        (json.dumps({"classes": ["a"] * 100}), lzma.compress(bytes(SIZE))),
        ('{"classes": 3}', lzma.compress(bytes(SIZE))),
        ("[]", b""),
        ("[" * 100_000, b""),
        (None, b""),
    ],
)
def test_a_folder_without_quickdraw100_is_refused(names, pixels, tmp_path):
    if names is not None:
        (tmp_path / "quickdraw100.json").write_text(names)
    (tmp_path / "quickdraw100.xz").write_bytes(pixels)
    with pytest.raises(DataError, match="does not hold quickdraw100"):
        load(DataSettings(root=tmp_path))


def test_every_flipped_bit_of_the_drawings_is_found(tmp_path):
    (tmp_path / "quickdraw100.json").write_text(DISTINCT)
    packed = lzma.compress(bytes(SIZE))
    for i in range(0, len(packed), 5):
        flipped = bytearray(packed)
        flipped[i] ^= 1 << i % 8
        (tmp_path / "quickdraw100.xz").write_bytes(flipped)
        with pytest.raises(DataError, match="does not hold quickdraw100"):
            load(DataSettings(root=tmp_path))
