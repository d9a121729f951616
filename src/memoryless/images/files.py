"""Data sets of image files: what a folder or two lists name is checked, then decoded when read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from memoryless.images.dataset import (
    Dataset,
    Split,
    check_classes,
    counted,
    drop_empty_classes,
    hold_out,
)
from memoryless.images.decode import FileImages, ImageFile, check_files
from memoryless.images.folders import list_folder
from memoryless.images.listing import Entry, Listing, read_lists
from memoryless.images.repeats import Example, part
from memoryless.errors import ConfigError, DataError
from memoryless.names import first_ten
from memoryless.settings import DataSettings

FilesProgress = Callable[[int, int], None]
FILE_SIDE = 224  # of what the network sees of photos, as for ImageNet


def silent(done: int, total: int) -> None:
    """Tell nobody how many files are checked."""


def load_folder(config: DataSettings, progress: FilesProgress = silent) -> Dataset:
    """A data set from a folder for each class, in `root` or in `root/train` and `root/test`."""
    if config.root is None:
        raise ConfigError("data = folder needs the folder of images: add `root=FOLDER`")
    return _dataset(list_folder(config.root), config, progress)


def load_list(config: DataSettings, progress: FilesProgress = silent) -> Dataset:
    """A data set from two files with lines of "path label"."""
    if config.train_list is None or config.test_list is None:
        raise ConfigError("data = list needs both `train_list=FILE` and `test_list=FILE`")
    lists = config.train_list, config.test_list
    return _dataset(read_lists(*lists, config.root, config.class_names), config, progress)


def _dataset(listing: Listing, config: DataSettings, progress: FilesProgress) -> Dataset:
    """The data set; what cannot be used is reported in one error, or left out with a note."""
    train, test = _sound(listing, config, progress)
    for what, examples in (("training", train), ("test", test)):
        seen = {e.label for e in examples}
        for label, name in enumerate(listing.classes):
            if label not in seen:
                listing.bad.setdefault(f"class {name}", f"it has no {what} image")
    _report(listing, config.skip_broken)
    dataset = Dataset(
        listing.name,
        tuple(listing.classes),
        _split(train, config),
        _split(test, config),
        image_size(config),
        augment=("resized_crop", "flip"),
        notes=tuple(listing.notes),
    )
    return check_classes(drop_empty_classes(dataset))


def _sound(
    listing: Listing, config: DataSettings, progress: FilesProgress
) -> tuple[list[Example], list[Example]]:
    """Read every file once; leave out broken ones, and images that stand where they must not."""
    entries = listing.train + (listing.test or [])
    checked = check_files((e.path for e in entries), config.grey, progress)
    listing.bad |= {str(path): why for path, why in checked.items() if isinstance(why, str)}
    files = {path: file for path, file in checked.items() if isinstance(file, ImageFile)}
    plain = [str(f.path) for f in files.values() if not f.exif]
    _note(listing, plain, "image has damaged EXIF data and is taken as it is stored",
          "images have damaged EXIF data and are taken as they are stored")  # fmt: skip
    parted = part(_examples(listing.train, files), _examples(listing.test or [], files))
    listing.bad |= parted.bad
    _note(listing, parted.harmless, "image stands in its class more than once",
          "images stand in their class more than once")  # fmt: skip
    if listing.test is None:
        return _hold_out(parted.train, config.test_share)
    return parted.train, parted.test


def _examples(entries: Iterable[Entry], files: Mapping[Path, ImageFile]) -> list[Example]:
    return [Example(files[e.path], e.label) for e in entries if e.path in files]


def _note(listing: Listing, names: Sequence[str], one: str, many: str) -> None:
    if names:
        listing.notes.append(f"{counted(len(names), one, many)}: {first_ten(names)}")


def _hold_out(examples: list[Example], share: float) -> tuple[list[Example], list[Example]]:
    """A share of each class becomes test images; all copies of an image stay together."""
    labels = {e.digest: e.label for e in examples}
    mask = hold_out(np.array(list(labels.values()), dtype=int), share, "test")
    held = {digest for digest, drawn in zip(labels, mask, strict=True) if drawn}
    return [e for e in examples if e.digest not in held], [e for e in examples if e.digest in held]


def _report(listing: Listing, skip_broken: bool) -> None:
    if not listing.bad:
        return
    number = counted(len(listing.bad), "entry", "entries")
    named = first_ten(f"{what} ({why})" for what, why in listing.bad.items())
    if not skip_broken:
        them = "it" if len(listing.bad) == 1 else "them"
        raise DataError(
            f"{number} of {listing.name} cannot be used: {named}; mend {them}, or leave {them} out "
            "with `skip_broken=True`"
        )
    listing.notes.insert(0, f"left out {number} of {listing.name}: {named}")


def image_size(config: DataSettings) -> int:
    return config.image_size or FILE_SIDE


def _split(examples: list[Example], config: DataSettings) -> Split:
    side = round(image_size(config) / config.crop)  # with the margin that crops are taken from
    images = FileImages([e.file for e in examples], side, config.grey)
    return Split.whole(images, np.array([e.label for e in examples], dtype=np.int64))
