"""Where image files lie: a folder, a zip that is read in place, or files that a list names."""

from __future__ import annotations

import os
import posixpath
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePath, PurePosixPath
from typing import BinaryIO
from zipfile import BadZipFile, ZipFile, ZipInfo

from memoryless.errors import DataError, cause
from memoryless.store import check_not_held

Box = tuple[int, int, int, int]
"""Left, top, right, bottom, in pixels of the upright image."""
# Brands of the box `ftyp` that HEIC files begin with (ISO/IEC 23008-12, annex B).
HEIC = (b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"msf1")
TIFF = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
BEGINNINGS = (b"\xff\xd8\xff", b"\x89PNG", b"GIF8", b"BM", *TIFF)
HEAD = 32  # bytes of a file that show whether it may be an image
Columns = tuple[str, str]
COLUMNS: Columns = ("file_name", "label")
"""Columns of a table that name a photo and its class."""
IGNORED = {"thumbs.db", "desktop.ini", "__macosx"}
NOWHERE, OUTSIDE = "there is no such file", "its path leads out of the folder"
LARGEST_FILE = 2**30  # of the images that Pillow takes, none needs more bytes
# A member that is large and packed this well is no photo: deflate reaches 1,032 on zeros alone.
BOMB_BYTES, BOMB_RATIO = 2**24, 200


@dataclass(frozen=True, slots=True)  # there may be millions
class Photo:
    """An image in a file, or a box in it: the name that messages show, its class, its bytes."""

    name: str
    label: str | None
    """The class that its place names; None for photos without labels."""
    opens: Callable[[str], BinaryIO] = field(repr=False, compare=False)
    """Opens the file of this name; all photos of a place share it."""
    box: Box | None = None
    """The part of the upright image that counts; all of it where there is none."""

    @classmethod
    def at(cls, path: PurePath | str, label: str | None = None) -> Photo:
        """Return the photo in a file."""
        return cls(str(path), label, open_file)

    def open(self) -> BinaryIO:
        """Open its file, or raise an OSError with the reason."""
        return self.opens(self.name)

    def content(self) -> bytes:
        """Return the bytes of its file."""
        with self.open() as file:
            return file.read()

    def text(self) -> str:
        """Return the text of its file, or raise an error that names it."""
        try:
            return self.content().decode("utf-8-sig")
        except MemoryError:
            raise
        except Exception as error:  # a damaged member of a zip raises what its decompressor raises
            raise DataError(f"the file {self.name} cannot be read: {cause(error)}") from error


@dataclass
class Files:
    """The files of a folder, of a zip or that a list names, by their paths within it."""

    name: str
    opens: Callable[[str], BinaryIO]
    """Opens the file that messages show by a name."""
    by_path: dict[str, str] = field(default_factory=dict)
    """That name of each file."""
    skipped: dict[str, str] = field(default_factory=dict)
    """What lies there and is no photo, and why it is not read."""
    unusable: dict[str, str] = field(default_factory=dict)
    """What may be a photo, or photos, and cannot be used, and why."""
    notes: list[str] = field(default_factory=list)
    columns: Columns = COLUMNS
    """Which columns a table among them has."""

    def shown(self, path: str) -> str:
        """Return a path within this place as messages show it."""
        return posixpath.join("" if self.name == "." else self.name, path).rstrip("/") or self.name

    def photo(self, path: str, label: str | None = None) -> Photo:
        """Return the photo at a path."""
        return Photo(self.by_path[path], label, self.opens)


def read_text(file: Path) -> str:
    """Return the text of a file on the disk, or raise an error that names it."""
    return Photo.at(file).text()


def open_file(name: PurePath | str) -> BinaryIO:
    """Open a regular file that is not too large for an image."""
    status = os.stat(name)  # noqa: PTH116 - a Path would remember each name that it was made of
    if not stat.S_ISREG(status.st_mode):
        raise OSError("not a regular file")  # a FIFO would keep us waiting, a device has no end
    check_not_held(status)  # a link may lead to it
    _check_size(status.st_size)
    return open(name, "rb")  # noqa: PTH123


def _check_size(size: int) -> None:
    if size > LARGEST_FILE:
        raise OSError(f"it has {size:,} bytes, more than {LARGEST_FILE:,}")


def begins_as_image(head: bytes) -> bool:
    """Return whether a file that begins so may be an image of one of the most common kinds."""
    boxed = head[4:8] == b"ftyp" and head[8:12] in (*HEIC, b"avif", b"avis")
    return boxed or head.startswith(BEGINNINGS) or head[:4] + head[8:12] == b"RIFFWEBP"


