"""memoryless list says what every name means that a setting takes.

The file is not called list.py: as part of the package that would hide Python's own `list`.
"""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

if TYPE_CHECKING:
    from memoryless.stats.methods import Method

NARROWEST, WIDEST = 80, 120  # columns of the lines
PLAIN = "finetune"  # the strategy that a meaning need not name


def _table(module: str, name: str) -> Callable[[], Mapping[str, Any]]:
    """What gives a table of the package, imported when it is asked for."""
    return lambda: getattr(import_module(f"memoryless.{module}"), name)


def _meanings(setting: str) -> Callable[[], Mapping[str, Any]]:
    """What gives the meanings of a setting's names."""
    return lambda: _table("settings", "MEANINGS")()[setting]


def _methods() -> dict[str, str]:
    """The paper's methods with their names in the paper; then the reference of each strategy."""
    from memoryless.stats.methods import METHODS, method_name

    named = {method_name(m): f"{name} in the paper: {_meaning(m)}" for name, m in METHODS.items()}
    return named | _references()


def _references() -> dict[str, str]:
    """The reference method of each memoryless strategy, which reads class statistics."""
    from memoryless.lab.control import CONTROL
    from memoryless.stats.methods import grid_of, headline
    from memoryless.strategies import STRATEGIES

    able = [name for name, strategy in STRATEGIES.items() if strategy.memoryless]
    methods = {strategy: headline(grid_of(strategy))[-1] for strategy in able}
    return {
        name: "the control" if strategy == CONTROL else f"the reference method of {strategy}"
        for strategy, name in methods.items()
    }


def _meaning(method: Method) -> str:
    """What a method's head is, or its strategy where that is read by its own layer."""
    from memoryless.stats.heads import HEADS
    from memoryless.strategies import STRATEGIES

    if method.head == "current":
        text = STRATEGIES[method.strategy].about
    else:
        text = HEADS[method.head].about + f", with {method.strategy}" * (method.strategy != PLAIN)
    text += f", moved by {method.transport}" * (method.transport != "none")
    return text + f", calibrated by {method.calibration}" * (method.calibration != "none")


KINDS: dict[str, Callable[[], Mapping[str, Any]]] = {
    "data": _table("data", "SOURCES"),
    "orders": _table("lab.stream", "ORDERS"),
    "backbones": _meanings("backbone"),
    "augmentations": _meanings("augment"),
    "strategies": _table("strategies", "STRATEGIES"),
    "schedules": _table("schedules", "SCHEDULES"),
    "lr-later": _table("schedules", "LR_RULES"),
    "presets": _table("lab.presets", "PRESETS"),
    "heads": _table("stats.heads", "HEADS"),
    "calibrations": _table("stats.calibration", "CALIBRATIONS"),
    "transports": _table("stats.transports", "TRANSPORTS"),
    "statistics": _table("stats.class_statistics", "FORMS"),
    "methods": _methods,
}

NOTES = {
    "methods": "strategy+head+calibration+transport; omitted parts are current or none. A "
    "reference method was fixed in advance, and needs a run with --statistics full."
}


def list_names(
    kind: Annotated[
        str | None,
        Parameter(help=f"One of {', '.join(KINDS)}.", show_default="all of them"),
    ] = None,
    /,
) -> None:
    """Say what the names mean that settings take: strategies, heads, methods and the rest."""
    from memoryless.names import choose

    if kind:
        choose("kind", kind, KINDS)
    for name in [kind] if kind else KINDS:
        print(name)
        if name in NOTES:
            print(textwrap.fill(NOTES[name], _width(), initial_indent="  ", subsequent_indent="  "))
        for line in _lines({n: about(entry) for n, entry in KINDS[name]().items()}):
            print(line)


def about(entry: Any) -> str:
    """What an entry of a table means: its own words, or the first sentence of its docstring."""
    if isinstance(entry, str):
        return entry
    own = getattr(entry, "about", None)
    text = own or " ".join((entry.__doc__ or "").split()).partition(". ")[0].rstrip(".")
    return text[:1].lower() + text[1:] if own is None else text


def _width() -> int:
    """How many columns lines may take: a terminal's within bounds, the fewest elsewhere."""
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else NARROWEST
    return min(max(columns, NARROWEST), WIDEST)


def _lines(meanings: Mapping[str, str]) -> list[str]:
    """Names and meanings in two columns that fit a terminal."""
    indent = " " * (max(map(len, meanings)) + 4)
    return [
        line
        for name, meaning in meanings.items()
        for line in textwrap.wrap(
            meaning,
            _width(),
            initial_indent=f"  {name}".ljust(len(indent)),
            subsequent_indent=indent,
            break_on_hyphens=False,
        )
    ]
