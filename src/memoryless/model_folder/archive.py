"""A packed model: one zip file with the files of a folder of one state.

Names, kinds and sizes of all entries are checked before the first is read. Nothing is unpacked:
readers use paths into the file as if they were paths into a folder.
"""

from __future__ import annotations

import io
import re
import stat
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from memoryless.errors import StoreError
from memoryless.model_folder.format import PARTS
from memoryless.store import RESTORE, reading

NUMBER = r"(\d{4}|[1-9]\d{4,8})"
OURS = (
    rf"CURRENT|README\.md|backbones/[0-9a-f]{{64}}\.onnx|"
    rf"states/{NUMBER}/(model\.json|({'|'.join(PARTS)})\.safetensors)"
)
"""The names of a model's files in its folder."""
BEGINS = b"PK\x03\x04"  # a zip that holds something
UNIX, REGULAR = 3, stat.S_IFREG | 0o644
ENCRYPTED, DOS_FOLDER = 0x1, 0x10
HEADER = 30  # bytes before an entry, beside its name
LONGEST = 100  # signs of a name in a sentence


class Inside(zipfile.Path):
    """A path into a packed model; the file itself stands for the folder."""

    def __str__(self) -> str:
        return super().__str__().rstrip("/")

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy opens the file again."""
        return _reopened, (Path(str(self.root.filename)), self.at)


def _reopened(file: Path, at: str) -> Path:
    return opened(file) / at


def opened(folder: Path) -> Path:
    """The folder; or, if it is a packed file, the path into it that takes the folder's place."""
    if not isinstance(folder, Path) or not folder.is_file():
        return folder
    with reading(folder, RESTORE):
        with folder.open("rb") as file:
            begins = file.read(len(BEGINS))
        if begins != BEGINS:
            raise StoreError(
                f"{folder} is no packed model: name the folder of a model, or a file that "
                "memoryless pack wrote"
            )
        archive = zipfile.ZipFile(folder)
        for problem in _problems(archive.infolist(), folder.stat().st_size):
            raise StoreError(f"{folder} {problem}: name a file that memoryless pack wrote")
    return cast(Path, Inside(archive))


def is_packed(folder: Path) -> bool:
    """Whether a path leads to a packed model."""
    try:
        return opened(folder) is not folder
    except StoreError:
        return False


def archive_of(files: Mapping[str, bytes]) -> bytes:
    """The zip of some files, stored as they are; equal files give equal bytes."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, part in sorted(files.items()):
            entry = zipfile.ZipInfo(name)  # its date is always the first that a zip can have
            entry.create_system, entry.external_attr = UNIX, REGULAR << 16
            archive.writestr(entry, part)
    return content.getvalue()


def _problems(entries: Sequence[zipfile.ZipInfo], size: int) -> Iterator[str]:
    """What of its entries shows that a zip of `size` bytes is no packed model."""
    for entry in entries:
        for problem in _entry_problems(entry):
            yield f"holds {entry.orig_filename[:LONGEST]}{problem}"
    names = Counter(entry.filename for entry in entries)
    yield from (f"holds {name} {times} times" for name, times in names.items() if times > 1)
    yield from _overlaps(entries, size)
    states = {Path(name).parent.name for name in names if name.startswith("states/")}
    if len(states) != 1:
        yield f"holds {len(states)} states, not one"
    for name in ("CURRENT", "README.md", *(f"states/{state}/model.json" for state in states)):
        if name not in names:
            yield f"lacks {name}"


def _entry_problems(entry: zipfile.ZipInfo) -> Iterator[str]:
    # zipfile cuts `filename` at a zero byte; the other name is as it stands there.
    if not re.fullmatch(OURS, entry.orig_filename, re.ASCII):
        yield ", which is no part of a model"
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG) or entry.external_attr & DOS_FOLDER:
        yield ", which is a link or a folder there and no file"
    stored = entry.compress_type == zipfile.ZIP_STORED and entry.compress_size == entry.file_size
    if not stored or entry.flag_bits & ENCRYPTED:  # what is stored cannot grow when it is read
        yield " compressed or encrypted"


def _overlaps(entries: Sequence[zipfile.ZipInfo], size: int) -> Iterator[str]:
    """Entries that share bytes, or claim more than there are."""
    end = 0
    for entry in sorted(entries, key=lambda entry: entry.header_offset):
        if entry.header_offset < end:
            yield f"holds {entry.filename} in the bytes of another file"
        end = entry.header_offset + HEADER + entry.file_size
        if end > size:
            yield f"ends before {entry.filename} does"
