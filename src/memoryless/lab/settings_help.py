"""Help of memoryless run: its settings in sections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cyclopts.help import DefaultFormatter

from memoryless.lab.config import Config, StreamSettings
from memoryless.settings import (
    BackboneSettings,
    DataSettings,
    RecordSettings,
    SizeSettings,
    TrainingSettings,
)
from memoryless.strategies import STRATEGIES

if TYPE_CHECKING:
    from cyclopts.help import HelpEntry, HelpPanel
    from rich.console import Console, ConsoleOptions

SECTIONS: dict[str, tuple[type, ...]] = {
    "Runs": (Config,),
    "Data": (DataSettings, SizeSettings),
    "Stream": (StreamSettings,),
    "Backbone": (BackboneSettings,),
    "Training": (TrainingSettings,),
    "One strategy's own": tuple(s.settings for s in STRATEGIES.values() if s.settings),
    "Record": (RecordSettings,),
}


def in_sections(console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
    """Show a panel of settings in the sections of docs/settings.md."""
    flags = {name: title for title, names in sections().items() for name in names}
    titles = [flags.get(_setting(entry), "Runs") for entry in panel.entries]
    for title in SECTIONS:
        entries = [e for e, own in zip(panel.entries, titles, strict=True) if own == title]
        DefaultFormatter()(console, options, panel.copy(title=title, entries=entries))


def sections() -> dict[str, list[str]]:
    """Return the names of all settings by section."""
    return {
        title: [name for part in classes for name in part.__annotations__]
        for title, classes in SECTIONS.items()
    }


def _setting(entry: HelpEntry) -> str:
    return "".join(entry.positive_names[:1]).removeprefix("--").replace("-", "_")
