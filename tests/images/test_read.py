"""Photos are read once: every kind of image, boxes, facts, and every kind of damage."""

from __future__ import annotations

import faulthandler
import io
import struct
import sys
import threading
import types
import warnings
import zlib
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageCms, UnidentifiedImageError, features

from memoryless.errors import DataError
from memoryless.images.files import Photo
from memoryless.images.read import (
    UnreadableError,
    as_photo,
    attempt,
    central_square,
    load,
    one_by_one,
    pixels_of,
    read,
    read_pixels,
    ready,
    reason,
    remarks,
    sizes_of,
    strictly,
)
from photo_toys import make_photo, paint, saved

SRGB = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
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
    assert [min(size) for size in sizes_of([whole, boxed])] == [2400, 250]


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


def test_damaged_exif_data_are_left_out_and_said():
    """The orientation is there, and another entry points outside: none of it is believed."""
    exif = Image.Exif()
    exif[0x0112], exif[0x010E] = 6, "a description that lies elsewhere"
    content = saved(paint(0), "jpeg", exif=exif)
    place = content.index(b"\x01\x0e\x00\x02") + 8
    broken = make_photo(content[:place] + b"\0\0\xff\xff" + content[place + 4 :], "b.jpg")
    pixels, facts = read(broken, 256)
    assert (pixels.shape, facts.exif) == ((200, 300, 3), False)
    assert [min(size) for size in sizes_of([broken])] == [200]
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
    assert [min(size) for size in sizes_of(photos)] == [700]
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


FORMATS = "jpeg png gif bmp tiff webp avif ico ppm sgi pcx jpeg2000 mpo spider"
PACKED = {
    "tiff": {"compression": "tiff_lzw"},
    "dds": {"pixel_format": "DXT1"},
    "tga": {"compression": "tga_rle"},
}


def originals() -> Iterator[bytes]:
    """A small picture in every format that this Pillow writes, some with EXIF data or a profile."""
    picture = paint(1, 24, 24)
    exif = Image.Exif()
    exif[0x0112], exif[0x010E] = 6, "a description"
    extras = {}, {"exif": exif}, {"icc_profile": SRGB.replace(b"rXYZ", b"gXYZ", 1)}
    for kind, options in [*((kind, {}) for kind in FORMATS.split()), *PACKED.items()]:
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


RED = Image.new("RGB", (20, 10), (250, 20, 20))
# sRGB with the tags of red and green exchanged: what it shows as green is stored as red.
EXCHANGED = SRGB.replace(b"rXYZ", b"temp").replace(b"gXYZ", b"rXYZ").replace(b"temp", b"gXYZ")


def grey_profile(gamma: float) -> bytes:
    """A profile of grey levels with this gamma, made by hand (ICC.1:2010, 8.3.2 of monochrome)."""
    curve = b"curv" + bytes(4) + struct.pack(">IH", 1, round(gamma * 256)) + bytes(2)
    white = b"XYZ " + bytes(4) + struct.pack(">iii", 63190, 65536, 54061)
    tags = struct.pack(">I4sII4sII", 2, b"wtpt", 156, 20, b"kTRC", 176, 14)
    size = struct.pack(">I", 192)
    start = size + bytes(4) + b"\x02\x10\0\0mntrGRAYXYZ " + bytes(12) + b"acsp" + bytes(28)
    header = start + struct.pack(">iii", 63190, 65536, 54061)
    return header.ljust(128, b"\0") + tags + white + curve


def at(content: bytes) -> list[int]:
    return read_pixels(content, 256)[5, 5].tolist()


def test_pixels_are_rgb_of_the_whole_image():
    content = saved(RED)
    found = read_pixels(content, 256)
    assert found.dtype == np.uint8
    assert found.shape == (10, 20, 3)
    assert (found == [250, 20, 20]).all()


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "P", "CMYK"])
def test_every_mode_gives_its_colour(mode):
    image = RED.convert(mode, palette=Image.Palette.ADAPTIVE)
    content = saved(image, "tiff" if mode == "CMYK" else "png")
    assert at(content) == [250, 20, 20]


