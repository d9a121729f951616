"""Images that stand more than once are found by their bytes, under whatever names."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from memoryless.images.decode import ImageFile


@dataclass(frozen=True)
class Example:
    """An example is a sound image file with the index of its class."""

    file: ImageFile
    label: int

    @property
    def digest(self) -> bytes:
        return self.file.digest


@dataclass(frozen=True)
class Parted:
    """Splits that share no image, and what had to leave them."""

    train: list[Example]
    test: list[Example]
    bad: dict[str, str]
    """The files of each image that left, and why."""
    harmless: list[str]
    """The files of each image that stands more than once in its class; all stay."""


def part(train: list[Example], test: list[Example]) -> Parted:
    """An image under several labels leaves both splits, one in both leaves the training images."""
    copies = defaultdict(list)
    for example in train + test:
        copies[example.digest].append(example)
    trained, tested = ({e.digest for e in split} for split in (train, test))
    unsure = {d for d, group in copies.items() if len({e.label for e in group}) > 1}
    bad, harmless = {}, []
    for digest, group in copies.items():
        if digest in unsure:
            bad[_names(group)] = "one image under several labels"
        elif digest in trained and digest in tested:
            bad[_names(group)] = "one image in training and test"
        elif len(group) > 1:
            harmless.append(_names(group))
    leave = unsure | tested
    kept = [e for e in train if e.digest not in leave], [e for e in test if e.digest not in unsure]
    return Parted(*kept, bad, harmless)


def _names(group: list[Example]) -> str:
    names = list(dict.fromkeys(str(e.file.path) for e in group))
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return " = ".join(names[:3]) + more
