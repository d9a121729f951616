"""Photos with the names of their classes are found in any layout, and in train and test.

A layout is one entry of `LAYOUTS`: a function from the files of a place and a folder in it to the
label of each photo's path, or None where the folder is not laid out that way.
"""

from __future__ import annotations

import csv
import io
import posixpath
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from memoryless.errors import DataError, cause
from memoryless.images.files import (
    COLUMNS,
    HEAD,
    NOWHERE,
    OUTSIDE,
    Columns,
    Files,
    Photo,
    begins_as_image,
    leads_out,
    pick_files,
    read_folder,
    read_text,
    read_zip,
)
from memoryless.names import class_names, first_ten, note, with_reasons

TABLE, LIST = "metadata.csv", "list.txt"
# Folders that part photos, whatever the case of their names, and what each is for.
HALVES = {"train": "train", "training": "train", "test": "test", "testing": "test"}
HALVES |= dict.fromkeys(("val", "valid", "validation"), "val")
EXAMPLE = "{0}/cat/1.jpg and {0}/dog/1.jpg"
HEIC_SUFFIXES = (".heic", ".heif", ".hif")

UNREAD = {"BUFR", "EPS", "GRIB", "HDF5", "MPEG", "WMF"}
"""Formats that Pillow recognises and does not decode, or only with other programs."""
Labels = dict[str, str]
"""The label of each photo's path."""
Row = tuple[str, str, str]
"""A row says where it stands, a path, and a label."""


@dataclass
class Found:
    """Photos of a place, and what was not read there; hidden files are not listed."""

    layout: str
    photos: list[Photo]
    skipped: dict[str, str]
    """What is no photo, and why it is not read."""
    unusable: dict[str, str]
    """What may be photos, and why they cannot be used."""
    notes: list[str]
    """Sentences about what was left alone."""

    @property
    def classes(self) -> list[str]:
        return sorted({p.label for p in self.photos if p.label is not None})

    @property
    def not_read(self) -> dict[str, str]:
        """Everything that is not read, and why."""
        return self.skipped | self.unusable


def find_photos(place: Path, labelled: bool = True, columns: Columns = COLUMNS) -> Found:
    """Find the photos of a folder, zip, table or list: those to learn, with their classes.

    Without `labelled`, folders are no classes, and a photo's own path will do. `columns` of a table
    name a photo and its class.
    """
    return _find(place, ["train"], columns)[0] if labelled else _find_all(place)


def find_test(place: Path, columns: Columns = COLUMNS) -> Found:
    """Find the photos of a place to evaluate on: those in test/ if it has train/ and test/."""
    return _find(place, ["test"], columns)[0]


def find_splits(place: Path) -> list[Found]:
    """Find the photos to train on, then those to test on where folders part them."""
    return _find(place, ["train", "test"])


def find_listed(file: Path, root: Path | None = None, columns: Columns = COLUMNS) -> Found:
    """Find the photos that a table or a list names, relative to it or to `root`."""
    if file.suffix and is_image(file.name):
        raise DataError(
            f"{file} is a photo: name the folder that holds a folder of photos for each class"
        )
    table = file.suffix.lower() == ".csv"
    text = read_text(file)
    rows = read_table(str(file), text, columns) if table else read_list(str(file), text)
    files = pick_files(root or file.parent, {path for _, path, _ in rows if path})
    labels = _named(files, "", rows)
    if not labels:
        raise DataError(
            f"{file} names no photo: each line must name a file and its label{_passed_over(files)}"
        )
    return _with_labels(TABLE if table else "list file", files, labels)


def _find_all(place: Path) -> Found:
    files = _open(place)
    if files is None:
        return Found("a photo", [Photo.at(place)], {}, {}, [])
    photos = [files.photo(path) for path in _images(files, files.by_path)]
    if not photos:
        raise DataError(f"{place} holds no photo: name another place{_passed_over(files)}")
    layout = f"photos in a {'zip' if _is_zip(place) else 'folder'}"
    return Found(layout, photos, files.skipped, files.unusable, files.notes)


def _find(place: Path, wanted: Sequence[str], columns: Columns = COLUMNS) -> list[Found]:
    """Find the photos of each wanted half of a place; all of them once where nothing parts them."""
    files = _open(place)
    if files is None:
        return [find_listed(place, columns=columns)]
    files.columns = columns
    above = _wrapper(files) if _is_zip(place) else ""
    halves = _halves(files, above)
    if len(wanted) > 1 and set(halves) == {"train"}:
        raise DataError(
            f"{place} has {halves['train']}/ but not test/: add it, or name the folder of classes "
            f"itself, {files.shown(above + halves['train'])}"
        )
    bases = list(dict.fromkeys(above + _choose(files, above, halves, half) for half in wanted))
    _note_beside(files, bases, above)
    return [_with_classes(place, files, base) for base in bases]


