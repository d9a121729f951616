"""Tables and lines as people and programs read them; nothing in a cell is obeyed as markup."""

from __future__ import annotations

import csv
import io
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as Lines
from rich.text import Text

from memoryless.errors import ConfigError, OutputError
from memoryless.names import as_flags, choose, counted, markdown_text, printable, with_reasons
from memoryless.store import cannot_write, to_json
from memoryless.tables import Table

if TYPE_CHECKING:
    import pandas as pd

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
GAP = 2  # spaces between columns
NARROWEST = 12  # of the first column
HEADING = 10  # characters
NARROW, WIDE = 40, 100  # columns of text


def terminal_text(text: str, style: str = "") -> Text:
    """Return text that a terminal shows without obeying control characters or markup in it."""
    return Text(printable(text), style)


def latex_text(text: str) -> str:
    r"""Escape text for one line of LaTeX, so that nothing in it is a command.

    >>> latex_text("50% of $x_1$\n")
    '50\\% of \\$x\\_1\\$\\textbackslash{}n'
    """
    return printable(text).translate(TEX)


def csv_value(value: Any) -> Any:
    """Return a value for a spreadsheet: numbers as they are, and no text as a formula.

    >>> csv_value("=1+1"), csv_value(-1.5), csv_value("-1.5")
    ("'=1+1", -1.5, "'-1.5")
    """
    if not isinstance(value, str):
        return value
    text = printable(value)
    return f"'{text}" if text.startswith(FORMULA) else text


@contextmanager
def printing() -> Iterator[None]:
    """Turn output that cannot be written into an error that does not hide what was done."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(
            f"the output could not be written ({error.strerror}), but the work that it reports "
            "may be done: ask memoryless show"
        ) from error


def say(text: str) -> None:
    """Print one line, its control characters as escapes."""
    with printing():
        print(printable(text))


def columns() -> int:
    """Return how many columns a line may take: the terminal's, at most 100; 80 without one."""
    return min(max(shutil.get_terminal_size((80, 24)).columns, NARROW), WIDE)


def wrapped(text: str, indent: int = 0, hanging: int = 0) -> list[str]:
    """Return text in lines that fit the terminal, broken at spaces only.

    The first line is indented by some columns, the others by those and the hanging ones.
    """
    lines = [" " * indent]
    for word in printable(text).split(" "):
        line = f"{lines[-1]} {word}" if lines[-1].strip() else lines[-1] + word
        if lines[-1].strip() and cell_len(line) > columns():
            line = " " * (indent + hanging) + word
            lines.append(line)
        lines[-1] = line
    return lines


def paragraph(text: str, indent: int = 0, hanging: int = 0) -> None:
    """Print text in lines that fit the terminal."""
    for line in wrapped(text, indent, hanging):
        say(line)


def print_line(heading: str, text: str) -> None:
    """Print text beside a heading, indented."""
    paragraph(f"{heading:{HEADING}}{text}", 2, HEADING)


def print_rows(rows: Sequence[Sequence[str]], indent: int = 2) -> None:
    """Print rows with aligned columns; names in the first are shortened on a narrow terminal."""
    cells = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    if sys.stdout.isatty():  # elsewhere a program may read the names, so they stay whole
        taken = indent + sum(GAP + width for width in widths[1:])
        widths[0] = min(widths[0], max(columns() - taken, NARROWEST))
    for first, *others in cells:
        parts = [_padded(shortened(first, widths[0]), widths[0])]
        parts += [_padded(cell, width) for cell, width in zip(others, widths[1:], strict=True)]
        say((" " * indent + (" " * GAP).join(parts)).rstrip())


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


def shortened(name: str, room: int) -> str:
    """Return the end of a name that is too wide, which says most about a file.

    >>> shortened("holiday/IMG_0001.jpg", 15)
    '...IMG_0001.jpg'
    """
    if cell_len(name) <= room:
        return name
    while cell_len(name) > room - 3:
        name = name[1:]
    return f"...{name}"


def command(*words: object) -> str:
    """Return a command as one would type it.

    >>> command("undo", Path("my model"), "--to", 2)
    "memoryless undo 'my model' --to 2"
    """
    return shlex.join(["memoryless", *map(str, words)])


def print_next(*words: object) -> None:
    """Print the command that one may want to type next."""
    line = f"Next: {command(*words)}"
    for part in [line] if cell_len(line) <= columns() else ["Next:", f"  {command(*words)}"]:
        say(part)


def print_lines(heading: str, sentences: Iterable[str]) -> None:
    """Print sentences, each beside the heading; the settings that they name stand as flags."""
    for sentence in sentences:
        print_line(heading, as_flags(sentence))


def report_broken(problems: Collection[str]) -> int:
    """Print on standard error which files could not be read; return the exit code."""
    for problem in problems:
        print("memoryless:", printable(problem), file=sys.stderr)
    return 1 if problems else 0


def reasons(left_out: Mapping[str, str], one: str = "file", many: str = "files") -> str:
    """Return how many things were left out, and the first of them with the reason."""
    return f"{counted(len(left_out), one, many)}: {with_reasons(left_out)}"