@pytest.mark.parametrize("mode", ["1", "L", "LA", "I;16", "I", "F"])
def test_grey_of_every_depth(mode):
    if mode in ("I;16", "I"):
        image = Image.fromarray(np.full((9, 9), 255 * 257, np.uint16)).convert(mode)
    else:
        image = Image.new("L", (9, 9), 255).convert(mode)
    assert at(saved(image, "tiff")) == [255, 255, 255]


def test_alpha_is_shown_on_white():
    assert at(saved(Image.new("RGBA", (9, 9), (0, 0, 0, 0)))) == [255, 255, 255]
    assert at(saved(Image.new("RGBA", (9, 9), (255, 0, 0, 128)))) == [255, 127, 127]
    assert at(saved(Image.new("LA", (9, 9), (0, 128)))) == [127, 127, 127]
    assert at(saved(Image.new("L", (9, 9), 7), transparency=7)) == [255, 255, 255]
    palette = RED.convert("P", palette=Image.Palette.ADAPTIVE)
    assert at(saved(palette, "gif", transparency=palette.getpixel((5, 5)))) == [255, 255, 255]


@pytest.mark.parametrize("turn", range(1, 9))
def test_exif_orientation(turn):
    """However a camera stored it, red is at the top left of the upright image, green beside it."""
    upright = Image.new("RGB", (32, 16), "blue")
    upright.paste("red", (0, 0, 8, 8))
    upright.paste((0, 255, 0), (24, 0, 32, 8))
    undo = {2: 0, 3: 3, 4: 1, 5: 5, 6: 2, 7: 6, 8: 4}  # Transpose that brings upright to stored
    stored = upright.transpose(Image.Transpose(undo[turn])) if turn > 1 else upright
    exif = Image.Exif()
    exif[0x0112] = turn
    found = read_pixels(saved(stored, "png", exif=exif), 256)
    assert (found == np.asarray(upright)).all()
    as_stored = read_pixels(saved(stored, "png", exif=exif), 256, exif=False)
    assert (as_stored == np.asarray(stored)).all()


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "P"])
def test_an_embedded_profile_is_applied(mode):
    image = RED.convert(mode, palette=Image.Palette.ADAPTIVE)
    red, green, blue = at(saved(image, icc_profile=EXCHANGED))
    assert (red, blue) == (20, 20)
    assert green == 250
    assert at(saved(image, icc_profile=SRGB)) == [250, 20, 20]


def test_a_profile_of_grey_levels_is_applied():
    dark = Image.new("L", (9, 9), 128)
    assert at(saved(dark)) == [128] * 3
    light, same, _ = at(saved(dark, icc_profile=grey_profile(1.0)))
    assert light == same == pytest.approx(188, abs=1)  # the sRGB curve of half the light
    grey = dark.convert("LA")
    assert at(saved(grey, icc_profile=grey_profile(1.0))) == [light] * 3
    deep = Image.fromarray(np.full((9, 9), 128 * 257, np.uint16))
    assert at(saved(deep, icc_profile=grey_profile(1.0))) == [light] * 3


@pytest.mark.parametrize("profile", [b"rubbish", EXCHANGED[:400], EXCHANGED[:128], b"\0"])
def test_a_damaged_profile_is_ignored(profile):
    assert at(saved(RED, icc_profile=profile)) == [250, 20, 20]


def test_a_profile_that_does_not_fit_is_ignored():
    grey, inks = RED.convert("L"), RED.convert("CMYK")
    assert at(saved(grey, icc_profile=EXCHANGED)) == at(saved(grey))
    assert at(saved(inks, "tiff", icc_profile=EXCHANGED)) == at(saved(inks, "tiff"))
    assert at(saved(RED, icc_profile=grey_profile(1.0))) == [250, 20, 20]


def test_the_central_square():
    """White in the middle of a wide image, black at its ends: only the middle is seen."""
    wide = np.zeros((10, 30, 3), dtype=np.uint8)
    wide[:, 10:20] = 255
    assert (central_square(wide, 4) == 255).all()
    assert central_square(wide, 20, grey=True).shape == (20, 20, 1)
    ramp = np.tile(np.arange(0, 200, 10, dtype=np.uint8)[:, None, None], (1, 20, 3))
    halved = central_square(ramp, 10)[1:9, 5, 0]
    assert halved.tolist() == pytest.approx(list(range(25, 185, 20)), abs=1)  # means of two rows


