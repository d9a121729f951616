"""HTML pages as tests read them: tags, text and cells; a page that needs nothing but itself."""

from __future__ import annotations

import re
from html.parser import HTMLParser

VOID = ("meta", "link", "img", "wbr")


class Page(HTMLParser):
    """Tags with their attributes, the text, and the text of each cell of the tables."""

    def __init__(self, page: str):
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.cells: list[str] = []
        self.open: list[str] = []
        self.feed(page)
        assert self.open == []

    @property
    def tags(self) -> list[str]:
        """Tags, without those that only allow a line to end."""
        return [tag for tag, _ in self.found if tag != "wbr"]

    def values(self, *attributes: str) -> list[str]:
        return [value for _, found in self.found for a in attributes if (value := found.get(a))]

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data
        if {"td", "th"} & {*self.open}:
            self.cells[-1] += data


def check_alone(page: str, scripts: int = 0) -> None:
    """Fail unless a page needs no network and runs no script but ours."""
    found = Page(page)
    assert not {"iframe", "object"} & {*found.tags}
    assert found.tags.count("script") == scripts
    assert all(re.match("#|data:", a) for a in found.values("src", "href", "xlink:href"))
    assert not [name for _, a in found.found for name in a if name.startswith("on")]
    assert not re.search(r"url\((?!#)|@import", page)
    ids = found.values("id")
    assert len(ids) == len({*ids})
    assert {a[1:] for a in found.values("xlink:href")} <= {*ids}
