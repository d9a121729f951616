"""Data sources behind one contract: `load(settings)` gives a `Dataset`.

Data sets of image files are checked whole first, and decoded when they are read.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from memoryless.embed.preparation import PHOTO_SIDE
from memoryless.errors import ConfigError, DataError
from memoryless.images.cifar import load_cifar
from memoryless.images.dataset import Dataset, Split, check_classes, hold_out, validation_set
from memoryless.images.duplicates import SEVERAL_LABELS, name_copies, several_labels
from memoryless.images.files import Photo, read_text
from memoryless.images.find import Found, find_listed, find_splits
from memoryless.images.quickdraw import load_quickdraw100
from memoryless.images.read import Facts, UnreadableError, central_square, read, remarks
from memoryless.names import choose, counted, first_ten, note, with_reasons
from memoryless.settings import WIDTH, DataSettings
from memoryless.threads import ahead

if TYPE_CHECKING:
    import torch

FilesProgress = Callable[[int, int], None]
# Decoded images of a split stay in memory up to this: 5,400 photos at 224 pixels, and no more than
# a small computer can spare.
MOST_IN_MEMORY = 2**30
MOST_DIGITS = 18  # of a label that counts as a number: Python refuses to read 4,301


def silent(done: int, total: int) -> None:
    """Ignore how many files are checked."""


def load_folder(config: DataSettings, progress: FilesProgress = silent) -> Dataset:
    """Load what `learn` reads: `root` is a folder, a zip, a table or a list."""
    if config.root is None:
        raise ConfigError("data = folder needs the folder of images: add `root=FOLDER`")
    found = find_splits(config.root)
    return _dataset(config.root.resolve().name, found, _order(found), config, progress)


def load_list(config: DataSettings, progress: FilesProgress = silent) -> Dataset:
    """Load two lists, or tables, of paths and labels."""
    if config.train_list is None or config.test_list is None:
        raise ConfigError("data = list needs both `train_list=FILE` and `test_list=FILE`")
    found = [find_listed(file, config.root) for file in (config.train_list, config.test_list)]
    if config.class_names:
        order = _read_names(config.class_names)
        found = [_named(part, order) for part in found]
    else:
        order = _order(found, numbers=True)
    return _dataset(config.train_list.stem, found, order, config, progress)


@dataclass(frozen=True)
class Source:
    """Where a data set comes from."""

    load: Callable[..., Dataset]
    """Makes a data set of settings; where it checks files, it reports how many are checked."""
    side: int
    """Side in pixels of what the network sees, unless settings say otherwise."""
    about: str = ""
    width: int = WIDTH
    """Channels of a ResNet's first stage that suit the images, unless settings say otherwise."""
    files: bool = False
    """Whether it reads image files, which takes long enough to report progress."""


SOURCES: dict[str, Source] = {
    "quickdraw100": Source(
        lambda settings: load_quickdraw100(settings.root),
        28,
        "100 classes of drawings, embedded in the package",
        width=8,
    ),
    "cifar100": Source(
        lambda settings: load_cifar("cifar100", settings.root),
        32,
        "CIFAR-100, read from the official archive or folder",
    ),
    "cifar10": Source(
        lambda settings: load_cifar("cifar10", settings.root),
        32,
        "CIFAR-10, read from the official archive or folder",
    ),
    "folder": Source(
        load_folder, PHOTO_SIDE, "your photos: folders of classes, a zip or a table", files=True
    ),
    "list": Source(
        load_list, PHOTO_SIDE, "your photos, in two lists of paths and labels", files=True
    ),
}


def load(settings: DataSettings, progress: FilesProgress = silent) -> Dataset:
    """Load the data set that settings name, checked: every image readable, no class empty.

    `progress` receives how many files are checked, of how many.
    """
    source = choose("data set", settings.data, SOURCES)
    dataset = source.load(settings, progress) if source.files else source.load(settings)
    if settings.image_size:
        dataset = replace(dataset, image_size=settings.image_size)
    return validation_set(dataset, settings.validation) if settings.validation else dataset


class ImageFile(NamedTuple):
    """A photo that can be read, and what its file was when it was checked."""

    photo: Photo
    facts: Facts

    @property
    def label(self) -> str:
        return str(self.photo.label)


