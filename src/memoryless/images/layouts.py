"""Layouts: which files of a place are photos of which class, by folders, a table or a list."""

from __future__ import annotations

import csv
import io
import posixpath
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress

from PIL import Image

from memoryless.images.listing import as_text
from memoryless.images.pixels import begins_as_image
from memoryless.images.places import NOWHERE, Place
from memoryless.errors import DataError
from memoryless.names import first_ten

TABLE, LIST = "metadata.csv", "list.txt"
# Folders that part photos, whatever the case of their names, and what each is for.
HALVES = {"train": "train", "training": "train", "test": "test", "testing": "test"}
HALVES |= dict.fromkeys(("val", "valid", "validation"), "val")
EXAMPLE = "{0}/cat/1.jpg and {0}/dog/1.jpg"
HEIC_SUFFIXES = (".heic", ".heif", ".hif")

Row = tuple[str, str, str]
"""A row says where it stands, a path, and a label."""


def find_base(held: Place, half: str, wrapped: bool) -> str:
    """The folder within a place whose photos are wanted, with a slash, or nothing for all.

    It is train/ or test/ where these hold class folders, and in a zip (`wrapped`) perhaps below
    one folder that holds all; what stands beside it is left alone, which is said.
    """
    above = _wrapper(held) if wrapped else ""
    base = above + _half(held, above, half)
    outside = [path for path in held.files if not path.startswith(base)]
    beside = {_first(path, above if path.startswith(above) else "") for path in outside}
    if beside:
        held.notes.append(
            f"{held.shown(base)} is read; what stands beside it is left alone: "
            f"{first_ten(sorted(beside))}"
        )
    return base


def _wrapper(held: Place) -> str:
    """The one folder that holds everything, if it is no class."""
    tops = _folders(held, "")
    if len(tops) != 1 or tops[0].lower() in HALVES or not _holds_classes(held, f"{tops[0]}/"):
        return ""
    return f"{tops[0]}/"


def _half(held: Place, above: str, half: str) -> str:
    """The folder to read of those that part the photos, with a slash; nothing if they do not."""
    tops = _folders(held, above)
    halves = {
        HALVES[name.lower()]: name
        for name in reversed(tops)
        if name.lower() in HALVES and _holds_classes(held, f"{above}{name}/")
    }
    if not halves or (len(tops) > len(halves) and not {"train", "test"} <= set(halves)):
        return ""  # class folders, one of which may be called "train"
    if half == "train" and "train" not in halves:
        name = halves.get("test", halves.get("val"))
        raise DataError(
            f"{held.name} has {above}{name}/ but not {above}train/: name the folder of classes "
            f"itself, such as {held.shown(f'{above}{name}')}"
        )
    if half == "test" and set(halves) == {"train"}:
        held.notes.append(
            f"there is no test/ beside {held.shown(above + halves['train'])}: these may be the "
            "photos that were learned"
        )
    order = ("train",) if half == "train" else ("test", "val", "train")
    return next(f"{halves[name]}/" for name in order if name in halves)


def _first(path: str, above: str) -> str:
    """The entry of a folder that a path goes through: a folder, with its slash, or a file."""
    top, slash, _ = path.removeprefix(above).partition("/")
    return f"{above}{top}{slash}"


def _folders(held: Place, base: str) -> list[str]:
    """Folders with files directly below `base`."""
    below = (p.removeprefix(base) for p in held.files if p.startswith(base))
    return sorted({path.split("/")[0] for path in below if "/" in path})


def _holds_classes(held: Place, base: str) -> bool:
    """Whether a folder holds class folders or a table, and no photo of its own."""
    own = [p for p in held.files if p.startswith(base) and "/" not in p.removeprefix(base)]
    if any(p in (base + TABLE, base + LIST) for p in own):
        return True
    return bool(_folders(held, base)) and all(_why_no_image(held, path) for path in own)


def by_layout(held: Place, base: str) -> tuple[str, dict[str, str]]:
    """The layout below `base`, and the label of each photo's path."""
    table, listed = base + TABLE, base + LIST
    if table in held.files:
        rows = read_table(held.shown(table), as_text(held.shown(table), held.files[table]))
        return TABLE, named(held, base, rows, TABLE)
    if listed in held.files:
        rows = read_list(held.shown(listed), as_text(held.shown(listed), held.files[listed]))
        if rows and posixpath.normpath(base + rows[0][1]) in held.files:
            return "list file", named(held, base, rows, LIST)
    return "folders of classes", _by_folder(held, base)


