"""Thousands of damaged images: each is read cleanly or has its reason; none warns or hangs."""

from __future__ import annotations

import faulthandler
import io
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image, ImageCms, features

from memoryless.images.decode import FileImages, ImageFile, check_files
from memoryless.images.photos import Glance, find_photos, glances, load
from memoryless.errors import DataError

FORMATS = {
    "jpeg": {"quality": 90},
    "png": {},
    "gif": {},
    "bmp": {},
    "tiff": {},
    "tiff lzw": {"compression": "tiff_lzw"},
    "webp": {},
    "avif": {},
    "ico": {},
    "dds": {},
    "dds dxt1": {"pixel_format": "DXT1"},
    "ppm": {},
    "tga": {},
    "tga rle": {"compression": "tga_rle"},
    "sgi": {},
    "pcx": {},
    "jpeg2000": {},
    "mpo": {},
    "spider": {},
}


def originals() -> list[bytes]:
    """A small picture in every format that this Pillow writes, some with EXIF data or a profile."""
    rng = np.random.default_rng(1)
    steps = np.linspace(0, 200, 24).astype(int)
    pixels = (
        steps[:, None, None] // 2 + steps[None, :, None] // 2 + rng.integers(0, 50, (24, 24, 3))
    )
    picture = Image.fromarray(pixels.astype(np.uint8))
    exif = Image.Exif()
    exif[0x0112], exif[0x010E] = 6, "a description"
    kept = []
    for name, options in FORMATS.items():
        kind = name.split()[0]
        if kind in ("webp", "avif") and not features.check(kind):
            continue
        profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
        extras = {}, {"exif": exif}, {"icc_profile": profile.replace(b"rXYZ", b"gXYZ", 1)}
        for extra in extras if kind in ("jpeg", "png", "webp", "avif") else ({},):
            file = io.BytesIO()
            image = picture.convert("F") if kind == "spider" else picture
            image.save(file, kind, **options, **extra)
            kept.append(file.getvalue())
    return kept


def mutations(number: int) -> Iterator[bytes]:
    """Flipped bytes, mostly near the start, where the headers are; cuts; pieces of two files."""
    rng = np.random.default_rng(2)
    sources = originals()
    for i in range(number):
        content = bytearray(sources[i % len(sources)])
        kind = rng.integers(4)
        if kind <= 1:
            reach = len(content) if kind else min(len(content), 200)
            for place in rng.integers(0, reach, rng.integers(1, 9)):
                content[place] = rng.integers(256)
        elif kind == 2:
            del content[rng.integers(len(content)) :]
        else:
            other = sources[rng.integers(len(sources))]
            here, there = rng.integers(len(content)), rng.integers(len(other))
            content[here : here + rng.integers(1, 99)] = other[there : there + rng.integers(1, 99)]
        yield bytes(content)


def survive(number: int, folder: Path) -> Counter[str]:
    outcomes: Counter[str] = Counter()
    paths = []
    for i, content in enumerate(mutations(number)):
        paths.append(folder / f"{i}.bin")
        paths[-1].write_bytes(content)
    for start in range(0, number, 100):
        batch = paths[start : start + 100]
        faulthandler.dump_traceback_later(300, exit=True)  # a hang ends the test, and shows where
        found = check_files(batch)
        sound = [file for file in found.values() if isinstance(file, ImageFile)]
        outcomes.update(r for r in found.values() if isinstance(r, str))
        outcomes["sound"] += len(sound)
        if sound:
            images = FileImages(sound, side=16).read(np.arange(len(sound)))
            assert images.shape == (len(sound), 3, 16, 16)
            assert images.dtype == torch.uint8
        faulthandler.cancel_dump_traceback_later()
    return outcomes


@pytest.mark.parametrize("number", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_damaged_images_are_read_or_have_their_reason(number, tmp_path):
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        outcomes = survive(number, tmp_path)
    assert shown == []
    assert outcomes.total() == number
    assert number * 0.1 < outcomes["sound"] < number * 0.9
    assert len(outcomes) > 10  # the damage is of many kinds


def test_a_glance_and_the_photo_agree_on_damaged_images(tmp_path):
    """What a first look passes can be loaded, and what it refuses cannot, for the same reason."""
    for i, content in enumerate(mutations(300)):
        (tmp_path / f"{i}").write_bytes(content)
    photos = find_photos(tmp_path, labelled=False).photos
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        looks = glances(photos)
        for photo, look in zip(photos, looks, strict=True):
            if isinstance(look, Glance):
                pixels = load(photo, 256)
                assert pixels.dtype == np.uint8
                assert sorted(pixels.shape[:2]) == sorted((look.width, look.height))
            else:
                with pytest.raises(DataError) as caught:
                    load(photo, 256)
                assert f" cannot be read ({look}): " in str(caught.value)
    assert shown == []
    assert len({look for look in looks if isinstance(look, str)}) > 5


def test_images_that_break_after_the_check_name_their_file(tmp_path):
    contents = originals()
    paths = [tmp_path / f"{i}.bin" for i in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)
    images = FileImages([f for f in check_files(paths).values() if isinstance(f, ImageFile)], 16)
    assert len(images) == len(paths)
    for i, (path, content) in enumerate(zip(paths, mutations(len(paths)), strict=True)):
        path.write_bytes(content)
        with pytest.raises(DataError, match=f"the image {path} cannot be read any more"):
            images.read(np.array([i]))