def _order(found: Sequence[Found], numbers: bool = False) -> list[str]:
    """Return the names of all classes in order; with `numbers`, by value if all are numbers."""
    labels = {name for part in found for name in part.classes}
    numbers = numbers and all(name.isdecimal() and len(name) <= MOST_DIGITS for name in labels)
    return sorted(labels, key=int if numbers else None)


def _read_names(file: Path) -> list[str]:
    names = [name for name in read_text(file).splitlines() if name.strip()]
    twice = sorted(name for name, number in Counter(names).items() if number > 1)
    if twice:
        raise DataError(f"{file} names classes twice: {first_ten(twice)}; name each once")
    return names


def _named(found: Found, names: Sequence[str]) -> Found:
    """Return what was found with names of classes in the place of their numbers."""
    name_of = {str(number): name for number, name in enumerate(names)}
    photos, unusable = [], dict(found.unusable)
    for photo in found.photos:
        if photo.label in name_of:
            photos.append(replace(photo, label=name_of[photo.label]))
        else:
            unusable[photo.name] = f"label {photo.label} is not below {len(names)}"
    return replace(found, photos=photos, unusable=unusable)


def _dataset(
    name: str,
    found: Sequence[Found],
    order: Sequence[str],
    config: DataSettings,
    progress: FilesProgress,
) -> Dataset:
    """Make the data set; what cannot be used is one error, or is left out with a note."""
    bad = {what: why for part in found for what, why in part.unusable.items()}
    parts = _check(found, bad, progress)
    files = [file for part in parts for file in part]
    notes = [
        *_notes(found),
        *remarks([file.photo for file in files], [file.facts for file in files]),
    ]
    parts, copies = without_repeats(parts, bad)
    notes += note(copies, "image stands in its class more than once",
                  "images stand in their class more than once")  # fmt: skip
    if len(parts) == 1:
        parts = _hold_out(parts[0], config.test_share)
    classes = _classes(order, parts, bad)
    notes = [*_left_out(name, bad, config.skip_broken), *notes]
    size = config.image_size or PHOTO_SIDE
    side = round(size / config.crop)  # with the margin that crops are taken from
    train, test = (_split(part, classes, side, config.grey) for part in parts)
    augment = ("resized_crop", "flip")
    return check_classes(Dataset(name, tuple(classes), train, test, size, augment, tuple(notes)))


def _check(
    found: Sequence[Found], bad: dict[str, str], progress: FilesProgress
) -> list[list[ImageFile]]:
    """Read every file once; what cannot be read is added to `bad`."""
    import torch

    photos = list({photo: None for part in found for photo in part.photos})
    facts: dict[Photo, Facts] = {}
    checked = ahead(_facts_or_why, photos, torch.get_num_threads())
    for done, (photo, one) in enumerate(zip(photos, checked, strict=True), 1):
        if isinstance(one, Facts):
            facts[photo] = one
        else:
            bad[photo.name] = one
        progress(done, len(photos))
    return [[ImageFile(p, facts[p]) for p in part.photos if p in facts] for part in found]


def _facts_or_why(photo: Photo) -> Facts | str:
    try:
        return read(photo, 1)[1]
    except UnreadableError as error:
        return error.why


def _notes(found: Sequence[Found]) -> list[str]:
    skipped = {name: why for part in found for name, why in part.skipped.items()}
    named = [f"{name} ({why})" for name, why in skipped.items()]
    said = [sentence for part in found for sentence in part.notes]
    return [*dict.fromkeys(said), *note(named, "entry was not read", "entries were not read")]


def without_repeats(
    parts: Sequence[list[ImageFile]], bad: dict[str, str]
) -> tuple[list[list[ImageFile]], list[str]]:
    """Leave out images that stand where they must not, which are added to `bad`.

    An image under several labels leaves all parts; one in training and test leaves the training
    images. Those that stand in one class several times stay, and their names are returned.
    """
    every = [file for part in parts for file in part]
    digests = [file.facts.sha256 for file in every]
    names = name_copies([file.photo.name for file in every], digests)
    unsure = several_labels((file.label, file.facts.sha256) for file in every)
    bad |= {names[digest]: SEVERAL_LABELS for digest in names if digest in unsure}
    held = [{file.facts.sha256 for file in part} - unsure for part in parts]
    both = held[0] & held[1] if len(parts) == 2 else set()
    bad |= {names[digest]: "one image in training and test" for digest in names if digest in both}
    leave = [unsure | both, unsure]
    left = [
        [file for file in part if file.facts.sha256 not in gone]
        for part, gone in zip(parts, leave, strict=False)
    ]
    times = Counter(digests)
    return left, [n for d, n in names.items() if times[d] > 1 and d not in unsure | both]


