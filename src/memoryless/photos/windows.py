"""Runs of bytes that a photo shares with files, and texts in files: found by NumPy at once.

Every run of 32 bytes holds 24 that begin at a multiple of 8 of the file that they stand in. So all
such blocks of the files are sorted once, each place of a photo is looked up among them, and the few
that are found are compared byte by byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

WINDOW = 32
DISTINCT = 16  # bytes that a window must have: more uniform ones, such as zeros, say nothing
WORD, BLOCK = 8, 24
# Odd numbers without a pattern (xxHash's primes): the upper bits of a product tell words apart.
ODD = np.array([0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], dtype=np.uint64)
STEP = 2**20  # places that are looked up together, so that memory stays bounded
PAIRS = 2**16  # and pairs that are compared together
ROOM = 5  # bits: at least 32 places of the table for each block, so that few others seem there
BITS = np.array([1, 2, 4, 8, 16, 32, 64, 128], dtype=np.uint8)


class Files:
    """The contents of some files, in which bytes of photos and texts are looked up."""

    def __init__(self, contents: Sequence[bytes]):
        sizes = np.array([len(content) for content in contents], dtype=np.int64)
        room = -(-sizes // WORD) * WORD  # each begins at a multiple of a word
        self.start = np.cumsum(room) - room
        self.end = self.start + sizes
        joined = b"".join(c.ljust(n, b"\0") for c, n in zip(contents, room.tolist(), strict=True))
        self.bytes = np.frombuffer(joined, dtype=np.uint8)
        keys, at = _blocks(self.bytes.view("<u8"))
        order = np.argsort(keys)
        self.keys, self.at = keys[order], at[order]
        self.table = Table(keys)

    def file_of(self, places: np.ndarray) -> np.ndarray:
        """The number of the file that holds each place."""
        return np.searchsorted(self.start, places, "right") - 1

    def shared(self, photo: bytes) -> np.ndarray:
        """The places of all windows that a photo holds too, each once."""
        content = np.frombuffer(photo, dtype=np.uint8)
        found = [
            self._compared(content, here[part : part + PAIRS], there[part : part + PAIRS])
            for here, there in self._pairs(content)
            for part in range(0, len(here), PAIRS)
        ]
        return np.unique(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)

    def _pairs(self, content: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Places in a photo, and places in the files, where blocks of bytes seem to be the same."""
        for start in range(0, len(content) - BLOCK + 1, STEP):
            words = words_of(content[start : start + STEP + BLOCK - 1])
            keys = _mixed(words[: -2 * WORD], words[WORD:-WORD], words[2 * WORD :])
            here, first, times = _found(keys, self.keys, self.table)
            within = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
            yield np.repeat(here + start, times), self.at[np.repeat(first, times) + within]

    def _compared(self, content: np.ndarray, here: np.ndarray, there: np.ndarray) -> np.ndarray:
        """The places of windows around these that are the same in a photo and in a file."""
        before = np.arange(WORD)  # a window begins up to seven bytes before its first block
        own, place = (at[:, None] - before for at in (here, there))
        file = self.file_of(there)[:, None]
        fits = (own >= 0) & (own + WINDOW <= len(content))
        fits &= (place >= self.start[file]) & (place + WINDOW <= self.end[file])
        own, place, run = own[fits], place[fits], np.arange(WINDOW)
        windows = self.bytes[place[:, None] + run]
        same = (windows == content[own[:, None] + run]).all(1)
        return place[same][distinct(windows[same]) >= DISTINCT]

    def texts(self, texts: Sequence[bytes]) -> list[tuple[int, int]]:
        """Pairs of a text's and a file's number, where the file holds it; texts have 8 bytes or
        more.
        """
        if not texts:
            return []
        ends = np.frombuffer(b"".join(text[-WORD:] for text in texts), dtype="<u8") * ODD[0]
        order = np.argsort(ends)
        keys, table, found = ends[order], Table(ends), set()
        for start in range(0, len(self.bytes) - WORD + 1, STEP):
            words = words_of(self.bytes[start : start + STEP + WORD - 1]) * ODD[0]
            for i, first, times in zip(*_found(words, keys, table), strict=True):
                for number in order[first : first + times].tolist():
                    file = self._holding(texts[number], int(start + i + WORD))
                    found |= {(number, file)} if file is not None else set()
        return sorted(found)

    def _holding(self, text: bytes, end: int) -> int | None:
        """The number of the file in which a text ends here, if it does."""
        begin = end - len(text)
        file = int(self.file_of(np.array([end - 1]))[0])
        inside = begin >= self.start[file] and end <= self.end[file]
        return file if inside and self.bytes[begin:end].tobytes() == text else None


class Table:
    """A table of bits says of most numbers that are not among its own that they are not."""

    def __init__(self, keys: np.ndarray):
        bits = max(16, len(keys).bit_length() + ROOM)
        self.shift = np.uint64(64 - bits)
        self.bytes = np.zeros(2**bits // 8, dtype=np.uint8)
        np.bitwise_or.at(self.bytes, *self._places(keys))

    def _places(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The byte that each number belongs to, and its bit there."""
        place = keys >> self.shift
        return place >> np.uint64(3), BITS[place & np.uint64(7)]

    def may_hold(self, keys: np.ndarray) -> np.ndarray:
        byte, bit = self._places(keys)
        return self.bytes[byte] & bit


def _found(
    keys: np.ndarray, ordered: np.ndarray, table: Table
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which keys are among ordered ones: their numbers, where they stand, how many times."""
    here = np.flatnonzero(table.may_hold(keys))
    first = np.searchsorted(ordered, keys[here])
    sure = np.flatnonzero(ordered[np.minimum(first, len(ordered) - 1)] == keys[here])
    here, first = here[sure], first[sure]
    return here, first, np.searchsorted(ordered, keys[here], "right") - first


def words_of(content: np.ndarray) -> np.ndarray:
    """The 8 bytes from each place on, as one number (n - 7,)."""
    found = np.empty(max(0, len(content) - WORD + 1), dtype=np.uint64)
    for shift in range(min(WORD, len(found))):
        whole = (len(content) - shift) // WORD * WORD
        found[shift::WORD] = content[shift : shift + whole].view("<u8")
    return found


def _mixed(*words: np.ndarray) -> np.ndarray:
    first, second, third = (word * odd for word, odd in zip(words, ODD, strict=True))
    return first + second + third


def _blocks(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Keys of all blocks that begin at a multiple of a word, and where; without those of one word
    three times that has fewer than 8 distinct bytes, since no window with one has 16.
    """
    first, second, third = words[:-2], words[1:-1], words[2:]
    rich = ~((first == second) & (second == third))
    alike = np.flatnonzero(~rich)
    bytes_of = np.ascontiguousarray(first[alike]).view(np.uint8).reshape(-1, WORD)
    rich[alike[distinct(bytes_of) >= DISTINCT - (WINDOW - BLOCK)]] = True
    return _mixed(first, second, third)[rich], np.flatnonzero(rich) * WORD


def distinct(rows: np.ndarray) -> np.ndarray:
    """How many different bytes each row has."""
    ordered = np.sort(rows, axis=1)
    return 1 + (ordered[:, 1:] != ordered[:, :-1]).sum(1)
