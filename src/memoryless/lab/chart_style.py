"""What figures look like: colours, sizes, and where names stand beside lines and dots."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np
from matplotlib.rcsetup import cycler
from scipy.optimize import isotonic_regression

T = TypeVar("T")

# Okabe and Ito's colours, which colour-blind people tell apart, without black and yellow: one of
# them is always too near to the page, light or dark.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
DASHES = ("-", *((0, dashes) for dashes in ((6, 2), (2, 2), (8, 2, 2, 2), (4, 4), (1, 3))))
MARKERS = ("o", "s", "^", "D", "v", "P")
FAINT = "#b3b3b3"  # dots that do not stand out, and lines that lead to names
INCHES = {1: 3.3, 2: 6.9}  # width of one column of a page, and of both
INCHES_HIGH = 2.4
POINTS = 8
# Text stays text, to be searched and edited, and `$` begins no maths; equal figures give equal
# files.
STYLE: Any = {
    "font.size": POINTS, "axes.titlesize": POINTS, "axes.labelsize": POINTS,
    "xtick.labelsize": POINTS, "ytick.labelsize": POINTS, "legend.fontsize": POINTS,
    "axes.spines.top": False, "axes.spines.right": False, "axes.linewidth": 0.6,
    "axes.prop_cycle": cycler(color=COLOURS, linestyle=DASHES, marker=MARKERS),
    "xtick.major.width": 0.6, "ytick.major.width": 0.6, "lines.linewidth": 1.2,
    "lines.markersize": 3.5, "legend.frameon": False, "savefig.dpi": 300,
    "text.parse_math": False,
    "pdf.fonttype": 42, "svg.fonttype": "none", "svg.hashsalt": "memoryless",
}  # fmt: skip


def spread(places: Sequence[float], heights: Sequence[float]) -> list[float]:
    """Middles of labels of these heights, moved as little as possible so that none overlap.

    All lie between 0 and 1, and the sum of squared moves is the least there is.

    >>> spread([0.50, 0.52, 0.1], [0.1, 0.1, 0.1])
    [0.46, 0.56, 0.1]
    """
    order = np.argsort(places, kind="stable")
    ordered = np.array(heights)[order]
    stacked = np.cumsum(ordered) - ordered / 2  # middles of the same labels without gaps, from 0
    gaps = isotonic_regression(np.array(places)[order] - stacked).x
    middles = np.empty(len(order))
    middles[order] = stacked + gaps.clip(0, max(0.0, 1 - ordered.sum()))
    return [round(float(middle), 9) for middle in middles]


def few_of(things: Sequence[T], most: int) -> list[T]:
    """At most so many of some things, spaced evenly, the last always.

    >>> few_of("abcdefg", 3), few_of("ab", 3)
    (['a', 'd', 'g'], ['a', 'b'])
    """
    last = len(things) - 1
    if last < most:
        return list(things)
    return [things[round(i * last / (most - 1))] for i in range(most)]


def wrapped(label: str, most: int) -> str:
    r"""A name in lines of at most so many characters, broken after a plus or at a space.

    >>> wrapped("finetune+rda+widened (middle stages)", 15)
    'finetune+rda+\nwidened (middle\nstages)'
    """
    lines = textwrap.wrap(label.replace("+", "+ "), most, break_long_words=False)
    return "\n".join(lines).replace("+ ", "+")
