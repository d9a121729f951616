"""Numbers as people read them, and lines with a heading."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta

from memoryless.cli.output import say
from memoryless.names import first_ten, size

__all__ = ["duration", "reasons", "size", "tell", "tell_each"]

HEADING = 10  # characters


def duration(seconds: float) -> str:
    """A time as people read it.

    >>> duration(0.4), duration(89.7), duration(3700)
    ('1 s', '90 s', '1:01:40')
    """
    return (
        f"{max(1, round(seconds))} s" if seconds < 100 else str(timedelta(seconds=round(seconds)))
    )


def tell(heading: str, text: str) -> None:
    """Print a line under a heading."""
    say(f"{heading:{HEADING}}{text}")


def tell_each(heading: str, texts: Iterable[str]) -> None:
    """Print some lines, each under the heading."""
    for text in texts:
        tell(heading, text)


def reasons(left_out: Mapping[str, str]) -> str:
    """How many things were left out, the first of them with the reason."""
    return f"{len(left_out):,}: " + first_ten(f"{name} ({why})" for name, why in left_out.items())
