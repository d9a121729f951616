"""Photos with the names of their classes are found in any layout, and in train and test.

A layout is one entry of `LAYOUTS`: a function from a source and a folder in it to the label of each
photo's path, or None where the folder is not laid out that way.
"""

from __future__ import annotations

import csv
import io
import posixpath
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from memoryless.errors import DataError
from memoryless.images.pixels import HEAD, begins_as_image
from memoryless.images.read import Photo
from memoryless.images.sources import (
    NOWHERE,
    OUTSIDE,
    Source,
    leads_out,
    note,
    pick_files,
    read_folder,
    read_text,
    read_zip,
)
from memoryless.names import class_names, first_ten

TABLE, LIST = "metadata.csv", "list.txt"
# Folders that part photos, whatever the case of their names, and what each is for.
HALVES = {"train": "train", "training": "train", "test": "test", "testing": "test"}
HALVES |= dict.fromkeys(("val", "valid", "validation"), "val")
EXAMPLE = "{0}/cat/1.jpg and {0}/dog/1.jpg"
HEIC_SUFFIXES = (".heic", ".heif", ".hif")

Labels = dict[str, str]
"""The label of each photo's path."""
Row = tuple[str, str, str]
"""A row says where it stands, a path, and a label."""


@dataclass
class Found:
    """Photos of a source, and what was not read there; hidden files are not listed."""

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


def find_photos(place: Path, labelled: bool = True) -> Found:
    """Find the photos of a folder, zip, table or list: those to learn, with their classes.

    Without `labelled`, folders are no classes, and a photo's own path will do.
    """
    return _find_half(place, "train") if labelled else _find_all(place)


def find_test(place: Path) -> Found:
    """Find the photos of a place to evaluate on: those in test/ if it has train/ and test/."""
    return _find_half(place, "test")


def find_splits(place: Path) -> tuple[Found, Found | None]:
    """Find the photos to train on and those to test on; none of these where nothing parts them."""
    source, above, halves = _parted(place)
    if source is None:
        return find_listed(place), None
    if not halves:
        _note_beside(source, [above], above)
        return _found(place, source, above), None
    bases = [above + _choose(source, above, halves, half) for half in ("train", "test")]
    if set(halves) == {"train"}:
        raise DataError(
            f"{place} has {halves['train']}/ but not test/: add it, or name the folder of classes "
            f"itself, {source.shown(bases[0])}"
        )
    _note_beside(source, bases, above)
    train, tested = (_found(place, source, base) for base in bases)
    return train, tested


def find_listed(file: Path, root: Path | None = None) -> Found:
    """Find the photos that a table or a list names, relative to it or to `root`."""
    if file.suffix and is_image(file.name):
        raise DataError(
            f"{file} is a photo: name the folder that holds a folder of photos for each class"
        )
    table = file.suffix.lower() == ".csv"
    rows = (read_table if table else read_list)(str(file), read_text(file))
    source = pick_files(root or file.parent, {path for _, path, _ in rows if path})
    labels = _named(source, "", rows)
    if not labels:
        raise DataError(
            f"{file} names no photo: each line must name a file and its label{_passed_over(source)}"
        )
    return _with_labels(TABLE if table else "list file", source, labels)


def _find_all(place: Path) -> Found:
    _check_exists(place)
    if not place.is_dir() and not _is_zip(place):
        return Found("a photo", [Photo.at(place)], {}, {}, [])
    source = _open(place)
    paths = _images(source, source.files)
    photos = [Photo(source.shown(path), None, source.files[path]) for path in paths]
    if not photos:
        raise DataError(f"{place} holds no photo: name another place{_passed_over(source)}")
    layout = f"photos in a {'zip' if _is_zip(place) else 'folder'}"
    return Found(layout, photos, source.skipped, source.unusable, source.notes)


def _find_half(place: Path, half: str) -> Found:
    source, above, halves = _parted(place)
    if source is None:
        return find_listed(place)
    base = above + _choose(source, above, halves, half)
    _note_beside(source, [base], above)
    return _found(place, source, base)


def _check_exists(place: Path) -> None:
    try:
        place.stat()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise DataError(f"there is no folder or file {place} ({why}): check its name") from error


def _is_zip(place: Path) -> bool:
    return place.suffix.lower() == ".zip" and not place.is_dir()


def _open(place: Path) -> Source:
    return read_zip(place) if _is_zip(place) else read_folder(place)


