"""Bytes and texts of files are found wherever they stand, and nothing else is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryless.photos import windows
from memoryless.photos.windows import DISTINCT, WINDOW, Files, distinct


def noise(size: int, seed: int = 0) -> bytes:
    return np.random.default_rng(seed).bytes(size)


def slowly(contents: list[bytes], photo: bytes) -> set[tuple[int, int]]:
    """File and place of every window that a photo holds, one after the other."""
    return {
        (number, i)
        for number, content in enumerate(contents)
        for i in range(len(content) - WINDOW + 1)
        if content[i : i + WINDOW] in photo and len(set(content[i : i + WINDOW])) >= DISTINCT
    }


def quickly(contents: list[bytes], photo: bytes) -> set[tuple[int, int]]:
    files = Files(contents)
    places = files.shared(photo)
    number = files.file_of(places)
    return set(zip(number.tolist(), (places - files.start[number]).tolist(), strict=True))


@pytest.mark.parametrize("here", range(9))
@pytest.mark.parametrize("there", range(9))
def test_one_window_is_found_at_any_place(here, there):
    window = noise(WINDOW, 1)
    photo = noise(100, 2)[:here] + window + noise(50, 3)
    contents = [noise(40, 4), noise(100, 5)[:there] + window + noise(there, 6)]
    assert quickly(contents, photo) == {(1, there)}


def test_less_than_a_window_is_not_found():
    window = noise(WINDOW, 1)
    contents = [noise(8, 2) + window[:-1] + b"\0" + noise(40, 3)]
    assert quickly(contents, b"\1" + window + noise(9, 4)) == set()


def test_a_window_does_not_reach_into_the_next_file():
    window = noise(WINDOW, 1)
    contents = [noise(24, 2) + window[:24], window[24:] + noise(40, 3)]
    assert quickly(contents, window + noise(40, 4)) == set()


@pytest.mark.parametrize("alphabet", [DISTINCT - 1, DISTINCT])
def test_uniform_windows_say_nothing(alphabet):
    window = (bytes(range(alphabet)) * WINDOW)[:WINDOW]
    found = quickly([noise(16, 1) + window], noise(5, 2) + window)
    assert found == ({(0, 16)} if alphabet == DISTINCT else set())


pieces = st.lists(
    st.sampled_from([bytes(24), bytes(range(8)) * 4, bytes(range(40)), noise(40, 1), b"abc" * 9]),
    max_size=6,
).map(b"".join)


@given(st.lists(pieces, min_size=1, max_size=3), pieces, st.binary(max_size=9))
def test_the_same_is_found_as_by_looking_at_each_window(contents, photo, before):
    assert quickly(contents, before + photo) == slowly(contents, before + photo)


def test_photos_are_read_in_parts(monkeypatch):
    monkeypatch.setattr(windows, "STEP", 50)
    monkeypatch.setattr(windows, "PAIRS", 3)
    photo = noise(400)
    contents = [noise(24, 1) + photo[70:200] + noise(31, 2), photo[350:]]
    assert quickly(contents, photo) == slowly(contents, photo)
    assert len(quickly(contents, photo)) == 99 + 19


@pytest.mark.parametrize("contents", [[], [b""], [b"abc"], [bytes(23)]])
def test_little_or_nothing_to_look_in(contents):
    assert Files(contents).shared(noise(100)).tolist() == []
    assert Files(contents).texts([b"a long text"]) == []


def test_a_photo_of_few_bytes():
    assert Files([noise(100)]).shared(b"abc").tolist() == []


def test_texts_are_found_at_any_place(monkeypatch):
    monkeypatch.setattr(windows, "STEP", 16)
    texts = [b"Holiday 001", b"12345678", b"not there", b"liday 001"]
    contents = [b"..Holiday 001..", b"", b"12345678", b"1234567", b"x" * 30 + b"Holiday 001"]
    assert Files(contents).texts(texts) == [(0, 0), (0, 4), (1, 2), (3, 0), (3, 4)]
    assert Files(contents).texts([]) == []


def test_a_text_does_not_reach_into_the_next_file():
    assert Files([b"Holiday ", b"00100000"]).texts([b"Holiday 001"]) == []
    assert Files([b"12345678", b"90123456"]).texts([b"78901234"]) == []


def test_distinct_bytes_of_each_row():
    rows = np.array([[1, 1, 1], [1, 2, 1], [3, 2, 1]], dtype=np.uint8)
    assert distinct(rows).tolist() == [1, 2, 3]