def _open(place: Path) -> Files | None:
    """Return the files of a folder or a zip; None for another file."""
    try:
        place.stat()
    except (OSError, ValueError) as error:
        raise DataError(
            f"there is no folder or file {place} ({cause(error)}): check its name"
        ) from error
    if place.is_dir():
        return read_folder(place)
    return read_zip(place) if _is_zip(place) else None


def _is_zip(place: Path) -> bool:
    return place.suffix.lower() == ".zip" and not place.is_dir()


def _halves(files: Files, above: str) -> dict[str, str]:
    """Return the folders that part the photos of a folder, by what they are for."""
    tops = _folders(files, above)
    halves = {
        HALVES[name.lower()]: name
        for name in reversed(tops)
        if name.lower() in HALVES and _holds_classes(files, f"{above}{name}/")
    }
    if len(tops) > len(halves) and not {"train", "test"} <= set(halves):
        return {}  # class folders, one of which may be called "train"
    return halves


def _wrapper(files: Files) -> str:
    """Return the one folder that holds everything, with a slash, if it is no class."""
    tops = _folders(files, "")
    if len(tops) != 1 or tops[0].lower() in HALVES or not _holds_classes(files, f"{tops[0]}/"):
        return ""
    return f"{tops[0]}/"


def _choose(files: Files, above: str, halves: dict[str, str], half: str) -> str:
    """Return the folder to read of those that part the photos, with a slash; or nothing."""
    if not halves:
        return ""
    if half == "train" and "train" not in halves:
        name = halves.get("test", halves.get("val"))
        raise DataError(
            f"{files.name} has {above}{name}/ but not {above}train/: name the folder of classes "
            f"itself, such as {files.shown(f'{above}{name}')}"
        )
    if half == "test" and set(halves) == {"train"}:
        files.notes.append(
            f"there is no test/ beside {files.shown(above + halves['train'])}: these may be the "
            "photos that were learned"
        )
    order = ("train",) if half == "train" else ("test", "val", "train")
    return next(f"{halves[name]}/" for name in order if name in halves)


def _note_beside(files: Files, bases: list[str], above: str) -> None:
    """Note what stands beside the folders that are read, and is left alone."""
    outside = [path for path in files.by_path if not path.startswith(tuple(bases))]
    beside = {_first(path, above if path.startswith(above) else "") for path in outside}
    if beside:
        read = " and ".join(map(files.shown, bases))
        are, them = ("is", "it") if len(bases) == 1 else ("are", "them")
        files.notes.append(
            f"{read} {are} read; what stands beside {them} is left alone: "
            f"{first_ten(sorted(beside))}"
        )


def _first(path: str, above: str) -> str:
    """Return what a path goes through in a folder: a folder, with its slash, or a file."""
    top, slash, _ = path.removeprefix(above).partition("/")
    return f"{above}{top}{slash}"


def _folders(files: Files, base: str) -> list[str]:
    """Return the folders with files directly below `base`."""
    below = (p.removeprefix(base) for p in files.by_path if p.startswith(base))
    return sorted({path.split("/")[0] for path in below if "/" in path})


def _holds_classes(files: Files, base: str) -> bool:
    """Return whether a folder holds class folders or a table, and no photo of its own."""
    own = [p for p in files.by_path if p.startswith(base) and "/" not in p.removeprefix(base)]
    if base + TABLE in own or base + LIST in own:
        return True
    return bool(_folders(files, base)) and all(_why_no_image(files, path) for path in own)


def _with_classes(place: Path, files: Files, base: str) -> Found:
    """Return the photos below `base`, in the first layout that fits."""
    named = ((name, label(files, base)) for name, label in LAYOUTS.items())
    layout, labels = next((name, labels) for name, labels in named if labels is not None)
    if not labels:
        raise DataError(
            f"{place} holds no photo of a class: put the photos of each class into a folder of its "
            f"own, such as {EXAMPLE.format(place)}{_passed_over(files)}"
        )
    layout += (f" in {base}" if base else "") + (" in a zip" if _is_zip(place) else "")
    return _with_labels(layout, files, labels)


def _with_labels(layout: str, files: Files, labels: Labels) -> Found:
    names = class_names(labels.values())
    photos = [files.photo(path, names[labels[path]]) for path in sorted(labels)]
    return Found(layout, photos, files.skipped, files.unusable, files.notes)


def _passed_over(files: Files) -> str:
    not_read = dict(sorted((files.skipped | files.unusable).items()))
    return f"; not read: {with_reasons(not_read)}" if not_read else ""


def by_table(files: Files, base: str) -> Labels | None:
    """Read photos that metadata.csv names."""
    if base + TABLE not in files.by_path:
        return None
    rows = read_table(files.shown(base + TABLE), files.photo(base + TABLE).text(), files.columns)
    return _only_named(files, base, rows, TABLE)


def by_list(files: Files, base: str) -> Labels | None:
    """Read photos that list.txt names, if the first line names one."""
    if base + LIST not in files.by_path:
        return None
    rows = read_list(files.shown(base + LIST), files.photo(base + LIST).text())
    if not rows or posixpath.normpath(base + rows[0][1]) not in files.by_path:
        return None
    return _only_named(files, base, rows, LIST)


