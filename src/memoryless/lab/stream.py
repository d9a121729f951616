"""Streams: a data set in some class order, cut into states.

A state is what others call a task, an experience or a session.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import overload

import numpy as np

from memoryless.errors import ConfigError, DataError
from memoryless.images import Dataset, Split
from memoryless.images.files import read_text
from memoryless.names import first_ten, suggestion
from memoryless.randomness import numpy_generator

NUMBER = r"\d{1,99}"  # Python does not read more than 4,300 digits
# The order the paper's group published later for CIFAR-100, as indices of alphabetical fine labels.
BELOUADAH = [
    int(i)
    for i in """
    8 12 75 16 9 30 19 78 83 85 68 82 44 18 2 34 28 53 25 43 59 3 80 57 55 86 10 17 48 42 20 49 79
    88 31 33 35 52 26 1 77 11 93 56 29 99 71 96 58 87 92 89 66 64 90 95 15 50 91 7 5 32 70 0 76 74
    21 81 27 69 51 6 46 73 14 61 67 98 36 24 40 72 62 47 41 45 13 22 94 4 60 38 65 97 39 54 84 37 63
    23""".split()
]
ORDERS = {
    "natural": "as the data set lists its classes",
    "seed:N": "shuffled by seed N",
    "belouadah": "CIFAR-100's order as published by the paper's group",
    "icarl": "shuffled by NumPy's seed 1993, as by the authors of iCaRL",
    "pycil": "the same: what PyCIL, and most papers since iCaRL, use",
    "FILE": "a file with one class index or class name a line",
}


@dataclass(frozen=True)
class State:
    """New classes that arrive together; labels are positions in the stream's class order."""

    index: int
    past: int
    train: Split
    test: Split
    """Test images of all classes seen so far."""


class Stream(Sequence[State]):
    """A data set cut into states; `stream[t]` is state t."""

    def __init__(self, dataset: Dataset, states: str = "10", order: str = "natural"):
        self.dataset = dataset
        self.order = class_order(order, dataset)
        self.sizes = state_sizes(states, len(dataset.classes))
        self.classes = tuple(dataset.classes[i] for i in self.order)
        self.class_state = np.repeat(np.arange(len(self.sizes)), self.sizes)
        position = np.argsort(self.order)
        self._train = dataset.train.relabel(position[dataset.train.labels])
        self._test = dataset.test.relabel(position[dataset.test.labels])

    def __len__(self) -> int:
        return len(self.sizes)

    @overload
    def __getitem__(self, t: int) -> State: ...
    @overload
    def __getitem__(self, t: slice) -> list[State]: ...
    def __getitem__(self, t: int | slice) -> State | list[State]:
        if isinstance(t, slice):
            return [self[i] for i in range(*t.indices(len(self)))]
        if not -len(self) <= t < len(self):
            raise IndexError(f"state {t} of a stream of {len(self)}")
        t %= len(self)
        past = sum(self.sizes[:t])
        is_new = self.class_state[self._train.labels] == t
        is_seen = self.class_state[self._test.labels] <= t
        return State(t, past, self._train.take(is_new), self._test.take(is_seen))


def state_sizes(states: str, classes: int) -> list[int]:
    """Return how many classes each state brings; the first states bring a remainder.

    >>> state_sizes("3", 10), state_sizes("5,2,3", 10)
    ([4, 3, 3], [5, 2, 3])
    """
    if classes < 1:
        raise DataError("a data set without classes gives no states: add images of each class")
    states = str(states)
    if not re.fullmatch(rf"\s*{NUMBER}\s*(,\s*{NUMBER}\s*)*", states):
        raise ConfigError(f"states '{states}' is neither a number nor a list such as 50,10,10")
    numbers = [int(s) for s in states.split(",")]
    if len(numbers) > 1:
        if 0 in numbers or sum(numbers) != classes:
            raise ConfigError(
                f"states {states} bring {sum(numbers)} classes, the data set has {classes}: the "
                f"sizes must be at least 1 and add up to {classes}"
            )
        return numbers
    number = numbers[0]
    if not 1 <= number <= classes:
        raise ConfigError(
            f"{number} states cannot be made of {classes} classes: "
            f"choose states from 1 to {classes}"
        )
    return [classes // number + (i < classes % number) for i in range(number)]


def class_order(order: str, dataset: Dataset) -> list[int]:
    """Return class indices in the order of their arrival."""
    number = len(dataset.classes)
    seed = re.fullmatch(rf"seed:({NUMBER})", order)
    if order == "natural":
        return list(range(number))
    if seed:
        return list(map(int, numpy_generator(int(seed[1]), "order").permutation(number)))
    if order in ("icarl", "pycil"):
        return list(map(int, np.random.RandomState(1993).permutation(number)))
    if order == "belouadah":
        if dataset.name != "cifar100":
            raise ConfigError(
                f"order belouadah is for cifar100, not {dataset.name}: choose natural or seed:N"
            )
        return BELOUADAH
    with suppress(OSError):  # of a name that is too long, or of a folder that may not be read
        if Path(order).is_file():
            return _read_order(Path(order), dataset)
    hint = suggestion(order, [*ORDERS, "seed:0"])
    raise ConfigError(
        f"unknown order '{order}': choose natural, seed:N with a number N, belouadah, icarl, "
        f"pycil, or a file with one class a line{hint}"
    )


def _read_order(file: Path, dataset: Dataset) -> list[int]:
    index = {name: i for i, name in enumerate(dataset.classes)}
    lines = [line.strip() for line in read_text(file).splitlines() if line.strip()]
    indices = [index.get(line, int(line) if re.fullmatch(NUMBER, line) else -1) for line in lines]
    unknown = [n for n, i in zip(lines, indices, strict=True) if not 0 <= i < len(index)]
    if unknown:
        raise DataError(
            f"the order {file} names unknown classes: {first_ten(unknown)}; name those of "
            f"{dataset.name}"
        )
    if sorted(indices) != list(range(len(index))):
        missing = [dataset.classes[i] for i in sorted(set(range(len(index))) - set(indices))]
        problem = f"lacks {first_ten(missing)}" if missing else "names a class twice"
        raise DataError(f"the order {file} {problem}: name each class exactly once")
    return indices