@pytest.mark.parametrize(
    ("side", "least", "decoded"),
    [
        (511, 256, 511),
        (1023, 256, 1023),  # a half would have fewer than 512
        (1024, 256, 512),
        (2047, 256, 1024),  # 1,023.5, which libjpeg rounds up
        (2048, 256, 512),
        (4096, 256, 512),
        (8192, 256, 1024),  # there is no smaller scale than an eighth
        (2048, 366, 1024),  # 320 pixels need 366; twice as many are 732
        (1463, 366, 1463),
        (1464, 366, 732),
        (1024, 10, 512),  # never below 512
    ],
)
def test_large_jpegs_are_decoded_at_a_reduced_scale(side, least, decoded):
    wide = Image.new("RGB", (side + 100, side), (9, 99, 199))
    content = saved(wide, "jpeg", quality=30)
    assert read_pixels(content, least).shape[0] == decoded
    assert (
        read_pixels(saved(wide.transpose(Image.Transpose.ROTATE_90), "jpeg"), least).shape[1]
        == decoded
    )


def test_other_kinds_are_decoded_in_full():
    assert read_pixels(saved(Image.new("L", (1100, 1100))), 256).shape == (1100, 1100, 3)


def huge_png(side: int) -> bytes:
    """A PNG whose header claims `side` x `side` pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        code = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + code

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    start = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
    return start + chunk(b"IDAT", zlib.compress(bytes(99))) + chunk(b"IEND", b"")


def why_not(content: bytes) -> str:
    with pytest.raises(UnreadableError) as caught:
        attempt("a.jpg", lambda exif: read_pixels(content, 256, exif))
    return caught.value.why


@pytest.mark.parametrize("side", [50_000, 10_000])
def test_a_huge_image_is_refused_from_its_header(side):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        why = why_not(huge_png(side))
    assert why == "it has more than 89,478,485 pixels"


def test_heic_with_its_reader(monkeypatch):
    """pillow-heif, once it is installed, is asked to teach Pillow; here Pillow learns nothing."""
    asked = []
    fake = types.SimpleNamespace(register_heif_opener=lambda: asked.append(True))
    monkeypatch.setitem(sys.modules, "pillow_heif", fake)
    with pytest.raises(UnidentifiedImageError):
        read_pixels(HEIC, 256)
    assert asked == [True]


def test_other_boxes_are_no_heic():
    assert why_not(HEIC.replace(b"heic", b"mp42")) == "not an image"


def test_programs_are_not_run():
    why = why_not(saved(RED, "eps"))
    assert why == "EPS, which is a program that Pillow would have run: convert it to PNG"


def test_formats_that_another_thread_loads_are_not_missed(monkeypatch):
    """Pillow tries the formats that it loads itself; those that appeared meanwhile, it forgets."""
    real, calls = Image.open, []

    def forgetful(file):
        calls.append(file)
        if len(calls) == 1:
            raise UnidentifiedImageError
        return real(file)

    monkeypatch.setattr(Image, "open", forgetful)
    assert at(saved(RED, "pcx")) == [250, 20, 20]


def test_reasons_are_short():
    assert reason(ValueError("x" * 999)) == "x" * 200
    assert reason(KeyError()) == "broken: KeyError"


def test_filters_are_restored_by_the_last_thread_that_leaves():
    before = list(warnings.filters)
    with strictly:
        inside = list(warnings.filters)
        other = threading.Thread(target=strictly.__enter__)
        other.start()
        other.join()
    assert warnings.filters == inside != before
    strictly.__exit__()
    assert warnings.filters == before


def test_a_large_jpeg_is_read_at_a_reduced_size(monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10_000)
    monkeypatch.setattr("memoryless.images.read.MOST_DECODED", 300_000)
    large = Image.new("RGB", (4096, 4096), "red")
    assert load(make_photo(saved(large, "jpeg")), 100).shape == (512, 512, 3)
    for kind, options in (("png", {}), ("jpeg", {"progressive": True})):
        with pytest.raises(UnreadableError, match="more than 300,000 pixels"):
            load(make_photo(saved(large, kind, **options)), 100)
    monkeypatch.setattr("memoryless.images.read.LARGEST_JPEG", 1_000_000)
    with pytest.raises(UnreadableError, match="more than 1,000,000 pixels"):
        load(make_photo(saved(large, "jpeg")), 100)
