"""What can go wrong that a user can mend: each error is one sentence with the fix."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import TypeVar

T = TypeVar("T")


class MemorylessError(Exception):
    """Base of all errors shown to a user without a traceback."""

    exit_code = 2


class ConfigError(MemorylessError):
    """A setting that cannot be used."""


class DataError(MemorylessError):
    """Images, labels or lists that cannot be used."""


class StoreError(MemorylessError):
    """A file that cannot be written, or was damaged."""

    exit_code = 1


class TrainingError(MemorylessError):
    """Training that cannot go on."""

    exit_code = 1


def choose(kind: str, name: str, table: Mapping[str, T]) -> T:
    """The entry called `name`, or an error that lists what there is.

    >>> choose("head", "siv", {"siw": 1, "l2": 2})
    Traceback (most recent call last):
        ...
    memoryless.errors.ConfigError: unknown head 'siv': choose from siw, l2; did you mean 'siw'?
    """
    if name in table:
        return table[name]
    close = difflib.get_close_matches(name, table, n=1)
    hint = f"; did you mean '{close[0]}'?" if close else ""
    raise ConfigError(f"unknown {kind} '{name}': choose from {', '.join(table)}{hint}")


def first_ten(offenders: Iterable[str]) -> str:
    """The first ten of them and how many more there are.

    >>> first_ten(f"{i}.png" for i in range(12))
    '0.png, 1.png, 2.png, 3.png, 4.png, 5.png, 6.png, 7.png, 8.png, 9.png and 2 more'
    """
    listed = list(offenders)
    more = f" and {len(listed) - 10} more" if len(listed) > 10 else ""
    return ", ".join(listed[:10]) + more