def by_folder(files: Files, base: str) -> Labels:
    """Read the photos below folders of classes, however deep."""
    paths = [path for path in files.by_path if path.startswith(base)]
    labels, loose = {}, []
    for path in _images(files, paths):
        folder, slash, _ = path.removeprefix(base).partition("/")
        if slash:
            labels[path] = sys.intern(folder)  # one string for all photos of a class
        else:
            loose.append(path)
    if loose and not labels:
        root = files.shown(base)
        raise DataError(
            f"{root} holds photos but no class folders: put the photos of each class into a folder "
            f"of its own, such as {EXAMPLE.format(root)}"
        )
    files.skipped |= {files.shown(path): "beside the class folders" for path in loose}
    return labels


LAYOUTS: dict[str, Callable[[Files, str], Labels | None]] = {
    TABLE: by_table,
    "list file": by_list,
    "folders of classes": by_folder,
}


def _images(files: Files, paths: Iterable[str]) -> list[str]:
    """Return the paths that may be images; the others are listed as not read."""
    images = []
    for path in sorted(paths):
        if why := _why_no_image(files, path):
            files.skipped[files.shown(path)] = why
        else:
            images.append(path)
    return images


def _why_no_image(files: Files, path: str) -> str:
    """Return why a file is not tried as an image; nothing if it is."""
    if path.lower().endswith(".zip"):
        return "a zip, which is not opened here"
    if not is_image(path):
        return "not an image by its name"
    if not posixpath.splitext(path)[1]:
        with (
            suppress(OSError),
            files.photo(path).open() as file,
        ):  # why it is unreadable comes later
            if not begins_as_image(file.read(HEAD)):
                return "not an image by its first bytes"
    return ""


def is_image(name: str) -> bool:
    """Return whether a file may be an image by its name; one without a suffix may."""
    suffix = posixpath.splitext(name)[1].lower()
    kind = Image.registered_extensions().get(suffix)
    decoded = kind == "MPO" or (kind in Image.OPEN and kind not in UNREAD)  # MPO opens as JPEG
    return not suffix or decoded or suffix in HEIC_SUFFIXES


def read_table(name: str, text: str, columns: Columns = COLUMNS) -> list[Row]:
    """Read the rows of a table; commas, semicolons or tabs stand between its columns."""
    head = text.partition("\n")[0]
    between = max(",;\t", key=head.count)
    try:
        reader = csv.DictReader(
            io.StringIO(text, newline=""), skipinitialspace=True, delimiter=between
        )
        there = [column.strip() for column in reader.fieldnames or ()]
        reader.fieldnames = there
        if missing := [column for column in columns if column not in there]:
            raise DataError(
                f"{name} has no column {' and no column '.join(missing)}, but {first_ten(there)}: "
                "name the right ones by `path_column` and `label_column`",
                columns=there,
            )
        path, label = columns
        return [
            (f"{name} line {reader.line_num}", (row[path] or "").strip(),
             (row[label] or "").strip())
            for row in reader
        ]  # fmt: skip
    except csv.Error as error:
        raise DataError(
            f"{name} line {reader.line_num} is not CSV ({error}): correct it"
        ) from error


def read_list(name: str, text: str) -> list[Row]:
    """Read the rows of a list: a path and a label, with a tab or the last blank between."""
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            *path, label = line.strip().rsplit("\t" if "\t" in line.strip() else None, maxsplit=1)
            rows.append((f"{name} line {number}", path[0] if path else "", label.strip()))
    return rows


def _only_named(files: Files, base: str, rows: Iterable[Row], by: str) -> Labels:
    """Return the labels of files that rows name, and note which photos none names."""
    labels = _named(files, base, rows)
    unnamed = [
        files.shown(path)
        for path in files.by_path
        if path.startswith(base) and path not in labels
        if files.shown(path) not in files.unusable and not _why_no_image(files, path)
    ]
    files.notes += note(unnamed, f"photo is not named in {by} and was not read",
                        f"photos are not named in {by} and were not read")  # fmt: skip
    return labels


def _named(files: Files, base: str, rows: Iterable[Row]) -> Labels:
    """Return the labels of files that rows name; rows that cannot be used are listed."""
    several: dict[str, set[str]] = defaultdict(set)
    for where, path, label in rows:
        if not path or not label:
            files.unusable[where] = "it does not name a file and a label"
        else:
            several[posixpath.normpath(base + path)].add(label)
    labels = {}
    for path, given in several.items():
        if path not in files.by_path:
            why = OUTSIDE if leads_out(path) else NOWHERE
            files.unusable.setdefault(files.shown(path), why)
        elif len(given) > 1:
            why = f"it has several labels: {first_ten(sorted(given))}"
            files.unusable[files.shown(path)] = why
        else:
            labels[path] = next(iter(given))
    return labels
