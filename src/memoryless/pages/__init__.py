"""Pages: one layout and one style sheet for every HTML page, without any network."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from memoryless.names import printable
from memoryless.store import check_replaceable, making

MARK = '<meta name="generator" content="memoryless">'
"""What the head of every page holds."""
KIND = "page of memoryless"


def render(template: str, **parts: Any) -> str:
    """Return a page from the template of this name and the parts that it shows."""
    return _PAGES.get_template(f"{template}.html.j2").render(mark=Markup(MARK), **parts)


def write(path: Path, page: str, setting: str) -> None:
    """Write a page to a file; `setting` is the one that named the file."""
    with making(path, setting):
        path.write_text(page, encoding="utf-8")


def check_page(path: Path, force: bool, setting: str) -> None:
    """Raise if a file is there that is no page of ours; `setting` is the one that named it."""
    check_replaceable(path, setting, MARK, KIND, force)


def name_of(place: Path | str) -> str:
    """Return what a place is called, without the folders around it, which may name a person."""
    whole = Path(place)
    return (whole.resolve().name if whole.name in ("", "..") else whole.name) or str(place)


def breakable(name: str) -> Markup:
    """Return a name that may break into lines after a plus or an underscore.

    >>> breakable("inFT_siw+<b>")
    Markup('inFT_<wbr>siw+<wbr>&lt;b&gt;')
    """
    shown = escape(printable(name))
    return shown.replace("+", Markup("+<wbr>")).replace("_", Markup("_<wbr>"))


def sentence(text: str) -> Markup:
    """Return a sentence whose words between backticks are code.

    Elsewhere no line ends between a number and its unit, within top-1 or within an interval.

    >>> sentence("type `a < b`")
    Markup('type <code>a &lt; b</code>')
    """
    parts = re.split(r"`([^`]+)`", printable(text))
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if i % 2 else _unbroken(part)
        for i, part in enumerate(parts)
    )


def _unbroken(text: str) -> str:
    text = re.sub(r"(?<=\d) (?=[\w%])", "\u00a0", text)
    return re.sub(r"(?<=\d)-(?=\d)|(?<=top)-", "\u2011", text)


def _shown(value: Any) -> Any:
    """Return a value as a page shows it: everything but our own markup is text."""
    return value if isinstance(value, Markup) else printable(str(value))


_PAGES = Environment(
    loader=PackageLoader("memoryless", "pages"),
    autoescape=True,
    finalize=_shown,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_PAGES.filters |= {"breakable": breakable, "sentence": sentence}
