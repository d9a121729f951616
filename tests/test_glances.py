"""First looks at photos: what can be read, what is odd, and what is nearly the same."""

from __future__ import annotations

import io
import os
import sys
import threading
from functools import cache
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageEnhance

from memoryless.images import glances as module
from memoryless.images.glances import FARTHEST, Glance, glance, glances, load, near_identical, usable
from memoryless.images.photos import Found, Photo, find_photos
from memoryless.images.quickdraw import read_drawings
from memoryless.errors import DataError

HEIC = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(99)


def photo(content: bytes | Image.Image, name: str = "a.png", label: str = "cat") -> Photo:
    if isinstance(content, Image.Image):
        content = saved(content)
    return Photo(name, label, lambda: content)


def saved(image: Image.Image, kind: str = "png", **options) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


@cache
def scene(seed: int, width: int = 300, height: int = 200) -> Image.Image:
    """Shapes of all sizes on a ground of soft colours, as photos have them."""
    rng = np.random.default_rng(seed)
    pixels = np.zeros((height, width, 3))
    for size in (2, 4, 8, 16, 32):
        blobs = Image.fromarray(rng.integers(0, 256, (size, size, 3), dtype=np.uint8))
        pixels += np.asarray(blobs.resize((width, height), Image.Resampling.BICUBIC)) / 5.0
    return Image.fromarray(pixels.astype(np.uint8))


def changed(image: Image.Image) -> dict[str, bytes]:
    smaller = image.resize((round(image.width * 0.8), round(image.height * 0.8)))
    brighter = ImageEnhance.Brightness(image).enhance(1.1)
    return {
        "quality 50": saved(image, "jpeg", quality=50),
        "80 %": saved(smaller, "jpeg", quality=90),
        "brighter": saved(brighter, "jpeg", quality=90),
    }


def groups(*contents: bytes | Image.Image) -> list[int]:
    looks = [glance(photo(content)) for content in contents]
    return near_identical(np.array([look.hash for look in looks], dtype=np.uint64)).tolist()


def test_a_glance():
    content = saved(scene(0))
    look = glance(photo(content))
    assert look == Glance(
        sha256(content).hexdigest(), len(content), 300, 200, 1, look.hash, exif=True
    )
    assert 0 <= look.hash < 2**64


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"Dear all, please find attached", "not an image"),
        (
            HEIC,
            "HEIC, which needs pillow-heif: convert it to JPEG, or pip install 'memoryless[heic]'",
        ),
        (saved(scene(0))[:-600], "image file is truncated"),
        (saved(scene(0), "jpeg")[:-600], "image file is truncated"),
        (b"", "not an image"),
    ],
)
def test_what_cannot_be_used_has_its_reason(content, why, monkeypatch):
    monkeypatch.setitem(sys.modules, "pillow_heif", None)
    found = glance(photo(content))
    assert isinstance(found, str)
    assert found.startswith(why)
    with pytest.raises(DataError) as caught:
        load(photo(content), 256)
    assert str(caught.value) == f"the photo a.png cannot be read ({found}): mend it, or take it out"


def test_text_renamed_jpg(tmp_path):
    (tmp_path / "a.jpg").write_text("Dear all")
    (one,) = find_photos(tmp_path / "a.jpg", labelled=False).photos
    assert glance(one) == "not an image"


def test_a_photo_that_vanishes_between_glance_and_load(tmp_path):
    scene(0).save(tmp_path / "a.png")
    (one,) = find_photos(tmp_path / "a.png", labelled=False).photos
    assert isinstance(glance(one), Glance)
    (tmp_path / "a.png").unlink()
    with pytest.raises(DataError) as caught:
        load(one, 256)
    assert str(caught.value) == (
        f"the photo {tmp_path}/a.png cannot be read (No such file or directory): mend it, or take "
        "it out"
    )


def test_load_gives_pixels_upright():
    turned = Image.Exif()
    turned[0x0112] = 6
    assert load(photo(saved(scene(0), exif=turned)), 256).shape == (300, 200, 3)


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_a_full_memory_is_not_the_photos_fault(error):
    def fail() -> bytes:
        raise error

    for read in (glance, lambda one: load(one, 256)):
        with pytest.raises(error):
            read(Photo("a.png", None, fail))


def test_damaged_exif_data_are_left_out():
    """The orientation is there, and another entry points outside: none of it is believed."""
    exif = Image.Exif()
    exif[0x0112], exif[0x010E] = 6, "a description that lies elsewhere"
    content = saved(scene(0), "jpeg", exif=exif)
    place = content.index(b"\x01\x0e\x00\x02") + 8
    broken = photo(content[:place] + b"\0\0\xff\xff" + content[place + 4 :], "b.jpg")
    look = glance(broken)
    assert not look.exif
    assert load(broken, 256).shape == (200, 300, 3)
    found = Found("a photo", [broken], {}, [])
    usable(found, [look])
    assert found.notes == ["1 photo has damaged EXIF data and is taken as it is stored: b.jpg"]


@cache
def animated(kind: str) -> bytes:
    frames = [scene(seed) for seed in range(3)]
    return saved(frames[0], kind, save_all=True, append_images=frames[1:])


@pytest.mark.parametrize("kind", ["gif", "png", "webp"])
def test_of_an_animation_the_first_frame_is_used_and_said(kind):
    moving = photo(animated(kind), f"a.{kind}")
    look = glance(moving)
    assert look.frames == 3
    assert near_identical(np.array([look.hash, glance(photo(scene(0))).hash])).tolist() == [0, 0]
    found = Found("folders of classes", [moving], {}, [])
    usable(found, [look])
    assert found.notes == [f"1 photo has several frames, of which the first is used: a.{kind}"]