def show(table: Table, console: Console | None = None) -> None:
    """Show a table on the terminal; where it is too narrow, names break into several lines."""
    console = console or Console()
    rows = [[_cell(value) for value in row] for row in table.rows]
    columns = list(zip(*rows, strict=True)) or [()] * len(table.columns)
    widths = [max(map(_width, column), default=0) for column in columns]
    heads = [broken(name, width) for name, width in zip(table.columns, widths, strict=True)]
    others = sum(GAP + max(pair) for pair in zip(widths[1:], map(_width, heads[1:]), strict=True))
    room = widths[0]
    if console.is_terminal:  # elsewhere a line may be as wide as it needs
        room = min(room, max(console.width - others, NARROWEST))
    lines = Lines(box=None, padding=(0, GAP, 0, 0), pad_edge=False)
    for i, head in enumerate(heads):
        left = i == 0 or head == ""  # names, and remarks behind a row
        lines.add_column(Text(head), justify="left" if left else "right", no_wrap=True)
    for name, *cells in rows:
        lines.add_row(Text(broken(name, room)), *map(terminal_text, cells))
    console.print(terminal_text(table.title, "bold"))
    width, console.width = (
        console.width,
        max(console.width, _width(heads[0]) + others, room + others),
    )
    console.print(lines)
    console.width = width
    console.print(terminal_text(table.caption, "dim"))
    console.print()


def _cell(value: Any) -> str:
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def _width(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    return max(cell_len(printable(line)) for line in text.split("\n"))


def broken(name: str, room: int) -> str:
    r"""Return a name in lines that fit, broken after a plus or a space.

    >>> broken("finetune+rda+widened (last stage)", 22)
    'finetune+rda+widened\n(last stage)'
    """
    lines = [""]
    for part in re.findall(r"[^+ ]+[+ ]?|[+ ]", printable(name)):
        if lines[-1] and cell_len((lines[-1] + part).rstrip()) > room:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)


def to_csv(entries: Sequence[Mapping[str, Any]], columns: Sequence[str] = ()) -> str:
    """Return lines of CSV, for where pandas may not be installed.

    The columns are those that are named, or those of the first entry.
    """
    columns = columns or (list(entries[0]) if entries else [])
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: csv_value(v) for key, v in entry.items()} for entry in entries)
    return text.getvalue()


def _cells(table: Table, escape: Callable[[str], str]) -> pd.DataFrame:
    """Return the cells of a table as text, escaped for a format."""
    import pandas as pd

    columns = [escape(name) for name in table.columns]
    rows = [[escape(cell) for cell in row] for row in table.rows]
    return pd.DataFrame(rows, columns=pd.Index(columns), dtype=object)


def to_markdown(table: Table) -> str:
    """Return a table in Markdown, below its title and caption."""
    align = ["left", *["right"] * (len(table.columns) - 1)]
    cells = _cells(table, markdown_text)
    text = cells.to_markdown(index=False, disable_numparse=True, colalign=align)
    return f"**{markdown_text(table.title)}** ({markdown_text(table.caption)})\n\n{text}\n"


def to_latex(table: Table) -> str:
    """Return a table in LaTeX, below its title and caption."""
    form = "l" + "r" * (len(table.columns) - 1)
    text = _cells(table, latex_text).to_latex(index=False, column_format=form)
    return f"% {latex_text(table.title)} ({latex_text(table.caption)})\n{text}"


def _figures(tables: Sequence[Table]) -> pd.DataFrame:
    import pandas as pd

    every = [table.figures for table in tables if table.figures is not None]
    return pd.concat(every, ignore_index=True) if every else pd.DataFrame()


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows as JSON has them, with null for a number that is not there."""
    rows: list[dict[str, Any]]
    rows = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return rows


FORMATS: dict[str, Callable[[Sequence[Table]], str | bytes]] = {
    ".csv": lambda tables: _figures(tables).map(csv_value).to_csv(index=False),
    ".json": lambda tables: to_json(_records(_figures(tables))),
    ".md": lambda tables: "\n".join(map(to_markdown, tables)),
    ".tex": lambda tables: "\n".join(map(to_latex, tables)),
}
if find_spec("pyarrow"):
    FORMATS[".parquet"] = lambda tables: _figures(tables).to_parquet()


def check_formats(paths: Sequence[Path]) -> None:
    """Raise unless every file's ending names a format that tables are written in."""
    for path in paths:
        try:
            choose("table format", path.suffix, FORMATS)
        except ConfigError as error:
            raise ConfigError(f"{error} (the ending of {path} says which)") from error


def present(tables: Sequence[Table], write: Sequence[Path]) -> None:
    """Show the tables of a command, and write them to files."""
    for table in tables:
        show(table)
    for path in write:
        write_tables(tables, path)
        say(f"written: {path}")


def write_tables(tables: Sequence[Table], path: Path) -> None:
    """Write the tables to a file, in the format that its ending names."""
    check_formats([path])
    content = FORMATS[path.suffix](tables)
    try:
        path.write_bytes(content.encode(errors="replace") if isinstance(content, str) else content)
    except OSError as error:
        raise cannot_write(path, error, "place") from error