def _parted(place: Path) -> tuple[Source | None, str, dict[str, str]]:
    """Return the source of a place, none for a list; the one folder of a zip that holds all, if it
    does, with a slash; and the folders below that part the photos, by what they are for.
    """
    _check_exists(place)
    if not place.is_dir() and not _is_zip(place):
        return None, "", {}
    source = _open(place)
    above = _wrapper(source) if _is_zip(place) else ""
    tops = _folders(source, above)
    halves = {
        HALVES[name.lower()]: name
        for name in reversed(tops)
        if name.lower() in HALVES and _holds_classes(source, f"{above}{name}/")
    }
    if len(tops) > len(halves) and not {"train", "test"} <= set(halves):
        halves = {}  # class folders, one of which may be called "train"
    return source, above, halves


def _wrapper(source: Source) -> str:
    """Return the one folder that holds everything, if it is no class."""
    tops = _folders(source, "")
    if len(tops) != 1 or tops[0].lower() in HALVES or not _holds_classes(source, f"{tops[0]}/"):
        return ""
    return f"{tops[0]}/"


def _choose(source: Source, above: str, halves: dict[str, str], half: str) -> str:
    """Return the folder to read of those that part the photos, with a slash; or nothing."""
    if not halves:
        return ""
    if half == "train" and "train" not in halves:
        name = halves.get("test", halves.get("val"))
        raise DataError(
            f"{source.name} has {above}{name}/ but not {above}train/: name the folder of classes "
            f"itself, such as {source.shown(f'{above}{name}')}"
        )
    if half == "test" and set(halves) == {"train"}:
        source.notes.append(
            f"there is no test/ beside {source.shown(above + halves['train'])}: these may be the "
            "photos that were learned"
        )
    order = ("train",) if half == "train" else ("test", "val", "train")
    return next(f"{halves[name]}/" for name in order if name in halves)


def _note_beside(source: Source, bases: list[str], above: str) -> None:
    """Say what stands beside the folders that are read, and is left alone."""
    outside = [path for path in source.files if not path.startswith(tuple(bases))]
    beside = {_first(path, above if path.startswith(above) else "") for path in outside}
    if beside:
        read = " and ".join(map(source.shown, bases))
        are, them = ("is", "it") if len(bases) == 1 else ("are", "them")
        source.notes.append(
            f"{read} {are} read; what stands beside {them} is left alone: "
            f"{first_ten(sorted(beside))}"
        )


def _first(path: str, above: str) -> str:
    """Return what a path goes through in a folder: a folder, with its slash, or a file."""
    top, slash, _ = path.removeprefix(above).partition("/")
    return f"{above}{top}{slash}"


def _folders(source: Source, base: str) -> list[str]:
    """Return the folders with files directly below `base`."""
    below = (p.removeprefix(base) for p in source.files if p.startswith(base))
    return sorted({path.split("/")[0] for path in below if "/" in path})


def _holds_classes(source: Source, base: str) -> bool:
    """Return whether a folder holds class folders or a table, and no photo of its own."""
    own = [p for p in source.files if p.startswith(base) and "/" not in p.removeprefix(base)]
    if any(p in (base + TABLE, base + LIST) for p in own):
        return True
    return bool(_folders(source, base)) and all(_why_no_image(source, path) for path in own)


def _found(place: Path, source: Source, base: str) -> Found:
    """Return the photos below `base`, in the first layout that fits."""
    named = ((name, label(source, base)) for name, label in LAYOUTS.items())
    layout, labels = next((name, labels) for name, labels in named if labels is not None)
    if not labels:
        raise DataError(
            f"{place} holds no photo of a class: put the photos of each class into a folder of its "
            f"own, such as {EXAMPLE.format(place)}{_passed_over(source)}"
        )
    layout += (f" in {base}" if base else "") + (" in a zip" if _is_zip(place) else "")
    return _with_labels(layout, source, labels)


def _with_labels(layout: str, source: Source, labels: Labels) -> Found:
    names = class_names(labels.values())
    photos = [Photo(source.shown(p), names[labels[p]], source.files[p]) for p in sorted(labels)]
    return Found(layout, photos, source.skipped, source.unusable, source.notes)


def _passed_over(source: Source) -> str:
    not_read = source.skipped | source.unusable
    entries = (f"{name} ({why})" for name, why in sorted(not_read.items()))
    return f"; not read: {first_ten(entries)}" if not_read else ""


