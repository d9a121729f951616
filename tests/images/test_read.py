"""Photos are read once: pixels, boxes, facts; damaged ones have their reason and print nothing."""

from __future__ import annotations

import faulthandler
import io
import os
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageCms, features

from memoryless.errors import DataError
from memoryless.images.files import Photo
from memoryless.images.read import (
    UnreadableError,
    as_photo,
    load,
    one_by_one,
    pixels_of,
    read,
    ready,
    remarks,
    shorter_sides,
)
from photo_toys import make_photo, paint, saved

HEIC = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(99)


def test_a_photo_and_the_facts_about_it():
    content = saved(paint(0))
    pixels, facts = read(make_photo(content), 256)
    assert pixels.shape == (200, 300, 3)
    assert (pixels == load(make_photo(content), 256)).all()
    assert facts.sha256 == sha256(content).hexdigest()
    assert (facts.size, facts.frames, facts.exif) == (len(content), 1, True)
    assert 0 <= facts.hash < 2**64


def test_a_box_counts_pixels_of_the_upright_image_at_full_size():
    turned = Image.Exif()
    turned[0x0112] = 6
    content = saved(paint(0, 4000, 2400), "jpeg", exif=turned)
    whole = Photo("a.jpg", None, lambda _: io.BytesIO(content))
    boxed = Photo("a.jpg", None, lambda _: io.BytesIO(content), box=(100, 2000, 350, 2300))
    assert load(whole, 64).shape == (1000, 600, 3)  # upright, at a quarter of its size
    pixels, facts = read(boxed, 64)
    upright = Image.open(io.BytesIO(content)).transpose(Image.Transpose.ROTATE_270)
    assert (pixels == np.asarray(upright.crop((100, 2000, 350, 2300)))).all()
    assert (pixels == load(boxed, 64)).all()
    assert facts.sha256 != read(whole, 64)[1].sha256
    assert list(shorter_sides([whole, boxed])) == [2400, 250]


@pytest.mark.parametrize("box", [(0, 0, 0, 9), (-1, 0, 9, 9), (0, 0, 301, 9), (9, 9, 3, 3)])
def test_a_box_outside_of_the_image(box):
    with pytest.raises(UnreadableError, match="is not within 300 x 200 pixels"):
        load(Photo("a.png", None, lambda _: io.BytesIO(saved(paint(0))), box), 8)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"Dear all, please find attached", "not an image"),
        (b"", "not an image"),
        (HEIC, "HEIC, which needs pillow-heif: convert it to JPEG, or pip install 'memoryless["),
        (saved(paint(0))[:-600], "image file is truncated"),
        (saved(paint(0), "jpeg")[:-600], "image file is truncated"),
    ],
)
def test_what_cannot_be_read_has_its_reason(content, why, monkeypatch):
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    for way in (load, read):
        with pytest.raises(UnreadableError) as caught:
            way(make_photo(content, "b.png"), 256)
        assert caught.value.name == "b.png"
        assert caught.value.why.startswith(why)
        assert str(caught.value).startswith("the photo b.png cannot be read (")


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_a_full_memory_is_not_the_photos_fault(error):
    def fail(_: str) -> io.BytesIO:
        raise error

    for way in (load, read):
        with pytest.raises(error):
            way(Photo("a.png", None, fail), 256)


def test_what_vanishes_or_is_no_file(tmp_path):
    paint(0).save(tmp_path / "a.png")
    photo = Photo.at(tmp_path / "a.png")
    assert load(photo, 8).shape == (200, 300, 3)
    (tmp_path / "a.png").unlink()
    with pytest.raises(UnreadableError, match="No such file"):
        load(photo, 8)
    os.mkfifo(tmp_path / "a.png")
    with pytest.raises(UnreadableError, match="not a regular file"):
        load(photo, 8)


def test_damaged_exif_data_are_left_out_and_said():
    """The orientation is there, and another entry points outside: none of it is believed."""
    exif = Image.Exif()
    exif[0x0112], exif[0x010E] = 6, "a description that lies elsewhere"
    content = saved(paint(0), "jpeg", exif=exif)
    place = content.index(b"\x01\x0e\x00\x02") + 8
    broken = make_photo(content[:place] + b"\0\0\xff\xff" + content[place + 4 :], "b.jpg")
    pixels, facts = read(broken, 256)
    assert (pixels.shape, facts.exif) == ((200, 300, 3), False)
    assert list(shorter_sides([broken])) == [200]
    assert list(remarks([broken], [facts])) == [
        "1 photo has damaged EXIF data and is taken as it is stored: b.jpg"
    ]


@pytest.mark.parametrize(("kind", "frames"), [("gif", 3), ("png", 3), ("webp", 3), ("mpo", 1)])
def test_of_an_animation_the_first_frame_is_used_and_said(kind, frames):
    scenes = [paint(seed) for seed in range(3)]
    content = saved(scenes[0], kind, save_all=True, append_images=scenes[1:])
    photo = make_photo(content, f"a.{kind}")
    pixels, facts = read(photo, 256)
    assert np.abs(pixels.astype(int) - np.asarray(scenes[0])).mean() < 9
    assert facts.frames == frames
    assert len(list(remarks([photo], [facts]))) == (frames > 1)


