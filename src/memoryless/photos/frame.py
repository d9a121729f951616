"""The frame of an HTML page: no network, no scripts, every text escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memoryless.errors import WriteError
from memoryless.model.database import ENDING
from memoryless.names import printable

NAME = ' class="name"'
CODE = r"`?\b(memoryless (?:audit|export))\b`?|`(members|others)`"  # what sentences say of commands
INTERVAL = r"\(\d+-\d+\)"
STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --faint: #5b6470;
  --line: #d5d9e0; --bar: #3572b0; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e8eb; --paper: #14171b; --faint: #9aa3ad; --line: #343a42; --bar: #6ea8e0; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 64rem; padding: 1rem; font: 1rem/1.5 system-ui, sans-serif;
  color: var(--ink); background: var(--paper); overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; }
h2 { margin-top: 2.2rem; border-bottom: 1px solid var(--line); font-size: 1.2rem; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .5rem; border-bottom: 1px solid var(--line); text-align: right; }
.name, th:first-child { text-align: left; }
thead th { color: var(--faint); font-weight: 500; vertical-align: bottom; overflow-wrap: normal; }
tbody th { font-weight: 400; }
.bar { display: block; height: .3rem; background: var(--bar); border-radius: 2px; }
.pictures { display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); gap: 1rem; }
figure { margin: 0; }
figure img { width: 100%; height: 9rem; object-fit: contain; background: var(--line);
  border-radius: 4px; }
figcaption { font-size: .85rem; line-height: 1.35; }
figcaption span { display: block; }
.whole { white-space: nowrap; }
.faint { color: var(--faint); }
"""
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""


def check_page(path: Path) -> None:
    """Raise unless a page may be written to a file; leave none there."""
    if path.suffix == ENDING:
        raise WriteError(f"{path} is a model: choose another `html`")
    there = path.exists()
    with _writing(path), path.open("ab"):
        pass
    if not there:
        path.unlink()


def write_text(path: Path, page: str) -> None:
    """Write a page to a file."""
    with _writing(path):
        path.write_text(page, encoding="utf-8")


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise WriteError(
            f"cannot write {path} ({error.strerror}): choose another `html`"
        ) from error


def framed(title: str, body: Iterable[str], style: str = "") -> str:
    """A page of this title and these parts, with more style than pages share."""
    shown = html.escape(printable(title))
    return PAGE.format(title=shown, style=STYLE + style, body="\n".join(body))


def text(value: Any) -> str:
    """Text that HTML shows and does not obey; names may be broken after an underscore."""
    return html.escape(printable(str(value))).replace("_", "_<wbr>")


def prose(sentence: str) -> str:
    """A sentence as HTML shows it: commands and flags as code, intervals in one piece."""
    marked = re.sub(CODE, lambda found: f"<code>{found[1] or found[2]}</code>", text(sentence))
    return re.sub(INTERVAL, lambda found: whole(found[0]), marked)


def whole(value: str) -> str:
    """Text that is not broken into lines."""
    return f'<span class="whole">{text(value)}</span>'


def table(
    title: str, head: list[str], rows: list[list[Any]], names: int = 1, caption: str = ""
) -> Iterator[str]:
    """A table with its title, unless it has no row; floats are percentages, drawn as bars too.

    The first `names` columns are texts, set from the left. A cell of two texts keeps the second,
    such as an interval in brackets, in one piece. A head of nothing is left out.
    """
    if not rows:
        return
    yield f"<h2>{text(title)}</h2>"
    if caption:
        yield f'<p class="faint">{text(caption)}</p>'
    yield "<table>" + "<thead><tr>" * bool(head)
    for i, cell in enumerate(head):
        yield f'<th scope="col"{NAME * (i < names)}>{text(cell)}</th>'
    yield "</tr></thead>" * bool(head) + "<tbody>"
    for row in rows:
        cells = "".join(_cell(cell, i < names) for i, cell in enumerate(row[1:], 1))
        yield f'<tr><th scope="row">{_content(row[0])}</th>{cells}</tr>'
    yield "</tbody></table>"


def _cell(value: Any, name: bool) -> str:
    if isinstance(value, float):
        bar = f'<span class="bar" style="width: {value:.0f}%"></span>'
        return f"<td>{value:.1f}{bar}</td>"
    return f"<td{NAME * name}>{_content(value)}</td>"


def _content(value: Any) -> str:
    return f"{text(value[0])} {whole(value[1])}" if isinstance(value, tuple) else text(value)
