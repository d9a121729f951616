"""Data sets of image files: a folder for each class, or list files of "path label"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from memoryless.data.dataset import (
    Dataset,
    Split,
    check_classes,
    drop_empty_classes,
    hold_out,
)
from memoryless.data.decode import FileImages, find_broken
from memoryless.errors import ConfigError, DataError
from memoryless.names import first_ten
from memoryless.settings import DataSettings

FILE_SIDE = 224  # of what the network sees of photos, as for ImageNet
IGNORED = {"thumbs.db", "desktop.ini"}


@dataclass(frozen=True)
class Entry:
    """One image file and the index of its class."""

    path: Path
    label: int


def load_folder(config: DataSettings) -> Dataset:
    """`root/<class>/*`, or the same under `root/train` and `root/test`."""
    root = config.root
    if root is None:
        raise ConfigError("data = folder needs the folder of images: add --root FOLDER")
    if not root.is_dir():
        raise DataError(f"there is no folder {root}: check --root")
    train_root, test_root = root / "train", root / "test"
    if train_root.is_dir() != test_root.is_dir():
        there, lacks = ("train", "test") if train_root.is_dir() else ("test", "train")
        raise DataError(
            f"{root} has {there}/ but not {lacks}/: add it, or name a folder of classes with --root"
        )
    test = None
    if train_root.is_dir():
        classes = _class_names(train_root)
        train, test = _folder_entries(train_root, classes), _folder_entries(test_root, classes)
    else:
        classes = _class_names(root)
        train = _folder_entries(root, classes)
    return _dataset(root.resolve().name, classes, train, test, config, [])


def _class_names(root: Path) -> list[str]:
    names = sorted(p.name for p in root.iterdir() if p.is_dir() and not p.name.startswith("."))
    if not names:
        raise DataError(f"{root} has no class folders: put each class's images in {root}/<class>/")
    return names


def _folder_entries(root: Path, classes: Sequence[str]) -> list[Entry]:
    unknown = sorted(set(_class_names(root)) - set(classes))
    if unknown:
        raise DataError(
            f"{root} has {len(unknown)} classes without training images: {first_ten(unknown)}; "
            "add them to the training folder or remove them here"
        )
    return [
        Entry(path, label)
        for label, name in enumerate(classes)
        for path in sorted((root / name).rglob("*"))
        if path.is_file() and path.name[0] != "." and path.name.lower() not in IGNORED
    ]


def load_list(config: DataSettings) -> Dataset:
    """Lines of "path label", the label last; paths are relative to the list or to `root`."""
    if config.train_list is None or config.test_list is None:
        raise ConfigError("data = list needs both --train-list FILE and --test-list FILE")
    bad: list[str] = []
    train = _read_list(config.train_list, config.root, bad)
    test = _read_list(config.test_list, config.root, bad)
    if config.class_names:
        classes = [n for n in read_text(config.class_names).splitlines() if n.strip()]
        twice = sorted({n for n in classes if classes.count(n) > 1})
        if twice:
            raise DataError(f"{config.class_names} names classes twice: {first_ten(twice)}")
    else:
        # Labels beyond the number of distinct ones leave a gap below: bound what a typo can cost.
        highest = max((e.label for e in train), default=-1)
        classes = [str(i) for i in range(min(highest + 1, 2 * len({e.label for e in train})))]
    name = config.train_list.stem
    return _dataset(name, classes, _in_range(train, len(classes), bad),
                    _in_range(test, len(classes), bad), config, bad)  # fmt: skip


def _read_list(file: Path, root: Path | None, bad: list[str]) -> list[Entry]:
    entries = []
    for number, line in enumerate(read_text(file).splitlines(), 1):
        if not line.strip():
            continue
        *path, label = line.strip().rsplit(maxsplit=1)
        if path and label.isdecimal():
            entries.append(Entry((root or file.parent) / path[0], int(label)))
        else:
            bad.append(f"{file.name} line {number} (not 'path label')")
    return entries


def _in_range(entries: list[Entry], classes: int, bad: list[str]) -> list[Entry]:
    outside = [e for e in entries if e.label >= classes]
    bad += [f"{e.path.name} (label {e.label} is not below {classes})" for e in outside]
    return [e for e in entries if e.label < classes]


def read_text(file: Path) -> str:
    """A text file, or an error that names it."""
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"the file {file} cannot be read: {error}") from error


def _dataset(
    name: str,
    classes: Sequence[str],
    train: list[Entry],
    test: list[Entry] | None,
    config: DataSettings,
    bad: list[str],
) -> Dataset:
    """Decode every file once, and report all that cannot be used in one error."""
    broken = find_broken([e.path for e in train + (test or [])])
    bad = bad + [f"{path} ({why})" for path, why in broken.items()]
    train = [e for e in train if e.path not in broken]
    if test is None:
        mask = hold_out(np.array([e.label for e in train], dtype=int), config.test_share, "test")
        test = [e for e, held in zip(train, mask, strict=True) if held]
        train = [e for e, held in zip(train, mask, strict=True) if not held]
    else:
        test = [e for e in test if e.path not in broken]
    for what, entries in (("training", train), ("test", test)):
        seen = {e.label for e in entries}
        empty = [c for label, c in enumerate(classes) if label not in seen]
        bad += [f"class {c} (it has no {what} image)" for c in empty]
    if bad and not config.skip_broken:
        raise DataError(
            f"{len(bad)} entries of {name} cannot be used: {first_ten(bad)}; mend them, or leave "
            "them out with --skip-broken"
        )
    notes = (f"left out {len(bad)} entries of {name}: {first_ten(bad)}",) if bad else ()
    dataset = Dataset(
        name,
        tuple(classes),
        _split(train, config),
        _split(test, config),
        image_size(config),
        augment=("resized_crop", "flip"),
        notes=notes,
    )
    return check_classes(drop_empty_classes(dataset))


def image_size(config: DataSettings) -> int:
    return config.image_size or FILE_SIDE


def _split(entries: list[Entry], config: DataSettings) -> Split:
    side = round(image_size(config) * 256 / 224)  # the margin that crops are taken from
    images = FileImages([e.path for e in entries], side, config.grey)
    return Split.whole(images, np.array([e.label for e in entries], dtype=np.int64))
