"""memoryless list explains every name that settings take.

The file is not called list.py: as part of the package that would hide Python's own `list`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

if TYPE_CHECKING:
    from memoryless.stats.methods import Method

PLAIN = "finetune"  # the strategy that a meaning need not name
TABLES = {
    "data": "images.sources.SOURCES",
    "orders": "lab.stream.ORDERS",
    "backbones": "embed.BACKBONES",
    "strategies": "strategies.STRATEGIES",
    "schedules": "train.schedules.SCHEDULES",
    "lr-later": "train.schedules.LR_RULES",
    "presets": "lab.presets.PRESETS",
    "heads": "stats.heads.HEADS",
    "calibrations": "stats.calibration.CALIBRATIONS",
    "transports": "stats.transports.TRANSPORTS",
    "statistics": "stats.class_statistics.FORMS",
}
KINDS = [*TABLES, "methods"]
METHODS_NOTE = (
    "strategy+head+calibration+transport; omitted parts are current or none. A reference method "
    "was fixed in advance, and needs a run with --statistics full."
)


def list_names(
    kind: Annotated[str | None, Parameter(show_default="all of them")] = None, /
) -> None:
    """Explain the names that settings take: strategies, heads, methods and the rest.

    Parameters
    ----------
    kind
        One of data, orders, backbones, strategies, schedules, lr-later, presets, heads,
        calibrations, transports, statistics, methods.
    """
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table

    from memoryless.names import choose

    if kind:
        choose("kind", kind, dict.fromkeys(KINDS))
    console = Console(highlight=False, markup=False)
    for name in [kind] if kind else KINDS:
        console.print(name)
        if name == "methods":
            console.print(Padding(METHODS_NOTE, (0, 2)))
        lines = Table.grid("", "", padding=(0, 2))
        lines.columns[0].no_wrap = True
        for entry, meaning in meanings(name).items():
            lines.add_row(entry, meaning)
        console.print(Padding(lines, (0, 2)))


def meanings(kind: str) -> dict[str, str]:
    """Return the meaning of each name of a kind."""
    if kind == "methods":
        return _methods()
    module, _, table = TABLES[kind].rpartition(".")
    entries = getattr(import_module(f"memoryless.{module}"), table)
    return {name: about(entry) for name, entry in entries.items()}


def about(entry: Any) -> str:
    """Return the meaning of an entry: its own words, or the first sentence of its docstring."""
    if isinstance(entry, str):
        return entry
    if own := getattr(entry, "about", None):
        return str(own)
    text = " ".join((entry.__doc__ or "").split()).partition(". ")[0].rstrip(".")
    return text[:1].lower() + text[1:]


def _methods() -> dict[str, str]:
    """Explain the paper's methods by their names in the paper, then the reference of each
    memoryless strategy, which reads class statistics.
    """
    from memoryless.lab.config import CONTROL
    from memoryless.stats.methods import METHODS, grid_of, headline, method_name
    from memoryless.strategies import STRATEGIES

    found = {method_name(m): f"{name} in the paper: {_meaning(m)}" for name, m in METHODS.items()}
    for name, strategy in STRATEGIES.items():
        if strategy.memoryless:
            role = "the control" if name == CONTROL else f"the reference method of {name}"
            found[headline(grid_of(name))[-1]] = role
    return found


def _meaning(method: Method) -> str:
    """Return the meaning of a method's head, or of its strategy where it uses the trained layer."""
    from memoryless.stats.heads import HEADS
    from memoryless.strategies import STRATEGIES

    if method.head == "current":
        text = STRATEGIES[method.strategy].about
    else:
        text = HEADS[method.head].about + f", with {method.strategy}" * (method.strategy != PLAIN)
    text += f", moved by {method.transport}" * (method.transport != "none")
    return text + f", calibrated by {method.calibration}" * (method.calibration != "none")
