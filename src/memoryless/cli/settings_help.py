"""Help of commands that take many settings: in sections, with choices and real defaults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from cyclopts.help import DefaultFormatter, HelpEntry, HelpPanel

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions


class SettingsFormatter(DefaultFormatter):
    """A formatter that shows a command's settings in the sections of docs/settings.md."""

    def __init__(self, defaults: Mapping[str, str] | None = None):
        super().__init__()
        self.defaults = defaults or {}
        """Defaults in words that are this command's own."""

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
        if panel.format != "parameter":
            super().__call__(console, options, panel)
            return
        from memoryless.lab.guide import sections

        found = {_name(entry): self._told(entry) for entry in panel.entries}
        parts = {title: [n for n in names if n in found] for title, names in sections().items()}
        others = [n for n in found if not any(n in names for names in parts.values())]
        parts = {"Runs": others + parts.pop("Runs"), **parts}
        for title, names in parts.items():
            entries = [found[name] for name in names]
            super().__call__(console, options, panel.copy(title=title, entries=entries))

    def _told(self, entry: HelpEntry) -> HelpEntry:
        """The entry with its choices and its default in words."""
        from memoryless.lab.config import Config
        from memoryless.lab.guide import DECIDED, choices, default, in_words

        name = _name(entry)
        if name in self.defaults:
            told: str | None = self.defaults[name]
        elif name in DECIDED or name in Config.__dataclass_fields__:
            told = default(name)
        else:
            told = entry.default and in_words(entry.default)
        return entry.copy(choices=choices(name) or entry.choices, default=told)


def _name(entry: HelpEntry) -> str:
    return entry.positive_names[0].removeprefix("--").replace("-", "_")
