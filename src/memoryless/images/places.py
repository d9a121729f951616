"""A place holds files: a folder, a zip that is read where it lies, or files that a list names."""

from __future__ import annotations

import os
import posixpath
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from zipfile import BadZipFile, ZipFile, ZipInfo

from memoryless.images.dataset import counted
from memoryless.images.folders import hidden
from memoryless.images.pixels import HEAD, check_size, read_file, reason
from memoryless.errors import DataError
from memoryless.names import first_ten

Content = Callable[[], bytes]
OUTSIDE, NOWHERE = "a link out of the folder", "there is no such file"
# A member that is large and packed this well is no photo: deflate reaches 1,032 on zeros alone.
BOMB_BYTES, BOMB_RATIO = 2**24, 200


@dataclass
class Place:
    """A place gives its files by their path within it, and says what it does not read."""

    name: str
    files: dict[str, Content] = field(default_factory=dict)
    heads: dict[str, Content] = field(default_factory=dict)
    """The first bytes of files whose names do not tell whether they are images."""
    skipped: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def shown(self, path: str) -> str:
        """A path within this place, as messages show it."""
        return posixpath.join("" if self.name == "." else self.name, path).rstrip("/") or self.name

    def note(self, paths: Iterable[str], one: str, many: str) -> None:
        """Say a sentence of some paths, if there are any."""
        listed = [self.shown(path) for path in paths]
        if listed:
            self.notes.append(f"{counted(len(listed), one, many)}: {first_ten(listed)}")


def read_folder(root: Path) -> Place:
    """All files below a folder that are not hidden; links lead to files within it or nowhere."""
    place, outside, waiting = Place(str(root)), [], [""]
    real = root.resolve()
    while waiting:
        here = waiting.pop()
        for entry in _entries(root, here, place):
            path = f"{here}{entry.name}"
            why = _why_not(entry, real)
            if entry.is_dir(follow_symlinks=False):
                waiting.append(f"{path}/")
            elif why == OUTSIDE:
                outside.append(path)
            elif why:
                place.skipped[place.shown(path)] = why
            else:
                place.files[path] = partial(_read_within, root, path)
                if not posixpath.splitext(path)[1]:
                    place.heads[path] = partial(_head_within, root, path)
    place.note(sorted(outside), "link out of the folder was not followed",
               "links out of the folder were not followed")  # fmt: skip
    return place


def _read_within(root: Path, path: str) -> bytes:
    return read_file(root / path)


def _head_within(root: Path, path: str) -> bytes:
    with (root / path).open("rb") as file:
        return file.read(HEAD)


def _entries(root: Path, here: str, place: Place) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(root / here) as found:
            entries = [entry for entry in found if not hidden(entry.name)]
    except OSError as error:
        if not here:
            raise DataError(
                f"the folder {root} cannot be read ({error.strerror}): check its permissions"
            ) from error
        place.skipped[place.shown(here)] = f"the folder cannot be read ({error.strerror})"
        return []
    if not entries and here:
        place.skipped[place.shown(here)] = "an empty folder"
    if {"CURRENT", "states"} <= {entry.name for entry in entries}:
        place.skipped[place.shown(here)] = "a model"
        return []
    return entries


def _why_not(entry: os.DirEntry[str], real: Path) -> str:
    if entry.is_symlink():
        why = _why_not_to(Path(entry.path), real)
        return "a link that leads nowhere" if why == NOWHERE else why
    return "" if entry.is_file() else "not a regular file"


def _why_not_to(path: Path, real: Path) -> str:
    """Why a path that may be a link is not followed; nothing if it ends at a file in `real`."""
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError, ValueError):  # a loop; a null byte
        return NOWHERE
    if not target.is_relative_to(real):
        return OUTSIDE
    if target.is_dir():
        return "a folder, which is read where it is"
    return "" if target.is_file() else "not a regular file"


def pick_files(root: Path, paths: Iterable[str]) -> Place:
    """The files of a folder that a list names; each stays within the folder."""
    place, real = Place(str(root)), root.resolve()
    for path in paths:
        why = _why_not_to(root / path, real)
        if why:
            place.skipped[place.shown(path)] = why
        else:
            place.files[path] = partial(_read_within, root, path)
    return place


def read_zip(file: Path) -> Place:
    """The members of a zip, which stays as it is: each is unpacked in memory when it is read.

    The zip is closed as soon as nobody can read a member of it any more.
    """
    place = Place(str(file))
    try:
        if not file.is_file():
            raise OSError("not a regular file")
        archive = ZipFile(file)
    except (BadZipFile, OSError, ValueError, NotImplementedError) as error:
        why = reason(error) if isinstance(error, OSError) else str(error)
        raise DataError(f"the zip {file} cannot be read ({why}): make it again") from error
    members = [(posixpath.normpath(m.filename), m) for m in archive.infolist()]
    members = [(path, m) for path, m in members if not _hidden(path)]
    times = Counter(path for path, _ in members)
    for path, member in members:
        why = _why_not_member(member, times[path] > 1)
        if why:
            place.skipped[place.shown(path)] = why
        elif not member.is_dir():
            place.files[path] = partial(_unpack, archive, member)
            if not posixpath.splitext(path)[1]:
                place.heads[path] = partial(_unpack, archive, member, HEAD)
    above = {parent for path, _ in members for parent in _parents(path)}
    empty = [path for path, member in members if member.is_dir() and path not in above]
    place.skipped |= {place.shown(path): "an empty folder" for path in empty}
    return place


def _hidden(path: str) -> bool:
    return any(hidden(part) for part in path.split("/") if part != "..")


def _parents(path: str) -> Iterator[str]:
    return (path[:place] for place, sign in enumerate(path) if sign == "/")


def _why_not_member(member: ZipInfo, several: bool) -> str:
    name = member.filename
    if ".." in name.split("/") or re.match(r"/|[A-Za-z]:", name) or "\\" in name:
        return "its name leads out of the zip"
    if several and not member.is_dir():
        return "the zip holds several files of this name"
    if stat.S_ISLNK(member.external_attr >> 16):
        return "a link"
    if member.flag_bits & 1:
        return "encrypted"
    if member.file_size > max(BOMB_BYTES, BOMB_RATIO * member.compress_size):
        return f"it would unpack to {member.file_size:,} bytes from {member.compress_size:,}"
    return ""


def _unpack(archive: ZipFile, member: ZipInfo, most: int = -1) -> bytes:
    check_size(member.file_size)
    try:
        with archive.open(member) as file:
            return file.read(most)
    except MemoryError:
        raise
    except Exception as error:  # a damaged member raises what its decompressor raises
        raise OSError(f"it cannot be unpacked ({error})") from error