def _hold_out(files: list[ImageFile], share: float) -> list[list[ImageFile]]:
    """Make a share of each class test images; all copies of an image stay together."""
    label_of = {file.facts.sha256: file.label for file in files}
    _, labels = np.unique(list(label_of.values()), return_inverse=True)
    mask = hold_out(labels, share, "test")
    held = {digest for digest, drawn in zip(label_of, mask, strict=True) if drawn}
    return [[f for f in files if (f.facts.sha256 in held) == wanted] for wanted in (False, True)]


def _classes(
    order: Sequence[str], parts: Sequence[Sequence[ImageFile]], bad: dict[str, str]
) -> list[str]:
    """Return the classes with training and test images; the others are added to `bad`."""
    for part, what in zip(parts, ("training", "test"), strict=True):
        present = {file.label for file in part}
        for name in order:
            if name not in present:
                bad.setdefault(f"class {name}", f"it has no {what} image")
    return [name for name in order if f"class {name}" not in bad]


def _left_out(name: str, bad: dict[str, str], skip_broken: bool) -> list[str]:
    """Return the note of what is left out; raise if that is not allowed."""
    if not bad:
        return []
    number = counted(len(bad), "entry", "entries")
    named = with_reasons(bad)
    if not skip_broken:
        them = "it" if len(bad) == 1 else "them"
        raise DataError(
            f"{number} of {name} cannot be used: {named}; repair {them}, or leave {them} out with "
            "`skip_broken=True`"
        )
    return [f"left out {number} of {name}: {named}"]


def _split(files: Sequence[ImageFile], classes: Sequence[str], side: int, grey: bool) -> Split:
    """Make a split of the files of some classes; labels are places among these."""
    index = {name: i for i, name in enumerate(classes)}
    known = [file for file in files if file.label in index]
    labels = np.array([index[file.label] for file in known], dtype=np.int64)
    return Split.whole(FileImages(known, side, grey), labels)


class FileImages:
    """Checked photos are decoded to their central squares of `side` pixels, in one pool."""

    def __init__(self, files: Sequence[ImageFile], side: int, grey: bool = False):
        import torch

        self.files = list(files)
        self.shape = (1 if grey else 3, side, side)
        self._pool = ThreadPoolExecutor(torch.get_num_threads())
        room = (len(self.files), side, side, self.shape[0])
        self._pixels = np.empty(room, np.uint8) if math.prod(room) <= MOST_IN_MEMORY else None
        self._decoded = np.zeros(len(self.files), dtype=bool)

    def __len__(self) -> int:
        return len(self.files)

    def read(self, indices: np.ndarray) -> torch.Tensor:
        import torch

        pixels = self._decode(indices) if self._pixels is None else self._recall(indices)
        return torch.from_numpy(pixels).permute(0, 3, 1, 2)  # (B, C, H, W)

    def stored_bytes(self, indices: np.ndarray) -> int:
        return sum(self.files[i].facts.size for i in indices)

    def _recall(self, indices: np.ndarray) -> np.ndarray:
        assert self._pixels is not None
        missing = np.unique(indices[~self._decoded[indices]])
        if len(missing):
            self._pixels[missing] = self._decode(missing)
            self._decoded[missing] = True
        pixels: np.ndarray = self._pixels[indices]
        return pixels

    def _decode(self, indices: np.ndarray) -> np.ndarray:
        channels, side, _ = self.shape
        decode_one = partial(_decode_again, side=side, grey=channels == 1)
        return np.stack(list(self._pool.map(decode_one, [self.files[i] for i in indices])))


def _decode_again(file: ImageFile, side: int, grey: bool) -> np.ndarray:
    try:
        pixels, facts = read(file.photo, side)
    except UnreadableError as error:
        raise _changed(file, error.why) from error
    if facts.sha256 != file.facts.sha256:
        raise _changed(file, "its bytes have changed")
    return central_square(pixels, side, grey)


def _changed(file: ImageFile, why: str) -> DataError:
    return DataError(
        f"the image {file.photo.name} cannot be read any more ({why}): put it back as it was and "
        "run the same command again"
    )
