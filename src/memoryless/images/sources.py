"""Where files lie: a folder, a zip that is read in place, or files that a list names."""

from __future__ import annotations

import os
import posixpath
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO
from zipfile import BadZipFile, ZipFile, ZipInfo

from memoryless.errors import DataError
from memoryless.images.pixels import check_size, open_file, reason
from memoryless.names import counted, first_ten

IGNORED = {"thumbs.db", "desktop.ini", "__macosx"}
NOWHERE, OUTSIDE = "there is no such file", "its path leads out of the folder"
# A member that is large and packed this well is no photo: deflate reaches 1,032 on zeros alone.
BOMB_BYTES, BOMB_RATIO = 2**24, 200


@dataclass
class Source:
    """The files of a folder, a zip or a list, by their paths within it."""

    name: str
    files: dict[str, Callable[[], BinaryIO]] = field(default_factory=dict)
    """What opens each file."""
    skipped: dict[str, str] = field(default_factory=dict)
    """What lies there and is no photo, and why it is not read."""
    unusable: dict[str, str] = field(default_factory=dict)
    """What may be a photo, or photos, and cannot be used, and why."""
    notes: list[str] = field(default_factory=list)

    def shown(self, path: str) -> str:
        """Return a path within this source as messages show it."""
        return posixpath.join("" if self.name == "." else self.name, path).rstrip("/") or self.name

    def text(self, path: str) -> str:
        """Return the text of a file, or raise an error that names it."""
        return as_text(self.shown(path), self.files[path])


def note(names: Sequence[str], one: str, many: str) -> Iterator[str]:
    """Yield a sentence that counts and names things, if there are any."""
    if names:
        yield f"{counted(len(names), one, many)}: {first_ten(names)}"


def read_text(file: Path) -> str:
    """Return the text of a file on the disk, or raise an error that names it."""
    return as_text(str(file), partial(open_file, file))


def as_text(name: str, opened: Callable[[], BinaryIO]) -> str:
    """Return the text of a file that `opened` opens, or raise an error that names it."""
    try:
        with opened() as file:
            return file.read().decode("utf-8-sig")
    except MemoryError:
        raise
    except Exception as error:  # a damaged member of a zip raises what its decompressor raises
        raise DataError(f"the file {name} cannot be read: {error}") from error


def hidden(name: str) -> bool:
    """Return whether a name is passed over: the system's own, or one that begins with a dot."""
    return name.startswith(".") or name.lower() in IGNORED


def read_folder(root: Path) -> Source:
    """Find all files below a folder that are not hidden; links are followed.

    Each folder is read once: a link to a folder that is read anyway, or around one that is, is not
    followed. Folders themselves come before links to them.
    """
    source = Source(str(root))
    read: dict[Path, str] = {}
    waiting, links = [("", root.resolve())], list[tuple[str, Path]]()
    while waiting or links:
        here, real = waiting.pop() if waiting else links.pop(0)
        if why := _why_not_again(source, here, real, read):
            source.unusable[source.shown(here)] = why
            continue
        for entry in _entries(root, here, source):
            path, link = f"{here}{entry.name}", entry.is_symlink()
            target = root / path if link else entry  # an entry raises for a link to itself
            if target.is_dir():
                if link:
                    links.append((f"{path}/", (root / path).resolve()))
                else:
                    waiting.append((f"{path}/", real / entry.name))
            elif target.is_file():
                source.files[path] = partial(open_file, root / path)
            else:
                why = "a link that leads nowhere" if link else "not a regular file"
                source.unusable[source.shown(path)] = why
    return source


def _why_not_again(source: Source, here: str, real: Path, read: dict[Path, str]) -> str:
    """Return why a folder is not read; else remember that it is, and which folders are around it.

    `read` holds real folders that were read, or that are around one, and the path that led there.
    """
    if real in read:
        return f"a link to the files of {source.shown(read[real])}, which are read already"
    for folder in (real, *real.parents):
        if folder in read:
            break
        read[folder] = here
    return ""


def _entries(root: Path, here: str, source: Source) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(root / here) as found:
            entries = sorted((e for e in found if not hidden(e.name)), key=lambda e: e.name)
    except OSError as error:
        if not here:
            raise DataError(
                f"the folder {root} cannot be read ({error.strerror}): check its permissions"
            ) from error
        source.unusable[source.shown(here)] = f"the folder cannot be read ({error.strerror})"
        return []
    if not entries and here:
        source.skipped[source.shown(here)] = "an empty folder"
    return entries


def pick_files(root: Path, paths: Iterable[str]) -> Source:
    """Find the files of a folder that a list names, by relative or by whole paths."""
    source = Source(str(root))
    for path in map(posixpath.normpath, paths):
        outside = not Path(path).is_relative_to(root.absolute()) and leads_out(path)
        if why := OUTSIDE if outside else _why_not_file(root / path):
            source.unusable[source.shown(path)] = why
        else:
            source.files[path] = partial(open_file, root / path)
    return source


def leads_out(path: str) -> bool:
    """Return whether a normal path leads out of the folder that it is relative to."""
    return path.startswith(("/", "../")) or path == ".."


def _why_not_file(path: Path) -> str:
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):  # a link in a circle; a null byte
        return NOWHERE
    return "" if stat.S_ISREG(mode) else "not a regular file"


def read_zip(file: Path) -> Source:
    """Find the members of a zip, which stays as it is: each is unpacked in memory when it is read.

    The zip is closed as soon as nobody can read a member of it any more.
    """
    source = Source(str(file))
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
            source.unusable[source.shown(path)] = why
        elif not member.is_dir():
            source.files[path] = partial(_open_member, archive, member)
    above = {parent for path, _ in members for parent in _parents(path)}
    empty = [path for path, member in members if member.is_dir() and path not in above]
    source.skipped |= {source.shown(path): "an empty folder" for path in empty}
    return source


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


def _open_member(archive: ZipFile, member: ZipInfo) -> BinaryIO:
    check_size(member.file_size)
    return archive.open(member)  # type: ignore[return-value]