def test_a_photo_with_its_preview_is_not_animated():
    assert glance(photo(animated("mpo"))).frames == 1


def test_a_damaged_later_frame_does_not_matter():
    whole = animated("gif")
    second = len(saved(scene(0), "gif")) + 30
    look = glance(photo(whole[:second]))
    assert isinstance(look, Glance)
    assert look.frames >= 1


def test_usable_photos_and_the_others():
    found = Found("folders of classes", [photo(scene(i), f"{i}.png") for i in range(3)], {}, [])
    looks = [glance(found.photos[0]), "not an image", glance(found.photos[2])]
    photos, seen = usable(found, looks)
    assert [one.name for one in photos] == ["0.png", "2.png"]
    assert seen == [looks[0], looks[2]]
    assert found.skipped == {"1.png": "not an image"}


def test_loose_photos_may_all_be_broken():
    found = Found("photos in a folder", [Photo("a.png", None, bytes)], {}, [])
    assert usable(found, ["not an image"]) == ([], [])
    assert found.skipped == {"a.png": "not an image"}


def test_glances_tell_how_many_are_done(monkeypatch):
    monkeypatch.setattr(module, "threads", lambda: 3)
    photos = [photo(scene(i)) for i in range(5)]
    done = []
    assert glances(photos, done.append) == [glance(one) for one in photos]
    assert done == [1, 2, 3, 4, 5]


def test_glances_take_as_many_threads_as_allowed(monkeypatch):
    names = set()
    monkeypatch.setattr(module, "threads", lambda: 1)
    monkeypatch.setattr(
        module, "glance", lambda one: names.add(threading.current_thread().name) or "no"
    )
    glances([photo(b"")] * 20)
    assert len(names) == 1


def test_the_same_photo_saved_again_is_found():
    for seed in range(5):
        image = scene(seed)
        for change, content in changed(image).items():
            assert groups(image, content) == [0, 0], (seed, change)


def test_different_photos_are_told_apart():
    assert groups(*(scene(seed) for seed in range(24))) == list(range(24))


def test_drawings_on_a_plain_ground_are_told_apart():
    """Most of such an image is one colour, which a hash of neighbours' differences stumbles on."""
    _, drawings = read_drawings()
    images = [Image.fromarray(one) for one in drawings[:, :5].reshape(-1, 28, 28)]
    assert max(groups(*images)) >= len(images) - 2


def test_photos_of_one_colour_are_the_same_if_their_bytes_are():
    white, black = Image.new("RGB", (50, 40), "white"), Image.new("RGB", (50, 40), "black")
    nearly = Image.new("RGB", (50, 40), (254, 254, 254))
    assert groups(white, black, white, nearly, saved(white, "jpeg")) == [0, 1, 0, 2, 3]


def by_hand(hashes: list[int]) -> list[int]:
    """Groups by comparing all pairs, over and over."""
    group = list(range(len(hashes)))
    for _ in hashes:
        for i, one in enumerate(hashes):
            for j, other in enumerate(hashes):
                if (one ^ other).bit_count() <= FARTHEST:
                    group[i] = group[j] = min(group[i], group[j])
    order = sorted(set(group))
    return [order.index(number) for number in group]


few_bits = st.lists(st.integers(0, 63), max_size=9).map(lambda bits: sum(1 << b for b in {*bits}))


@given(st.lists(few_bits, max_size=12))
def test_groups_are_those_of_comparing_all_pairs(hashes):
    assert near_identical(np.array(hashes, dtype=np.uint64)).tolist() == by_hand(hashes)


def test_groups_reach_from_one_to_the_next():
    """Each is close to the next one only; together they are one group."""
    chain = [(1 << 6 * i) - 1 for i in range(10)]
    assert near_identical(np.array(chain, dtype=np.uint64)).tolist() == [0] * 10
    apart = [0, (1 << FARTHEST) - 1, (1 << 30) - 1, (1 << (FARTHEST + 1)) - 1]
    assert near_identical(np.array(apart, dtype=np.uint64)).tolist() == [0, 0, 1, 0]


def test_bits_that_differ_may_stand_anywhere():
    rng = np.random.default_rng(0)
    for _ in range(300):
        places = rng.choice(64, FARTHEST, replace=False).astype(np.uint64)
        other = np.bitwise_or.reduce(np.uint64(1) << places)
        assert near_identical(np.array([0, other], dtype=np.uint64)).tolist() == [0, 0]


@pytest.mark.parametrize("number", [20_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_very_many_photos(number):
    rng = np.random.default_rng(0)
    hashes = rng.integers(0, 2**64, number, dtype=np.uint64)
    hashes[number // 2] = hashes[0] ^ np.uint64(0b111111)
    found = near_identical(hashes)
    assert found[number // 2] == found[0] == 0
    assert found.max() == number - 2


@pytest.mark.slow
def test_photos_of_birds(birds):
    """On real photos: those saved again are found, others hardly ever are close."""
    photos = find_photos(birds).photos
    hashes = np.array([look.hash for look in glances(photos)], dtype=np.uint64)
    assert near_identical(hashes).max() + 1 >= len(photos) - 3
    for one, number in zip(photos[::6], hashes[::6], strict=True):
        image = Image.open(io.BytesIO(one.content())).convert("RGB")
        for change, content in changed(image).items():
            again = np.uint64(glance(photo(content)).hash)
            assert near_identical(np.array([number, again])).tolist() == [0, 0], (one.name, change)


@pytest.fixture
def birds() -> Path:
    place = Path(os.environ.get("MEMORYLESS_DATA") or "nowhere") / "birds40"
    if not place.is_dir():
        pytest.skip("MEMORYLESS_DATA does not name a folder that holds birds40/")
    return place
