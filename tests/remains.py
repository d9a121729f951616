"""A plain search of files for bytes of photos, for texts, and for rows of numbers."""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Iterable
from html import escape
from pathlib import Path
from urllib.parse import quote

import numpy as np

from memoryless.names import markdown_text

WINDOW, DISTINCT = 32, 16  # more uniform runs of bytes, such as zeros, say nothing
ENCODINGS = ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "latin-1", "cp1252")


def files_of(*folders: Path) -> dict[Path, bytes]:
    paths = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return {path: path.read_bytes() for path in paths}


def numbers_of(path: Path) -> list[np.ndarray]:
    """The bytes of a file as numbers of either precision, from every place on."""
    content = path.read_bytes()
    found = []
    with np.errstate(invalid="ignore"):
        for size, kind in ((8, "<f8"), (4, "<f4")):
            for start in range(size):
                whole = content[start : start + (len(content) - start) // size * size]
                found.append(np.nan_to_num(np.frombuffer(whole, kind).astype(np.float64)))
    return found


def windows(content: bytes) -> set[bytes]:
    """Every run of 32 bytes of which 16 or more are distinct."""
    found = {content[i : i + WINDOW] for i in range(len(content) - WINDOW + 1)}
    return {window for window in found if len(set(window)) >= DISTINCT}


def windows_of_one(photos: Iterable[bytes]) -> set[bytes]:
    """The windows that only one of the photos has."""
    count = Counter(window for photo in photos for window in windows(photo))
    return {window for window, number in count.items() if number == 1}


def holders(files: dict[Path, bytes], text: str) -> list[Path]:
    """The files that hold a text, in any encoding and however it is escaped."""
    forms = [unicodedata.normalize(form, text) for form in ("NFC", "NFD")]
    texts = {way(form) for form in forms for way in (str, markdown_text, escape, quote)}
    texts |= {json.dumps(form, ensure_ascii=plain)[1:-1] for form in forms for plain in (0, 1)}
    sought = {one.encode(encoding, "ignore") for one in texts for encoding in ENCODINGS}
    sought |= {one.lower() for one in sought} | {one.upper() for one in sought}
    whole = [one for one in sought if len(one) >= len(text)]  # "ignore" may have left a rest
    return [path for path, content in files.items() if any(one in content for one in whole)]


def nearest(arrays: Iterable[np.ndarray], row: np.ndarray) -> float:
    """How near the most similar numbers are, at any place of the arrays, in parts of the largest
    entry of the row.
    """
    best = np.inf
    for array in arrays:
        flat = array.reshape(-1).astype(np.float64)
        if len(flat) >= len(row):
            runs = np.lib.stride_tricks.sliding_window_view(flat, len(row))
            best = min(best, np.abs(runs - row).max(1).min() / np.abs(row).max())
    return float(best)
