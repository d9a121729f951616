"""Photos that stand more than once: by their bytes, and by how they look."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageEnhance

from memoryless.images.duplicates import FARTHEST, name_copies, near_identical, several_labels
from memoryless.images.find import find_photos
from memoryless.images.quickdraw import read_drawings
from memoryless.images.read import load, read
from photo_toys import make_photo, paint, saved


def changed(image: Image.Image) -> dict[str, bytes]:
    smaller = image.resize((round(image.width * 0.8), round(image.height * 0.8)))
    brighter = ImageEnhance.Brightness(image).enhance(1.1)
    return {
        "quality 50": saved(image, "jpeg", quality=50),
        "80 %": saved(smaller, "jpeg", quality=90),
        "brighter": saved(brighter, "jpeg", quality=90),
    }


def hash_of(content: bytes | Image.Image) -> int:
    return read(make_photo(content), 256)[1].hash


def groups(*contents: bytes | Image.Image) -> list[int]:
    hashes = [hash_of(content) for content in contents]
    return near_identical(np.array(hashes, dtype=np.uint64)).tolist()


def test_copies_are_named_together_and_may_have_several_labels():
    digests = ["A", "B", "A", "A", "A", "C", "C"]
    assert name_copies("abcdefg", digests) == {"A": "a = c = d and 1 more", "B": "b", "C": "f = g"}
    assert name_copies("aab", "AAA") == {"A": "a = b"}
    assert several_labels(zip("uuuvuww", digests, strict=True)) == {"A"}


def test_the_same_photo_saved_again_is_found():
    for seed in range(5):
        for change, content in changed(paint(seed)).items():
            assert groups(paint(seed), content) == [0, 0], (seed, change)


def test_different_photos_are_told_apart():
    assert groups(*(paint(seed) for seed in range(24))) == list(range(24))


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


@given(st.integers(0, 2**64 - 1), st.lists(few_bits, max_size=12))
def test_groups_are_those_of_comparing_all_pairs(first, differences):
    hashes = [first ^ bits for bits in differences]
    assert near_identical(np.array(hashes, dtype=np.uint64)).tolist() == by_hand(hashes)


def test_bits_that_differ_may_stand_anywhere():
    rng = np.random.default_rng(0)
    for _ in range(300):
        places = rng.choice(64, FARTHEST, replace=False).astype(np.uint64)
        other = np.bitwise_or.reduce(np.uint64(1) << places)
        assert near_identical(np.array([0, other], dtype=np.uint64)).tolist() == [0, 0]


@pytest.mark.parametrize("number", [20_000, pytest.param(1_280_000, marks=pytest.mark.slow)])
def test_very_many_photos(number):
    rng = np.random.default_rng(0)
    hashes = rng.integers(0, 2**64, number, dtype=np.uint64)
    hashes[number // 2] = hashes[0] ^ np.uint64(0b111111)
    found = near_identical(hashes)
    assert found[number // 2] == found[0] == 0
    assert number - 4 < found.max() <= number - 2  # two of 1.28 million may be close by chance


@pytest.mark.slow
def test_photos_of_birds():
    """On real photos: those saved again are found, others hardly ever are close."""
    place = Path(os.environ.get("MEMORYLESS_DATA") or "nowhere") / "birds40"
    if not place.is_dir():
        pytest.skip("MEMORYLESS_DATA does not name a folder that holds birds40/")
    photos = find_photos(place).photos
    hashes = np.array([read(photo, 256)[1].hash for photo in photos], dtype=np.uint64)
    assert near_identical(hashes).max() + 1 >= len(photos) - 3
    for photo, number in zip(photos[::6], hashes[::6], strict=True):
        for change, content in changed(Image.fromarray(load(photo, 256))).items():
            again = np.array([number, hash_of(content)], dtype=np.uint64)
            assert near_identical(again).tolist() == [0, 0], (photo.name, change)
