"""One way from a file to its pixels: every kind of image, and every kind of damage."""

from __future__ import annotations

import io
import struct
import sys
import threading
import types
import warnings
import zlib

import numpy as np
import pytest
from PIL import Image, ImageCms, UnidentifiedImageError

from memoryless.images.read import (
    UnreadableError,
    attempt,
    central_square,
    read_pixels,
    reason,
    strictly,
)

RED = Image.new("RGB", (20, 10), (250, 20, 20))
SRGB = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
# sRGB with the tags of red and green exchanged: what it shows as green is stored as red.
EXCHANGED = SRGB.replace(b"rXYZ", b"temp").replace(b"gXYZ", b"rXYZ").replace(b"temp", b"gXYZ")
HEIC = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(99)


def saved(image: Image.Image, kind: str = "png", **options) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


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
