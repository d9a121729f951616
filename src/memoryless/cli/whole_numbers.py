"""Whole numbers are whole: `--epochs 1.5` is an error, not two epochs."""

from __future__ import annotations

import re
from typing import get_args

from cyclopts import App, ArgumentCollection

from memoryless.errors import ConfigError


def check_whole_numbers(app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Raise for a number with a fraction where a whole one is wanted, which would be rounded."""
    for argument in arguments:
        if _is_whole(argument.hint):
            for token in argument.tokens:
                if re.fullmatch(r"\s*[+-]?(\d[\d_]*\.\d*|\.\d+|\d+e-?\d+)\s*", token.value, re.I):
                    raise ConfigError(f"{argument.name} must be a whole number, not {token.value}")


def _is_whole(hint: object) -> bool:
    return hint is int or int in get_args(hint) or any(map(_is_whole, get_args(hint)))
