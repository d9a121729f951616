"""The report: complete and self-contained; how a browser shows it is tested where there is one."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from memoryless.cli import main
from memoryless.lab.analysis.figures import FIGURES
from memoryless.lab.analysis.measures import best_method, class_accuracies
from memoryless.lab.analysis.summary import summarise
from memoryless.lab.config import Config
from memoryless.lab.experiment import run
from memoryless.lab.report import render
from memoryless.lab.runs import RunFolder

CHROMIUM = Path("/usr/bin/chromium")


@pytest.fixture
def runs(tiny, toy) -> list[RunFolder]:
    paths = run(tiny, toy) + run(replace(tiny, strategy="joint", output=tiny.output / "full"), toy)
    return [RunFolder(path) for path in paths]


class Collector(HTMLParser):
    """Tags with their attributes, and the text."""

    def __init__(self, page: str):
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.text += data


def test_the_page_has_everything(runs):
    page = Collector(render(runs))
    for row in summarise(runs):
        assert row.method in page.text
        assert f"{row.last_top5:.1f}" in page.text
    about = runs[0].about
    for part in (
        "chance: top-1", "bytes kept", "G_IL", "multiplications", "not memoryless",
        about["versions"]["torch"], "kept of the past",
        "468 bytes; its training images would have taken 4,608", "c(p)", "worst first",
        "memoryless table RUN --show typology", "seed", *about["config"],
    ):  # fmt: skip
        assert part in page.text, part
    assert [tag for tag, _ in page.tags].count("svg") == len(FIGURES)


def test_the_page_needs_nothing_else(runs):
    page = Collector(render(runs))
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


def test_classes_stand_worst_first(runs):
    accuracy = sorted(class_accuracies(runs[0], best_method(runs[0])))
    section = render(runs).split("classes</summary>")[1]
    shown = [float(x) for x in re.findall(r"<td>([\d.]+)</td></tr>", section)][: len(accuracy)]
    assert shown == pytest.approx(accuracy, abs=0.06)


def test_names_are_escaped(tiny, toy):
    classes = ("<script>alert(1)</script>", *toy.classes[1:])
    (path,) = run(tiny, replace(toy, classes=classes))
    assert "<script>" not in render([RunFolder(path)])


def test_report_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main("run --width 1 --image-size 8 --epochs 1 --states 1 --output one".split()) == 0
    assert main(["report", "one", "--output", "pages/one.html"]) == 0
    assert capsys.readouterr().out.endswith("the report is pages/one.html\n")
    assert Path("pages/one.html").read_text().startswith("<!doctype html>")


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
    from playwright.sync_api import sync_playwright

    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=flags)
        page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
        problems: list[str] = []
        requests: list[str] = []
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(page_file.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        assert problems == []
        assert [r for r in requests if not r.startswith("data:")] == [page_file.as_uri()]
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("svg").count() >= 5
        assert page.locator("svg").first.bounding_box()["width"] <= width
        assert page.locator("table").first.is_visible()
        dark = (
            page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 255, 255)"
        )
        assert dark == (scheme == "dark")
        browser.close()
