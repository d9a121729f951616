"""What a place holds: photos with the names of their classes, found in any of a few layouts."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from memoryless.images.glances import Glance, glance, glances, load, near_identical, usable
from memoryless.images.layouts import (
    EXAMPLE,
    TABLE,
    by_layout,
    find_base,
    images,
    is_image,
    named,
    read_list,
    read_table,
    stays,
)
from memoryless.images.listing import as_text
from memoryless.images.pixels import read_file
from memoryless.images.places import Content, Place, pick_files, read_folder, read_zip
from memoryless.errors import DataError
from memoryless.labels import class_names
from memoryless.names import first_ten

__all__ = ["Found", "Glance", "Photo", "find_photos", "find_test", "glance", "glances"]
__all__ += ["load", "near_identical", "usable"]


@dataclass(frozen=True)
class Photo:
    """A photo is named as messages show it, and read when it is asked for."""

    name: str
    label: str | None
    """The class that its place names; None for photos without labels."""
    content: Content = field(repr=False, compare=False)
    """Gives the bytes of its file, or raises an OSError with the reason."""


@dataclass
class Found:
    """Photos that a place holds, and what was not read in it."""

    layout: str
    photos: list[Photo]
    skipped: dict[str, str]
    """What is not read, and why; hidden files are not listed."""
    notes: list[str]
    """Sentences about what was left alone."""

    @property
    def classes(self) -> list[str]:
        return sorted({p.label for p in self.photos if p.label is not None})


def find_photos(place: Path, labelled: bool = True) -> Found:
    """The photos of a folder, zip, table or list: those to learn, with the names of their classes.

    Without `labelled`, folders are no classes, and a photo's own path will do.
    """
    _check_exists(place)
    return _find_labelled(place, "train") if labelled else _find_all(place)


def find_test(place: Path) -> Found:
    """The photos of a place to evaluate on: those in test/ if it has train/ and test/."""
    _check_exists(place)
    return _find_labelled(place, "test")


def _check_exists(place: Path) -> None:
    try:
        place.stat()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise DataError(f"there is no folder or file {place} ({why}): check its name") from error


def _is_zip(place: Path) -> bool:
    return place.suffix.lower() == ".zip" and not place.is_dir()


def _open(place: Path) -> Place:
    return read_zip(place) if _is_zip(place) else read_folder(place)


def _find_all(place: Path) -> Found:
    if not place.is_dir() and not _is_zip(place):
        return Found("a photo", [Photo(str(place), None, partial(read_file, place))], {}, [])
    held = _open(place)
    photos = [Photo(held.shown(path), None, held.files[path]) for path in images(held, held.files)]
    if not photos:
        raise DataError(f"{place} holds no photo: name another place{_passed_over(held)}")
    layout = f"photos in a {'zip' if _is_zip(place) else 'folder'}"
    return Found(layout, photos, held.skipped, held.notes)


def _find_labelled(place: Path, half: str) -> Found:
    if place.is_dir() or _is_zip(place):
        held = _open(place)
        base = find_base(held, half, wrapped=_is_zip(place))
        layout, labels = by_layout(held, base)
        layout += (f" in {base}" if base else "") + (" in a zip" if _is_zip(place) else "")
    else:
        layout, held, labels = _by_file(place)
    if not labels:
        raise DataError(
            f"{place} holds no photo of a class: put the photos of each class into a folder of its "
            f"own, such as {EXAMPLE.format(place)}{_passed_over(held)}"
        )
    names = class_names(labels.values())
    photos = [Photo(held.shown(p), names[labels[p]], held.files[p]) for p in sorted(labels)]
    return Found(layout, photos, held.skipped, held.notes)


def _passed_over(held: Place) -> str:
    entries = (f"{name} ({why})" for name, why in held.skipped.items())
    return f"; not read: {first_ten(entries)}" if held.skipped else ""


def _by_file(file: Path) -> tuple[str, Place, dict[str, str]]:
    """What a table or a list that was named itself says."""
    if file.suffix and is_image(file.name):
        raise DataError(
            f"{file} is a photo: name the folder that holds a folder of photos for each class"
        )
    table = file.suffix.lower() == ".csv"
    text = as_text(str(file), partial(read_file, file))
    rows = read_table(str(file), text) if table else read_list(str(file), text)
    held = pick_files(file.parent, {posixpath.normpath(path) for _, path, _ in rows if stays(path)})
    labels = named(held, "", rows, "")
    if not labels:
        raise DataError(
            f"{file} names no photo: each line must name a file and its label{_passed_over(held)}"
        )
    return TABLE if table else "list file", held, labels
