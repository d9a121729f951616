"""Help of the laboratory's commands: defaults in words, settings in sections with their choices."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from cyclopts.help import DefaultFormatter, HelpEntry, HelpPanel

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions


class WordsFormatter(DefaultFormatter):
    """A formatter that shows a command's defaults as one would type them."""

    def __init__(self, command: Callable[..., Any]):
        super().__init__()
        self.parameters = inspect.signature(command).parameters

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
        if panel.format == "parameter":
            panel = panel.copy(entries=[self.told(entry) for entry in panel.entries])
        super().__call__(console, options, panel)

    def told(self, entry: HelpEntry) -> HelpEntry:
        """The entry with its default in words; one that is empty is left to the entry's text."""
        from memoryless.lab.guide import in_words

        if _name(entry) not in self.parameters:
            return entry
        value = self.parameters[_name(entry)].default
        return entry.copy(default=None if value in (None, ()) else in_words(value))


class SettingsFormatter(WordsFormatter):
    """A formatter that shows a command's settings in the sections of docs/settings.md."""

    def __init__(self, command: Callable[..., Any], defaults: Mapping[str, str] | None = None):
        super().__init__(command)
        self.defaults = defaults or {}
        """Defaults in words that are this command's own."""

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
        if panel.format != "parameter":
            super().__call__(console, options, panel)
            return
        from memoryless.lab.guide import sections

        found = {_name(entry): entry for entry in panel.entries}
        parts = {title: [n for n in names if n in found] for title, names in sections().items()}
        others = [n for n in found if not any(n in names for names in parts.values())]
        parts["Runs"] = others + parts["Runs"]
        for title, names in parts.items():
            entries = [found[name] for name in names]
            super().__call__(console, options, panel.copy(title=title, entries=entries))

    def told(self, entry: HelpEntry) -> HelpEntry:
        """The entry with its choices and its default in words."""
        from memoryless.lab.config import Config
        from memoryless.lab.guide import DECIDED, choices, default

        name = _name(entry)
        entry = entry.copy(choices=choices(name) or entry.choices)
        if name in self.defaults:
            return entry.copy(default=self.defaults[name])
        if name in DECIDED or name in Config.__dataclass_fields__:
            return entry.copy(default=default(name))
        return super().told(entry)


def _name(entry: HelpEntry) -> str:
    """The setting that an entry is about; none where it is an argument without a flag."""
    return "".join(entry.positive_names[:1]).removeprefix("--").replace("-", "_")
