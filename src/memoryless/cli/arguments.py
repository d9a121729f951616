"""Values of flags: from a TOML file, if --config names one, and whole numbers without fractions."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import get_args

from cyclopts import App, ArgumentCollection
from cyclopts.config import Dict

from memoryless.errors import ConfigError, cause


def fill_from_file(app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Give every flag that was not typed its value from the file, if one was named."""
    for argument in arguments:
        if argument.name == "--config" and argument.tokens:
            path = argument.tokens[0].value
            fill = Dict(_read(path), source=path, use_commands_as_keys=False)
            fill(app, commands, arguments)


def _read(path: str) -> dict[str, object]:
    try:
        values = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))  # editors may add a BOM
        repr(values)  # a number too long to be shown fails here, and not in the parser of flags
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"the config file {path} cannot be read: {cause(error)}") from error
    for key, value in values.items():
        if isinstance(value, dict) or key == "config":  # cyclopts would pass over a table
            raise ConfigError(f"the config file {path} has {key}, which is no setting")
        if key == "states" and isinstance(value, list):
            raise ConfigError(f'the config file {path} has a list of states: write states = "2,2"')
    return values


def check_whole_numbers(
    _app: App, _commands: tuple[str, ...], arguments: ArgumentCollection
) -> None:
    """Raise for a number with a fraction where a whole one is wanted, which cyclopts rounds."""
    for argument in arguments:
        for token in argument.tokens if _is_whole(argument.hint) else ():
            if "." in token.value:
                raise ConfigError(f"{argument.name} must be a whole number, not {token.value}")


def _is_whole(hint: object) -> bool:
    return hint is int or any(map(_is_whole, get_args(hint)))