def _hidden(name: str) -> bool:
    """Return whether a name is passed over: the system's own, or one that begins with a dot."""
    return name.startswith(".") or name.lower() in IGNORED


def read_folder(root: Path) -> Files:
    """Find all files below a folder that are not hidden; links are followed.

    Each folder is read once. Links to folders come after all folders that are none, and are refused
    where they lead to a folder that was read or that is around one: so no cycle is entered.
    """
    files = Files(str(root), open_file)
    read: dict[Path, str] = {}  # real folders that were read, or are around one, and by which path
    links = [("", root.resolve())]
    for link, target in links:  # both lists grow while they are read
        if target in read:
            why = f"a link to the files of {files.shown(read[target])}, which are read already"
            files.unusable[files.shown(link)] = why
            continue
        read |= {folder: link for folder in target.parents if folder not in read}
        folders = [(link, target)]
        for here, real in folders:
            read[real] = here
            for entry in _entries(root, here, files):
                path, linked = f"{here}{entry.name}", entry.is_symlink()
                file = root / path if linked else entry  # an entry raises for a link to itself
                if file.is_dir() and linked:
                    links.append((f"{path}/", (root / path).resolve()))
                elif file.is_dir():
                    folders.append((f"{path}/", real / entry.name))
                elif file.is_file():
                    files.by_path[path] = files.shown(path)
                else:
                    why = "a link that leads nowhere" if linked else "not a regular file"
                    files.unusable[files.shown(path)] = why
    return files


def _entries(root: Path, here: str, files: Files) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(root / here) as found:
            entries = sorted((e for e in found if not _hidden(e.name)), key=lambda e: e.name)
    except OSError as error:
        if not here:
            raise DataError(
                f"the folder {root} cannot be read ({error.strerror}): check its permissions"
            ) from error
        files.unusable[files.shown(here)] = f"the folder cannot be read ({error.strerror})"
        return []
    if not entries and here:
        files.skipped[files.shown(here)] = "an empty folder"
    return entries


def pick_files(root: Path, paths: Iterable[str]) -> Files:
    """Find the files of a folder that a list names, by relative or by whole paths."""
    files = Files(str(root), open_file)
    for path in map(posixpath.normpath, paths):
        outside = not Path(path).is_relative_to(root.absolute()) and leads_out(path)
        if why := OUTSIDE if outside else _why_not_file(root / path):
            files.unusable[files.shown(path)] = why
        else:
            files.by_path[path] = files.shown(path)
    return files


def leads_out(path: str) -> bool:
    """Return whether a normal path leads out of the folder that it is relative to."""
    return path.startswith(("/", "../")) or path == ".."


def _why_not_file(path: Path) -> str:
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):  # a link in a circle; a null byte
        return NOWHERE
    return "" if stat.S_ISREG(mode) else "not a regular file"


def read_zip(file: Path) -> Files:
    """Find the members of a zip, which stays as it is: each is unpacked in memory when it is read.

    The zip is closed as soon as nobody can read a member of it any more.
    """
    try:
        if not file.is_file():
            raise OSError("not a regular file")
        check_not_held(file.stat())
        archive = ZipFile(file)
    except (BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise DataError(f"the zip {file} cannot be read ({cause(error)}): make it again") from error
    members = [(posixpath.normpath(m.filename), m) for m in archive.infolist()]
    members = [(path, m) for path, m in members if not _hidden_member(path)]
    by_name: dict[str, ZipInfo] = {}
    files = Files(str(file), partial(_open_member, archive, by_name))
    times = Counter(path for path, _ in members)
    for path, member in members:
        why = _why_not_member(member, times[path] > 1)
        if why:
            files.unusable[files.shown(path)] = why
        elif not member.is_dir():
            files.by_path[path] = files.shown(path)
            by_name[files.by_path[path]] = member
    above = {str(parent) for path, _ in members for parent in PurePosixPath(path).parents}
    empty = [path for path, member in members if member.is_dir() and path not in above]
    files.skipped |= {files.shown(path): "an empty folder" for path in empty}
    return files


def _hidden_member(path: str) -> bool:
    return any(_hidden(part) for part in path.split("/") if part != "..")


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


def _open_member(archive: ZipFile, by_name: Mapping[str, ZipInfo], name: str) -> BinaryIO:
    member = by_name[name]
    _check_size(member.file_size)
    return archive.open(member)  # type: ignore[return-value]
