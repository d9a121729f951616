"""The report: complete and self-contained; how a browser shows it is tested where there is one."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings

from conftest import TINY, hostile_text, make_toy
from memoryless.lab.analysis.figures import FIGURES
from memoryless.lab.analysis.grid import Grid
from memoryless.lab.analysis.measures import best_method, class_accuracies
from memoryless.lab.analysis.summary import summarise
from memoryless.lab.config import Config
from memoryless.lab.experiment import run
from memoryless.lab.report import fill, render
from memoryless.lab.runs import RunFolder
from photo_toys import shown


@pytest.fixture(scope="module")
def runs(finished_run, tmp_path_factory) -> list[RunFolder]:
    joint = replace(TINY, strategy="joint", output=tmp_path_factory.mktemp("joint"))
    return [RunFolder(path) for path in (finished_run, *run(joint, make_toy()))]


@pytest.fixture(scope="module")
def page(runs) -> str:
    return render(runs)


class Collector(HTMLParser):
    """Tags with their attributes, the text, and the text of each cell of the tables."""

    def __init__(self, page: str):
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.cells: list[str] = []
        self.inside = False
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag in ("td", "th"):
            self.inside = True
            self.cells.append("")

    def handle_endtag(self, tag):
        self.inside = self.inside and tag not in ("td", "th")

    def handle_data(self, data):
        self.text += data
        if self.inside:
            self.cells[-1] += data


def test_the_page_has_everything(runs, page):
    page = Collector(page)
    for row in summarise(runs):
        assert row.method in page.text
        assert f"{row.last_top5:.1f}" in page.text
    about = runs[0].about
    for part in (
        "chance: top-1", "bytes kept", "G_IL", "multiplications", "not memoryless",
        about["versions"]["torch"], "kept of the past",
        "468 bytes for all methods together", "its training images would have taken 4,608",
        "c(p)", "best at the end on these test images; worst first",
        "memoryless table RUN --show typology", "seed", *about["config"],
    ):  # fmt: skip
        assert part in page.text, part
    assert [tag for tag, _ in page.tags].count("svg") == len(FIGURES)


def test_the_page_needs_nothing_else(page):
    page = Collector(page)
    tags = [tag for tag, _ in page.tags]
    assert not {"script", "img", "iframe"} & set(tags)
    for _, attributes in page.tags:
        for name in ("src", "href", "xlink:href"):
            assert re.match(r"#|data:", attributes.get(name) or "#")
    ids = [a["id"] for _, a in page.tags if a.get("id")]
    assert len(ids) == len(set(ids))
    known = set(ids)
    references = [h for _, a in page.tags if (h := a.get("xlink:href") or "").startswith("#")]
    assert references
    assert all(reference[1:] in known for reference in references)


def test_classes_stand_worst_first(runs, page):
    accuracy = sorted(class_accuracies(runs[0], best_method(runs[0])))
    section = page.split("classes</summary>")[1]
    shown = [float(x) for x in re.findall(r"<td>([\d.]+)</td></tr>", section)][: len(accuracy)]
    assert shown == pytest.approx(accuracy, abs=0.06)


def page_of(text: str) -> Collector:
    """A page whose every part is the text."""
    grid = Grid(text, text, [text, text], [[text, text], [text, text]], [])
    about = {"config": {"strategy": text, "order": text}, "dataset": text, "classes": [text]}
    about |= {"sizes": [1], "seed": text, "commit": text, "versions": {text: text}}
    about |= {"machine": {"system": text, "cores": 1}, "memoryless": False}
    facts = {"path": text, "about": about, "command": text, "trained": text, "finished": text}
    return Collector(
        fill(
            summary=text, accuracy=[grid], paper=[grid], fronts=[grid], typology=[grid],
            classes=[grid], data=grid, figures=[(text, text, "")], again=text,
            runs=[facts | {"kept": 1, "images": 1}],
        )
    )  # fmt: skip


def tags(page: Collector) -> list[str]:
    return [tag for tag, _ in page.tags if tag != "wbr"]


HARMLESS = tags(page_of("x"))


@settings(max_examples=50, deadline=None)
@given(hostile_text)
def test_no_name_adds_a_tag_or_a_cell(text):
    page = page_of(text)
    assert tags(page) == HARMLESS
    assert page.cells == [text] * 6 * 6


def test_commands_are_quoted(tiny, toy, tmp_path, monkeypatch):
    words = ["memoryless", "run", "--root", "x y; rm -r z", "--output", "it's"]
    monkeypatch.setattr(sys, "argv", words)
    (path,) = run(replace(tiny, output=tmp_path / "a b;$(c)"), toy)
    page = Collector(render([RunFolder(path)]))
    assert "memoryless run --root 'x y; rm -r z' --output 'it'\"'\"'s'" in page.text
    assert f"memoryless figures '{path}'" in page.text


def test_the_page_begins_with_what_was_found(runs, page):
    rows = [row for row in summarise(runs) if row.memoryless]
    best = max(rows, key=lambda row: row.top1)
    (full,) = [row for row in summarise(runs) if not row.memoryless]
    text = Collector(page).text
    sentence = (
        f"On the test images of toy in 3 states, the best of 9 methods on average is "
        f"{best.method}: top-1 {best.top1:.1f} % (chance 20.8), with {best.bytes_kept} bytes and "
        "no image kept of the past; of toy in 1 state, the only method is Full: top-1 "
        f"{full.last_top1:.1f} %, not memoryless."
    )
    assert text.index(sentence) < text.index("Average incremental accuracy")


def test_names_break_at_a_plus():
    assert ("wbr", {}) in page_of("frozen+siw").tags
    assert ("wbr", {}) not in page_of("inFT_siw").tags


@pytest.fixture(scope="module")
def page_file(tmp_path_factory) -> Path:
    """A report of ten states and a hundred classes."""
    folder = tmp_path_factory.mktemp("report")
    config = Config(width=1, image_size=8, epochs=1, output=folder / "runs", threads=1)
    file = folder / "report.html"
    file.write_text(render([RunFolder(run(config)[0])]))
    return file


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_a_browser_shows_it_whole(width, scheme, page_file):
    """No errors, no request but for the page itself, nothing wider than the screen."""
    with shown(page_file, width, scheme) as page:
        assert page.locator("svg").count() >= 5
        assert page.locator("svg").first.bounding_box()["width"] <= width
        number = page.locator("tbody td").first.bounding_box()
        assert number["x"] + number["width"] <= width  # accuracies need no scrolling sideways