def by_table(source: Source, base: str) -> Labels | None:
    """Read photos that metadata.csv names."""
    if base + TABLE not in source.files:
        return None
    rows = read_table(source.shown(base + TABLE), source.text(base + TABLE))
    return _only_named(source, base, rows, TABLE)


def by_list(source: Source, base: str) -> Labels | None:
    """Read photos that list.txt names, if the first line names one."""
    if base + LIST not in source.files:
        return None
    rows = read_list(source.shown(base + LIST), source.text(base + LIST))
    if not rows or posixpath.normpath(base + rows[0][1]) not in source.files:
        return None
    return _only_named(source, base, rows, LIST)


def by_folder(source: Source, base: str) -> Labels:
    """Read the photos below folders of classes, however deep."""
    paths = [path for path in source.files if path.startswith(base)]
    within = {path: path.removeprefix(base) for path in _images(source, paths)}
    labels = {path: rest.split("/")[0] for path, rest in within.items() if "/" in rest}
    loose = [path for path in within if path not in labels]
    if loose and not labels:
        root = source.shown(base)
        raise DataError(
            f"{root} holds photos but no class folders: put the photos of each class into a folder "
            f"of its own, such as {EXAMPLE.format(root)}"
        )
    source.skipped |= {source.shown(path): "beside the class folders" for path in loose}
    return labels


LAYOUTS: dict[str, Callable[[Source, str], Labels | None]] = {
    TABLE: by_table,
    "list file": by_list,
    "folders of classes": by_folder,
}


def _images(source: Source, paths: Iterable[str]) -> list[str]:
    """Return the paths that may be images; the others are listed as not read."""
    foreign = {path: _why_no_image(source, path) for path in sorted(paths)}
    source.skipped |= {source.shown(path): why for path, why in foreign.items() if why}
    return [path for path, why in foreign.items() if not why]


def _why_no_image(source: Source, path: str) -> str:
    """Return why a file is not tried as an image; nothing if it is."""
    if path.lower().endswith(".zip"):
        return "a zip, which is not opened here"
    if not is_image(path):
        return "not an image by its name"
    if not posixpath.splitext(path)[1]:
        with suppress(OSError), source.files[path]() as file:  # why it cannot be read is said later
            if not begins_as_image(file.read(HEAD)):
                return "not an image by its first bytes"
    return ""


def is_image(name: str) -> bool:
    """Return whether a file may be an image by its name; one without a suffix may."""
    suffix = posixpath.splitext(name)[1].lower()
    return not suffix or suffix in Image.registered_extensions() or suffix in HEIC_SUFFIXES


def read_table(name: str, text: str) -> list[Row]:
    """Read the rows of a table with the columns file_name and label."""
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
    """Read the rows of a list: a path and a label, with a tab or the last blank between."""
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            *path, label = line.strip().rsplit("\t" if "\t" in line.strip() else None, maxsplit=1)
            rows.append((f"{name} line {number}", path[0] if path else "", label.strip()))
    return rows


def _only_named(source: Source, base: str, rows: Iterable[Row], by: str) -> Labels:
    """Return the labels of files that rows name, and say which photos none names."""
    labels = _named(source, base, rows)
    others = [p for p in source.files if p not in labels and p.startswith(base)]
    unnamed = [
        source.shown(p)
        for p in others
        if source.shown(p) not in source.unusable and not _why_no_image(source, p)
    ]
    source.notes += note(unnamed, f"photo is not named in {by} and was not read",
                         f"photos are not named in {by} and were not read")  # fmt: skip
    return labels


def _named(source: Source, base: str, rows: Iterable[Row]) -> Labels:
    """Return the labels of files that rows name; rows that cannot be used are listed."""
    several: dict[str, set[str]] = defaultdict(set)
    for where, path, label in rows:
        if not path or not label:
            source.unusable[where] = "it does not name a file and a label"
        else:
            several[posixpath.normpath(base + path)].add(label)
    labels = {}
    for path, given in several.items():
        if path not in source.files:
            why = OUTSIDE if leads_out(path) else NOWHERE
            source.unusable.setdefault(source.shown(path), why)
        elif len(given) > 1:
            why = f"it has several labels: {first_ten(sorted(given))}"
            source.unusable[source.shown(path)] = why
        else:
            labels[path] = next(iter(given))
    return labels
