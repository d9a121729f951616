"""Folders of classes are listed; each folder is read once, wherever links lead."""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence
from pathlib import Path

from memoryless.images.dataset import counted
from memoryless.images.listing import Entry, Listing
from memoryless.errors import DataError
from memoryless.names import first_ten

IGNORED = {"thumbs.db", "desktop.ini", "__macosx"}


def list_folder(root: Path) -> Listing:
    """Classes are the folders in `root`, or those in `root/train` and `root/test`."""
    try:
        if not root.is_dir():
            raise DataError(f"there is no folder {root}: check `root`")
        return _list(root, _halves(root), Walk(Listing(root.resolve().name)))
    except OSError as error:
        raise DataError(
            f"the folder {error.filename} cannot be read ({error.strerror}): check `root`"
        ) from error


def _halves(root: Path) -> list[Path]:
    halves = [root / name for name in ("train", "test") if (root / name).is_dir()]
    if len(halves) == 1:
        lacks = "test" if halves[0].name == "train" else "train"
        raise DataError(
            f"{root} has {halves[0].name}/ but not {lacks}/: add it, or name a folder of classes "
            "with `root`"
        )
    return halves


def _list(root: Path, halves: list[Path], walk: Walk) -> Listing:
    if halves:
        walk.leave([p for p in _visible(root) if p not in halves], f"beside {root}/train")
    splits = [walk.classes(part) for part in halves or [root]]
    train, test = splits[0], splits[-1]
    unknown = [name for name in test if name not in train]
    if unknown:
        raise DataError(
            f"{root}/test has {counted(len(unknown), 'class', 'classes')} without training images: "
            f"{first_ten(unknown)}; add them to the training folder or remove them here"
        )
    listing = walk.listing
    listing.classes = list(train)
    listing.train = _entries(train, listing)
    listing.test = _entries(test, listing) if halves else None
    return listing


def _entries(files: Mapping[str, Sequence[Path]], listing: Listing) -> list[Entry]:
    return [
        Entry(path, label)
        for label, name in enumerate(listing.classes)
        for path in files.get(name, ())
    ]


class Walk:
    """A walk remembers which folders it has read, and puts into a listing what it cannot use."""

    def __init__(self, listing: Listing):
        self.listing = listing
        # Real folders that were read, or hold one that was, and the path that led there.
        self.read: dict[Path, Path] = {}

    def classes(self, root: Path) -> dict[str, list[Path]]:
        """Each folder in `root` is a class and gives its files, sorted."""
        self.enter(root)
        paths = _visible(root)
        folders = [p for p in paths if p.is_dir()]
        if not folders:
            raise DataError(
                f"{root} has no class folders: put each class's images in {root}/<class>/"
            )
        nowhere = "a link that leads nowhere"  # perhaps a class
        self.listing.bad |= {str(p): nowhere for p in paths if not p.exists()}
        loose = [p for p in paths if p.exists() and not p.is_dir()]
        self.leave(loose, f"beside the class folders of {root}")
        return {folder.name: self.files(folder) for folder in folders}

    def files(self, folder: Path) -> list[Path]:
        """Files of a class, sorted; whatever is no folder counts, and its reader judges it."""
        found: list[Path] = []
        waiting = [folder]
        while waiting:
            here = waiting.pop()
            try:
                self.enter(here)
                for path in _visible(here):
                    (waiting if path.is_dir() else found).append(path)
            except OSError as error:
                # An empty class would be named so too, and is not named twice.
                what = f"class {here.name}" if here == folder else str(here)
                self.listing.bad[what] = f"the folder {here}: {error.strerror}"
        return sorted(found)

    def enter(self, folder: Path) -> None:
        real = folder.resolve()
        if real in self.read:
            why = f"it leads to the images of {self.read[real]} again"
            raise OSError(errno.ELOOP, why, str(folder))
        for place in (real, *real.parents):
            if place in self.read:
                break
            self.read[place] = folder

    def leave(self, paths: Sequence[Path], where: str) -> None:
        """Note what lies where nothing is read."""
        if paths:
            number = counted(len(paths), "entry", "entries")
            note = f"did not read {number} {where}: {first_ten(map(str, paths))}"
            self.listing.notes.append(note)


def _visible(folder: Path) -> list[Path]:
    return sorted(p for p in folder.iterdir() if not hidden(p.name))


def hidden(name: str) -> bool:
    """Whether a name is passed over: the system's own files, and those that begin with a dot."""
    return name.startswith(".") or name.lower() in IGNORED
