"""Tables and lines as people and programs read them; each format has one function that escapes."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from memoryless.errors import ConfigError, WriteError, telling
from memoryless.names import as_flags, choose, first_ten, markdown_text, printable
from memoryless.store import to_json
from memoryless.tables import Table as Grid

TEX = str.maketrans({
    **{sign: rf"\{sign}" for sign in "{}$_%&#"},
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "±": r"$\pm$",
    # A row's end takes either of these at the start of the next row as its own argument.
    "*": "{*}",
    "[": "{[}",
})  # fmt: skip
FORMULA = ("=", "+", "-", "@")
HEADING = 10  # characters


def terminal_text(text: str, style: str = "") -> Text:
    """A terminal shows the text and obeys nothing in it, neither control signs nor markup."""
    return Text(printable(text), style)


def latex_text(text: str) -> str:
    r"""LaTeX sets the text in one line, and no sign of it is a command.

    >>> latex_text("50% of $x_1$\n")
    '50\\% of \\$x\\_1\\$\\textbackslash{}n'
    """
    return printable(text).translate(TEX)


def csv_value(value: Any) -> Any:
    """A spreadsheet takes numbers as they are, and no text for a formula.

    >>> csv_value("=1+1"), csv_value(-1.5), csv_value("-1.5")
    ("'=1+1", -1.5, "'-1.5")
    """
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if text.startswith(FORMULA) else text


def say(text: str) -> None:
    """Print one line, its control signs visible."""
    with telling():
        print(printable(text))


def print_line(heading: str, text: str) -> None:
    """Print a line under a heading."""
    say(f"{heading:{HEADING}}{text}")


def print_lines(heading: str, sentences: Iterable[str]) -> None:
    """Print sentences, each under the heading; the settings that they name stand as flags."""
    for sentence in sentences:
        print_line(heading, as_flags(sentence))


def report_broken(problems: Collection[str]) -> int:
    """Print on standard error which files could not be read; return the exit code."""
    for problem in problems:
        print("memoryless:", printable(problem), file=sys.stderr)
    return 1 if problems else 0


def reasons(left_out: Mapping[str, str]) -> str:
    """How many things were left out, and the first of them with the reason.

    >>> reasons({"a.jpg": "it is empty"})
    '1: a.jpg (it is empty)'
    """
    return f"{len(left_out):,}: " + first_ten(f"{name} ({why})" for name, why in left_out.items())


def show(grid: Grid, console: Console | None = None) -> None:
    """Show a table on the terminal, which wraps it, uncut, where it is wider."""
    console = console or Console()
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, column in enumerate(grid.columns):
        table.add_column(terminal_text(column), justify="right" if i else "left", no_wrap=True)
    for row in grid.rows:
        table.add_row(*map(terminal_text, row))
    wide = console.options.update(max_width=1000)
    console.width = max(console.width, console.measure(table, options=wide).maximum)
    console.print(terminal_text(grid.title, "bold"))
    console.print(table)
    console.print(terminal_text(grid.caption, "dim"))
    console.print()


def to_markdown(grid: Grid) -> str:
    lines = [[markdown_text(cell) for cell in row] for row in (grid.columns, *grid.rows)]
    lines.insert(1, ["---"] + ["---:"] * (len(grid.columns) - 1))
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"**{markdown_text(grid.title)}** ({markdown_text(grid.caption)})\n\n{table}\n"


def to_latex(grid: Grid) -> str:
    head, *rows = [" & ".join(map(latex_text, row)) + r" \\" for row in (grid.columns, *grid.rows)]
    lines = [
        rf"% {latex_text(grid.title)} ({latex_text(grid.caption)})",
        rf"\begin{{tabular}}{{l{'r' * (len(grid.columns) - 1)}}}",
        *(r"\hline", head, r"\hline", *rows, r"\hline"),
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def to_csv(entries: Iterable[dict[str, Any]]) -> str:
    lines = [{key: csv_value(value) for key, value in entry.items()} for entry in entries]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(lines[0]) if lines else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()


FORMATS: dict[str, Callable[[Sequence[Grid]], str]] = {
    ".csv": lambda grids: to_csv(_entries(grids)),
    ".json": lambda grids: to_json(_entries(grids)),
    ".md": lambda grids: "\n".join(map(to_markdown, grids)),
    ".tex": lambda grids: "\n".join(map(to_latex, grids)),
}


def _entries(grids: Sequence[Grid]) -> list[dict[str, Any]]:
    return [entry for grid in grids for entry in grid.entries]


def check_formats(paths: Sequence[Path]) -> None:
    """Raise unless every file's ending names a format that tables are written in."""
    for path in paths:
        try:
            choose("table format", path.suffix, FORMATS)
        except ConfigError as error:
            raise ConfigError(f"{error} (the ending of {path} says which)") from error


def present(grids: Sequence[Grid], write: Sequence[Path]) -> None:
    """Show the tables of a command, and write them to the files that were asked for."""
    for grid in grids:
        show(grid)
    for path in write:
        write_grids(grids, path)
        say(f"written: {path}")


def write_grids(grids: Sequence[Grid], path: Path) -> None:
    """Write the tables to a file, in the format that its ending names."""
    check_formats([path])
    try:
        path.write_text(FORMATS[path.suffix](grids), encoding="utf-8", errors="replace")
    except OSError as error:
        raise WriteError(f"cannot write {path} ({error.strerror}): choose another place") from error