def _by_folder(held: Place, base: str) -> dict[str, str]:
    paths = [path for path in held.files if path.startswith(base)]
    within = {path: path.removeprefix(base) for path in images(held, paths)}
    labels = {path: rest.split("/")[0] for path, rest in within.items() if "/" in rest}
    loose = [path for path in within if path not in labels]
    if loose and not labels:
        root = held.shown(base)
        raise DataError(
            f"{root} holds photos but no class folders: put the photos of each class into a folder "
            f"of its own, such as {EXAMPLE.format(root)}"
        )
    held.skipped |= {held.shown(path): "beside the class folders" for path in loose}
    return labels


def images(held: Place, paths: Iterable[str]) -> list[str]:
    """Paths that may be images; the others are listed as not read."""
    foreign = {path: _why_no_image(held, path) for path in sorted(paths)}
    held.skipped |= {held.shown(path): why for path, why in foreign.items() if why}
    return [path for path, why in foreign.items() if not why]


def _why_no_image(held: Place, path: str) -> str:
    """Why a file is not tried as an image; nothing if it is."""
    if path.lower().endswith(".zip"):
        return "a zip, which is not opened here"
    if not is_image(path):
        return "not an image by its name"
    with suppress(OSError):  # that it cannot be read is told when it is tried
        if path in held.heads and not begins_as_image(held.heads[path]()):
            return "not an image by its first bytes"
    return ""


def is_image(name: str) -> bool:
    """Whether a file may be an image by its name; one without a suffix may."""
    suffix = posixpath.splitext(name)[1].lower()
    return not suffix or suffix in Image.registered_extensions() or suffix in HEIC_SUFFIXES


def read_table(name: str, text: str) -> list[Row]:
    """Rows of a table with the columns file_name and label."""
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), skipinitialspace=True)
        missing = [c for c in ("file_name", "label") if c not in (reader.fieldnames or ())]
        if missing:
            raise DataError(
                f"{name} has no column {' and no column '.join(missing)}: its first line must "
                "name file_name and label, with a comma between"
            )
        return [
            (f"{name} line {reader.line_num}", (row["file_name"] or "").strip(),
             (row["label"] or "").strip())
            for row in reader
        ]  # fmt: skip
    except csv.Error as error:
        raise DataError(
            f"{name} line {reader.line_num} is not a table's ({error}): mend it"
        ) from error


def read_list(name: str, text: str) -> list[Row]:
    """Rows of a list: a path and a label on each line, with a tab or the last blank between."""
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            *path, label = line.strip().rsplit("\t" if "\t" in line.strip() else None, maxsplit=1)
            rows.append((f"{name} line {number}", path[0] if path else "", label.strip()))
    return rows


def stays(path: str) -> bool:
    """Whether a path that a row names stays within its folder."""
    return not path.startswith("/") and not posixpath.normpath(path).startswith("../")


def named(held: Place, base: str, rows: Iterable[Row], by: str) -> dict[str, str]:
    """Labels of the files that rows name; rows that cannot be used are listed with the reason."""
    labels: dict[str, set[str]] = defaultdict(set)
    for where, path, label in rows:
        if not path or not label:
            held.skipped[where] = "it does not name a file and a label"
        elif not stays(path):
            held.skipped[where] = f"its path {path} leads out of the folder"
        else:
            labels[posixpath.normpath(base + path)].add(label)
    for path in [path for path in labels if path not in held.files]:
        held.skipped.setdefault(held.shown(path), NOWHERE)
        del labels[path]
    for path in [path for path, several in labels.items() if len(several) > 1]:
        held.skipped[held.shown(path)] = f"it has several labels: {first_ten(sorted(labels[path]))}"
        del labels[path]
    others = [p for p in held.files if p not in labels and p.startswith(base)] if by else []
    unnamed = [p for p in others if held.shown(p) not in held.skipped]
    held.note([p for p in unnamed if not _why_no_image(held, p)],
              f"photo is not named in {by} and was not read",
              f"photos are not named in {by} and were not read")  # fmt: skip
    return {path: next(iter(several)) for path, several in labels.items()}
