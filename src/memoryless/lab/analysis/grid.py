"""A table once, shown on a terminal or written as CSV, JSON, Markdown or LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from memoryless.errors import ConfigError, WriteError
from memoryless.names import choose
from memoryless.store import to_json


@dataclass(frozen=True)
class Grid:
    """Cells to read, and the same as records with full figures for other programs."""

    title: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    records: Sequence[dict[str, Any]]

    def show(self, console: Console | None = None) -> None:
        """Print it; a table wider than the terminal is wrapped by it, not cut."""
        console = console or Console()
        table = self._table()
        wide = console.options.update(max_width=1000)
        console.width = max(console.width, console.measure(table, options=wide).maximum)
        console.print(self.title, style="bold", markup=False, highlight=False)
        console.print(table)
        console.print(self.caption, style="dim", markup=False, highlight=False)
        console.print()

    def _table(self) -> Table:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
        for i, column in enumerate(self.columns):
            table.add_column(column, justify="right" if i else "left", no_wrap=True)
        for row in self.rows:
            table.add_row(*map(escape, row))
        return table


def to_markdown(grids: Sequence[Grid]) -> str:
    parts = []
    for grid in grids:
        lines = [grid.columns, ["---"] + ["---:"] * (len(grid.columns) - 1), *grid.rows]
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        parts.append(f"**{grid.title}** ({grid.caption})\n\n{table}\n")
    return "\n".join(parts)


def to_latex(grids: Sequence[Grid]) -> str:
    parts = []
    for grid in grids:
        rows = [" & ".join(map(_tex, row)) + r" \\" for row in grid.rows]
        head = " & ".join(map(_tex, grid.columns)) + r" \\"
        parts.append(
            "\n".join(
                [
                    rf"% {grid.title} ({grid.caption})",
                    rf"\begin{{tabular}}{{l{'r' * (len(grid.columns) - 1)}}}",
                    r"\hline",
                    head,
                    r"\hline",
                    *rows,
                    r"\hline",
                    r"\end{tabular}",
                    "",
                ]
            )
        )
    return "\n".join(parts)


def _tex(text: str) -> str:
    for sign in "_%&#":
        text = text.replace(sign, "\\" + sign)
    return text.replace("±", r"$\pm$")


def to_csv(grids: Sequence[Grid]) -> str:
    records = [record for grid in grids for record in grid.records]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()


FORMATS: dict[str, Callable[[Sequence[Grid]], str]] = {
    ".csv": to_csv,
    ".json": lambda grids: to_json([record for grid in grids for record in grid.records]),
    ".md": to_markdown,
    ".tex": to_latex,
}


def check_format(path: Path) -> None:
    try:
        choose("table format", path.suffix, FORMATS)
    except ConfigError as error:
        raise ConfigError(f"{error} (the ending of {path} says which)") from error


def write_grids(grids: Sequence[Grid], path: Path) -> None:
    """Write the tables in the format that the file's ending names."""
    check_format(path)
    try:
        path.write_text(FORMATS[path.suffix](grids), encoding="utf-8", errors="replace")
    except OSError as error:
        raise WriteError(f"cannot write {path} ({error.strerror}): choose another place") from error
