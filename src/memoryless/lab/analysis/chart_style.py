"""What charts share, drawn by hand or by matplotlib: colours, dashes, ticks, places of labels."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import TypeVar

T = TypeVar("T")

# Okabe and Ito's colours, which colour-blind people tell apart, without black and yellow: one of
# them is always too near to the page, light or dark.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ((), (6, 2), (2, 2), (8, 2, 2, 2), (4, 4), (1, 3))
MARKERS = ("o", "s", "^", "D", "v", "P")
MOST_NUMBERED = 12  # states whose confusion still has room for a number in each cell
MOST_MARKED = 10  # states of a line that have a mark


@dataclass
class _Block:
    """Labels that touch: a middle, a height, and how many they are."""

    middle: float
    height: float
    number: int

    def meets(self, below: _Block) -> bool:
        return below.middle - self.middle < (self.height + below.height) / 2

    def joined(self, other: _Block) -> _Block:
        number = self.number + other.number
        middle = (self.middle * self.number + other.middle * other.number) / number
        return _Block(middle, self.height + other.height, number)

    def moved_within(self, low: float, high: float) -> _Block:
        half = self.height / 2
        return replace(self, middle=max(low + half, min(high - half, self.middle)))


def spread(
    places: Sequence[float], heights: Sequence[float], low: float, high: float
) -> list[float]:
    """Middles of labels of these heights, as near to their places as they can be without overlap.

    >>> spread([50, 52, 10], [10, 10, 10], 0, 100)
    [46.0, 56.0, 10.0]
    """
    order = sorted(range(len(places)), key=lambda i: (places[i], i))
    blocks: list[_Block] = []
    for i in order:
        blocks.append(_Block(places[i], heights[i], 1).moved_within(low, high))
        while len(blocks) > 1 and blocks[-2].meets(blocks[-1]):
            last = blocks.pop()
            blocks[-1] = blocks[-1].joined(last).moved_within(low, high)
    middles: dict[int, float] = {}
    members = iter(order)
    for block in blocks:
        top = block.middle - block.height / 2
        for i in islice(members, block.number):
            middles[i] = top + heights[i] / 2
            top += heights[i]
    return [middles[i] for i in range(len(places))]


def state_ticks(states: int, most: int = 10) -> list[int]:
    """Whole numbers from state 0 to the last, as many as there is room for.

    A round number that stands too near to the last is left out.

    >>> state_ticks(4), state_ticks(50), state_ticks(18)
    ([0, 1, 2, 3], [0, 10, 20, 30, 40, 49], [0, 2, 4, 6, 8, 10, 12, 14, 17])
    """
    steps = (step * 10**power for power in range(6) for step in (1, 2, 5))
    step = next(step for step in steps if (states - 1) / step <= most - 1)
    last = states - 1
    return [*(t for t in range(0, last, step) if last - t >= 0.75 * step), last]


def percent_ticks(highest: float) -> list[int]:
    """Round percentages from 0 to the first that is not below the highest.

    >>> percent_ticks(55.0), percent_ticks(9.0)
    ([0, 20, 40, 60], [0, 2, 4, 6, 8, 10])
    """
    step = next((step for step in (1, 2, 5, 10, 20) if highest / step <= 5), 20)
    return list(range(0, step * max(1, math.ceil(highest / step)) + 1, step))


def around(percent: float, deviation: float) -> tuple[float, float]:
    """A percentage less and plus its deviation, within what a percentage can be."""
    return max(0.0, percent - deviation), min(100.0, percent + deviation)


def byte_ticks(low: int, high: int) -> dict[int, str]:
    """Powers of ten around some numbers of bytes, and how people read them.

    >>> byte_ticks(500, 2_000_000)
    {1000: '1 kB', 10000: '10 kB', 100000: '100 kB', 1000000: '1 MB'}
    """
    inside = range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)
    few = inside if len(inside) <= 4 else [power for power in inside if power % 3 == 0]
    return {10**power: _power(power) for power in few}


def _power(power: int) -> str:
    unit = ("bytes", "kB", "MB", "GB", "TB")[power // 3]
    return f"{10 ** (power % 3)} {unit}"


def apart(spans: Sequence[tuple[float, float]], low: float, gap: float) -> list[int]:
    """Which of some spans of text to show: beyond `low`, evenly, the last always, a gap between.

    >>> apart([(0, 9), (10, 19), (20, 29), (30, 39)], 0, 5)
    [1, 3]
    """
    inside = [i for i, (start, _) in enumerate(spans) if start >= low]
    for step in range(1, len(inside)):
        few = inside[::-1][::step][::-1]
        if all(spans[b][0] - spans[a][1] >= gap for a, b in pairwise(few)):
            return few
    return inside[-1:]


def few_of(things: Sequence[T], most: int) -> list[T]:
    """At most so many of some things, spaced evenly, the last always.

    >>> few_of("abcdefg", 3), few_of("ab", 3)
    (['a', 'd', 'g'], ['a', 'b'])
    """
    last = len(things) - 1
    if last < most:
        return list(things)
    return [things[round(i * last / (most - 1))] for i in range(most)]


def wrapped(label: str, most: int) -> list[str]:
    """A name in lines of at most so many characters, broken after a plus or at a space.

    What stands in brackets begins a line, unless all fits into one.

    >>> wrapped("finetune+rda+widened (middle stages)", 15)
    ['finetune+rda+', 'widened', '(middle stages)']
    """
    name, bracket, rest = label.partition(" (")
    if bracket and len(label) > most:
        return [*wrapped(name, most), *wrapped(f"({rest}", most)]
    lines = [""]
    for part in re.findall(r"[^+ ]*[+ ]|[^+ ]+$", label):
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > most:
            lines.append("")
        lines[-1] += part
    return [line.rstrip() for line in lines]