def test_a_damaged_later_frame_does_not_matter():
    scenes = [paint(seed) for seed in range(3)]
    content = saved(scenes[0], "gif", save_all=True, append_images=scenes[1:])
    cut = content[: len(saved(scenes[0], "gif")) + 30]
    assert read(make_photo(cut), 256)[1].frames >= 1


def test_headers_tell_sizes_without_reading_files_to_their_end():
    read_bytes = []

    class Counting(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            found = super().read(size)
            read_bytes.append(len(found))
            return found

    content = saved(paint(0, 900, 700), "jpeg", quality=95)
    photos = [Photo("a", None, lambda _: Counting(content)), make_photo(b"no image")]
    assert list(shorter_sides(photos)) == [700]
    assert sum(read_bytes) < len(content) / 4


def test_whatever_the_reader_takes_gives_the_same_pixels(tmp_path):
    image, path = paint(0), tmp_path / "a.png"
    image.save(path)
    array = np.asarray(image)
    things = [path, str(path), Photo.at(path), image, array, array.transpose(2, 0, 1)]
    for found in (pixels_of(thing, 8) for thing in ready(things)):
        assert (found == array).all()
    assert (pixels_of(array[..., 0], 8) == array[..., :1]).all()  # grey in all three channels
    assert pixels_of(image, 8).shape == (200, 300, 3)
    assert one_by_one(things)
    assert one_by_one(np.array([str(path)]))
    assert not one_by_one(array[None])


def test_what_it_does_not_take(tmp_path):
    with pytest.raises(DataError, match=r"a photo must be uint8 .*, not float64 \(3, 3, 1\)"):
        as_photo(np.zeros((3, 3)))
    for shape in ((4, 4, 2), (0, 4, 3)):
        with pytest.raises(DataError, match=r"^a photo must be uint8"):
            as_photo(np.zeros(shape, np.uint8))
    broken = Image.open(io.BytesIO(saved(paint(0))[:-600]))
    with pytest.raises(DataError, match="the photo at index 1 cannot be read"):
        list(ready([paint(0), broken]))


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
    "dds dxt1": {"pixel_format": "DXT1"},
    "ppm": {},
    "tga rle": {"compression": "tga_rle"},
    "sgi": {},
    "pcx": {},
    "jpeg2000": {},
    "mpo": {},
    "spider": {},
}


def originals() -> Iterator[bytes]:
    """A small picture in every format that this Pillow writes, some with EXIF data or a profile."""
    picture = paint(1, 24, 24)
    exif = Image.Exif()
    exif[0x0112], exif[0x010E] = 6, "a description"
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    extras = {}, {"exif": exif}, {"icc_profile": profile.replace(b"rXYZ", b"gXYZ", 1)}
    for name, options in FORMATS.items():
        kind = name.split()[0]
        if kind in ("webp", "avif") and not features.check(kind):
            continue
        for extra in extras if kind in ("jpeg", "png", "webp", "avif") else ({},):
            image = picture.convert("F") if kind == "spider" else picture
            yield saved(image, kind, **options, **extra)


def mutations(number: int) -> Iterator[bytes]:
    """Flipped bytes, mostly near the start, where the headers are; cuts; pieces of two files."""
    rng, sources = np.random.default_rng(2), list(originals())
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


@pytest.mark.parametrize("number", [300, pytest.param(10_000, marks=pytest.mark.slow)])
def test_damaged_images_are_read_or_have_their_reason_and_nothing_is_printed(number, capfd):
    outcomes: Counter[str] = Counter()
    faulthandler.dump_traceback_later(900, exit=True)  # a hang ends the test, and shows where
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        for content in mutations(number):
            try:
                pixels, _ = read(make_photo(content), 256)
                assert (pixels.dtype, pixels.shape[2:]) == (np.uint8, (3,))
                outcomes["sound"] += 1
            except UnreadableError as error:
                outcomes[error.why] += 1
    faulthandler.cancel_dump_traceback_later()
    assert shown == []
    assert capfd.readouterr() == ("", "")
    assert outcomes.total() == number
    assert number * 0.1 < outcomes["sound"] < number * 0.9
    assert len(outcomes) > 10  # the damage is of many kinds


def test_what_the_library_of_tiffs_prints_is_not_shown(tmp_path: Path, capfd):
    """Its strips are cut off: the library tells so on standard error, past Python."""
    content = bytearray(saved(paint(0), "tiff", compression="tiff_lzw"))
    content[200:600] = bytes(400)
    (tmp_path / "a.tif").write_bytes(content)
    with pytest.raises(UnreadableError):
        load(Photo.at(tmp_path / "a.tif"), 256)
    assert capfd.readouterr() == ("", "")
    print("after it errors are shown again", file=sys.stderr)
    assert "again" in capfd.readouterr().err
