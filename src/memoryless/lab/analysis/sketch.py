"""A sketch plots a few lines in characters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

MARKS = "ox+*#@"
HEIGHT = 10
STEP = 5


def sketch(lines: Mapping[str, Sequence[float]], title: str) -> str:
    """The sketch shows percentages by state, one mark a line; where marks meet, the later is seen.

    >>> print(sketch({"a": [100.0, 50.0], "b": [100.0, 0.0]}, "accuracy"))
    accuracy
    100 |x
     90 |
     80 |
     70 |
     60 |
     50 |     o
     40 |
     30 |
     20 |
     10 |
      0 |     x
        +------
         0    1 state
    o a   x b
    """
    states = len(next(iter(lines.values())))
    rows = [[" "] * (STEP * (states - 1) + 1) for _ in range(HEIGHT + 1)]
    for mark, values in zip(MARKS, lines.values(), strict=False):
        for t, value in enumerate(values):
            rows[HEIGHT - round(value * HEIGHT / 100)][t * STEP] = mark
    drawn = [f"{100 - i * 100 // HEIGHT:3d} |{''.join(row)}".rstrip() for i, row in enumerate(rows)]
    axis = "    +" + "-" * (STEP * (states - 1) + 1)
    numbers = "     " + "".join(f"{t:<{STEP}d}" for t in range(states)).rstrip() + " state"
    legend = "   ".join(f"{mark} {name}" for mark, name in zip(MARKS, lines, strict=False))
    return "\n".join([title, *drawn, axis, numbers, legend])
