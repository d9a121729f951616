"""Summary rows as a terminal table, CSV, JSON and Markdown."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from pathlib import Path

from rich import box
from rich.markup import escape
from rich.table import Table

from memoryless.analysis.summary import Row
from memoryless.errors import ConfigError, StoreError, choose
from memoryless.store import to_json

COLUMNS: dict[str, Callable[[Row], str]] = {
    "method": lambda row: row.method,
    "top-1": lambda row: _cell(row.top1, row.top1_std, row.seeds),
    "top-5": lambda row: _cell(row.top5, row.top5_std, row.seeds),
    "last top-1": lambda row: _cell(row.last_top1, row.last_top1_std, row.seeds),
    "last top-5": lambda row: _cell(row.last_top5, row.last_top5_std, row.seeds),
    "forgetting": lambda row: f"{row.forgetting:.1f}",
}


def _cell(mean: float, std: float, seeds: int) -> str:
    return f"{mean:.1f}±{std:.1f}" if seeds > 1 else f"{mean:.1f}"


def by_stream(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows under a title for each stream and strategy."""
    streams: dict[str, list[Row]] = {}
    for row in rows:
        seeds = f"{row.seeds} seeds" if row.seeds > 1 else "1 seed"
        stream = f"{row.data}, {row.states} states, order {row.order}"
        title = f"{row.run}: {stream}, {row.strategy}, {seeds}"
        streams.setdefault(title, []).append(row)
    return streams


def chance_line(row: Row) -> str:
    return f"chance: top-1 {row.chance_top1:.1f}, top-5 {row.chance_top5:.1f}"


def terminal_tables(rows: Sequence[Row]) -> list[Table]:
    tables = []
    for title, group in by_stream(rows).items():
        best = {name: max(group, key=lambda row: _number(row, name)) for name in RANKED}
        table = Table(title=escape(title), caption=chance_line(group[0]), box=box.SIMPLE_HEAD)
        for name in COLUMNS:
            table.add_column(name, justify="left" if name == "method" else "right")
        for row in group:
            cells = [
                f"[bold]{show(row)}[/]" if best.get(name) is row else show(row)
                for name, show in COLUMNS.items()
            ]
            table.add_row(*cells)
        tables.append(table)
    return tables


RANKED = {"top-1": "top1", "top-5": "top5", "last top-1": "last_top1", "last top-5": "last_top5"}


def _number(row: Row, column: str) -> float:
    return getattr(row, RANKED[column])


def to_markdown(rows: Sequence[Row]) -> str:
    parts = []
    for title, group in by_stream(rows).items():
        lines = [
            " | ".join(COLUMNS),
            " | ".join("---" for _ in COLUMNS),
            *(" | ".join(show(row) for show in COLUMNS.values()) for row in group),
        ]
        table = "\n".join(f"| {line} |" for line in lines)
        parts.append(f"**{title}** ({chance_line(group[0])})\n\n{table}\n")
    return "\n".join(parts)


def to_csv(rows: Sequence[Row]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, [f.name for f in fields(Row)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)
    return text.getvalue()


FORMATS: dict[str, Callable[[Sequence[Row]], str]] = {
    ".csv": to_csv,
    ".json": lambda rows: to_json([asdict(row) for row in rows]),
    ".md": to_markdown,
}


def check_format(path: Path) -> None:
    try:
        choose("table format", path.suffix, FORMATS)
    except ConfigError as error:
        raise ConfigError(f"{error} (the ending of {path} says which)") from error


def write_table(rows: Sequence[Row], path: Path) -> None:
    """Write the rows in the format that the file's ending names."""
    check_format(path)
    try:
        path.write_text(FORMATS[path.suffix](rows), encoding="utf-8", errors="replace")
    except OSError as error:
        raise StoreError(f"cannot write {path} ({error.strerror}): choose another place") from error
