"""`--config FILE` names a TOML file whose keys are the flags; flags on the command line win."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

from cyclopts import App, ArgumentCollection
from cyclopts.config import Dict

from memoryless.errors import ConfigError


def fill_from_file(app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Every flag that was not typed gets its value from the file, if one was named."""
    for argument in arguments:
        if argument.name == "--config" and argument.tokens:
            path = Path(argument.tokens[0].value)
            values = _read(path)
            filler = Dict(values, source=str(path), use_commands_as_keys=False)
            filler(app, commands, arguments)


def _read(path: Path) -> dict[str, object]:
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8-sig"))  # editors may add a BOM
        repr(values)  # a number too long to be shown fails here, and not in the parser of flags
    except FileNotFoundError as error:
        raise ConfigError(f"there is no config file {path}: check --config") from error
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"the config file {path} cannot be read: {_cause(error)}") from error
    tables = [key for key, value in values.items() if isinstance(value, dict) or key == "config"]
    if tables:
        raise ConfigError(
            f"the config file {path} has {', '.join(tables)}, which is no setting: keys stand at "
            "the top, each one of the flags of memoryless run"
        )
    if isinstance(values.get("states"), list):
        sizes = ",".join(map(str, values["states"]))
        raise ConfigError(
            f'the config file {path} gives states as a list: write states = "{sizes}"'
        )
    return values


def _cause(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "its values are nested too deeply"
    if "integer string conversion" in str(error):
        return f"it has a number of more than {sys.get_int_max_str_digits():,} digits"
    return str(error)
