"""A listing names the images of a data set before any is read; list files hold "path label"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from memoryless.errors import DataError
from memoryless.names import first_ten

MOST_DIGITS = 18  # of a label: no class has a longer number, and Python refuses to read 4,301


@dataclass(frozen=True)
class Entry:
    """An entry names an image file and the index of its class."""

    path: Path
    label: int
    line: str = ""
    """The line of a list file that it stands in."""


@dataclass
class Listing:
    """A listing gives classes and entries, and collects what is wrong with others."""

    name: str
    classes: list[str] = field(default_factory=list)
    train: list[Entry] = field(default_factory=list)
    test: list[Entry] | None = None
    """None where a share of the training images is to be held out."""
    bad: dict[str, str] = field(default_factory=dict)
    """What cannot be used, and why."""
    notes: list[str] = field(default_factory=list)
    """Sentences about what is not read, or odd and yet used."""


def read_lists(train: Path, test: Path, root: Path | None, class_names: Path | None) -> Listing:
    """Lines of two files list the images; paths are relative to the file or to `root`."""
    listing = Listing(train.stem)
    entries = [_read_list(file, root, listing.bad) for file in (train, test)]
    if not entries[0]:
        raise DataError(f"{train} has no line of 'path label': add one for each training image")
    listing.classes = _read_names(class_names) if class_names else _number_classes(entries[0])
    listing.train, listing.test = (_in_range(part, listing) for part in entries)
    return listing


def _read_list(file: Path, root: Path | None, bad: dict[str, str]) -> list[Entry]:
    entries = []
    for number, text in enumerate(read_text(file).splitlines(), 1):
        if not text.strip():
            continue
        *path, label = text.strip().rsplit(maxsplit=1)
        line = f"{file} line {number}"
        if not path or not label.isdecimal():
            bad[line] = "not 'path label'"
        elif len(label) > MOST_DIGITS:
            bad[line] = f"its label has {len(label):,} digits"
        else:
            entries.append(Entry((root or file.parent) / path[0], int(label), line))
    return entries


def _read_names(file: Path) -> list[str]:
    names = [n for n in read_text(file).splitlines() if n.strip()]
    twice = sorted(n for n, number in Counter(names).items() if number > 1)
    if twice:
        raise DataError(f"{file} names classes twice: {first_ten(twice)}; name each once")
    return names


def _number_classes(entries: list[Entry]) -> list[str]:
    labels = {e.label for e in entries}
    # Labels beyond the number of distinct ones leave a gap below: bound what a typo can cost.
    return [str(i) for i in range(min(max(labels) + 1, 2 * len(labels)))]


def _in_range(entries: list[Entry], listing: Listing) -> list[Entry]:
    number = len(listing.classes)
    outside = (e for e in entries if e.label >= number)
    listing.bad |= {e.line: f"label {e.label} is not below {number}" for e in outside}
    return [e for e in entries if e.label < number]


def read_text(file: Path) -> str:
    """The text of a file, or an error that names it."""
    return as_text(str(file), file.read_bytes)


def as_text(name: str, content: Callable[[], bytes]) -> str:
    """What `content()` gives, as text, or an error that names the file."""
    try:
        return content().decode("utf-8-sig")
    except (OSError, ValueError) as error:
        raise DataError(f"the file {name} cannot be read: {error}") from error
