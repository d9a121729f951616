"""The report: complete and self-contained; how a browser shows it is tested where there is one."""

from __future__ import annotations

import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from markupsafe import Markup

from conftest import TINY, FakeRun, hostile_text, make_toy
from html_pages import Page, check_alone
from memoryless import pages
from memoryless.lab.comparison import comparisons
from memoryless.lab.config import control_of
from memoryless.lab.experiment import run
from memoryless.lab.frame import averages, results_frame
from memoryless.lab.pictures import PAPER_FIGURES, Charts, Picture
from memoryless.lab.report import Folded, _against_full, render, run_names
from memoryless.lab.runs import RunFolder
from memoryless.names import printable
from memoryless.strategies import own_values
from memoryless.tables import Table
from photo_toys import shown


@pytest.fixture(scope="module")
def runs(finished_run, tmp_path_factory) -> list[RunFolder]:
    joint = replace(TINY, strategy="joint", output=tmp_path_factory.mktemp("joint"))
    return [RunFolder(path) for path in (finished_run, *run(joint, make_toy()))]


@pytest.fixture(scope="module")
def page(runs) -> str:
    return render(runs)


def test_the_page_has_everything(runs, page):
    page = Page(page)
    for row in averages(results_frame(runs)).itertuples():
        assert row.method in page.text
        assert f"{100 * row.A_last:.1f}" in page.text
    about = runs[0].about
    for part in (
        "top-1", "lost", "kept", "G_IL", "multiplications", "not memoryless", "chance",
        about.commit or "not from a checkout", "kept of the past", "reference", "strategy",
        "468 bytes for all methods together", "its training images would have taken 4.6 kB",
        "c(p)", "after the last state, worst first", "fixed in advance",
        "memoryless table RUN --show typology", "seed", *own_values(about.config),
    ):  # fmt: skip
        assert part in page.text, part
    assert page.tags.count("svg") == 3 + len(PAPER_FIGURES)


def test_the_page_needs_nothing_else_and_is_always_the_same(runs, page):
    check_alone(page, scripts=1)
    assert "//" not in page[page.index("<script>") :].replace("// ", "")
    assert render(runs) == page


def fill(**parts: object) -> str:
    """A page of these parts alone."""
    table = Table("x", "", ["x"], [])
    names = ("leads", "methods", "states", "paper", "charts", "classes", "figures", "typology")
    empty: dict[str, object] = {name: [] for name in names}
    return pages.render(
        "report", **empty | {"title": "", "again": "", "runs": [], "data": table} | parts
    )


def page_of(text: str) -> Page:
    """A page whose every part is the text."""
    table = Table(text, text, [text, text], [[text, text]] * 2, marks={text: [text]})
    run = {"name": text, "command": text, "facts": [(text, text)], "settings": [(text, text)]}
    drawn = Charts(text, [Picture(text, Markup(""))])
    return Page(
        fill(
            title=text, methods=[Folded(table, table)], states=[Folded(table, None)],
            paper=[table], typology=[table], classes=[table], data=table, charts=[drawn],
            figures=[Picture(text, Markup(""))], again=text, runs=[run],
        )
    )  # fmt: skip


HARMLESS = page_of("x").tags


@settings(max_examples=50, deadline=None)
@given(hostile_text)
def test_no_name_adds_a_tag_or_a_cell(text):
    page = page_of(text)
    text = printable(text)
    assert page.tags == HARMLESS
    cells = [text, text, f"{text} {text}", text, f"{text} {text}", text]  # a mark beside a name
    assert page.cells == cells * 7


def test_commands_are_quoted(tiny, toy, tmp_path, monkeypatch):
    words = ["memoryless", "run", "--root", "x y; rm -r z", "--output", "it's"]
    monkeypatch.setattr(sys, "argv", words)
    (path,) = run(replace(tiny, output=tmp_path / "a b;$(c)"), toy)
    page = Page(render([RunFolder(path)]))
    assert "memoryless run --root 'x y; rm -r z' --output 'it'\"'\"'s'" in page.text
    assert f"memoryless figures '{path}'" in page.text


def test_the_page_begins_with_the_reference(runs, page):
    row = comparisons(runs)[0].reference
    text = Page(page).text.translate({0xA0: " ", 0x2011: "-"})
    sentence = (
        f"is finetune+siw. It gets {row.top1:.1f} % of the test images right (top-1, average of "
        "states 1 and later); chance is 20.8 %."
    )
    assert text.index(sentence) < text.index("There is no untrained control")
    assert text.index("There is no untrained") < text.index("how often the first answer is right")


def test_g_il_is_of_every_kind_of_statistics():
    values = {"finetune+rda": [90.0, 80.0]}
    kinds = ({"level": "last"}, {"level": "middle"})
    runs = [FakeRun(values, f"{i}/s", config={"statistics": "full"} | kind)
            for i, kind in enumerate(kinds)]  # fmt: skip
    joint = FakeRun({"joint": [80.0]}, "j/s", config={"strategy": "joint"}, memoryless=False)
    names = [row[0] for grid in _against_full(comparisons([*runs, joint])) for row in grid.rows]
    assert names == ["finetune+rda (last stage)", "finetune+rda (middle stages)"]


def test_runs_are_named_in_words_and_found_again_by_their_folder(runs, page):
    text = Page(render(runs, places=[Path("my runs")])).text
    assert f"memoryless figures '{Path.cwd() / 'my runs'}'\n" in text
    folds = re.findall("<summary>(.*?)</summary>", page)
    name = "toy, 3 states: finetune, seed 0"  # of where its images go, and of what was run
    assert folds[-5:] == [name, name, "Every setting", str(runs[1].path), "Every setting"]
    assert f"<dt>folder</dt><dd>{runs[0].path}</dd>" in page


def test_runs_have_distinct_names():
    runs = [FakeRun({"finetune": [1.0, 2.0]}, f"{lr}/s", config={"lr": lr}) for lr in (0.1, 0.2)]
    assert list(run_names(runs, comparisons(runs)).values()) == [
        f"toy, 2 states: finetune (lr {lr}), seed 0" for lr in (0.1, 0.2)
    ]


def test_a_run_in_two_folders_is_reported_once(finished_run, tmp_path):
    copy = shutil.copytree(finished_run, tmp_path / "copy")
    page = render([RunFolder(finished_run), RunFolder(copy)])
    assert "memoryless: report of 1 run<" in page
    assert str(copy) not in page


def test_only_few_methods_are_shown_where_images_go(page):
    text = page[page.index("Past and new classes") : page.index("What was run")]
    assert "finetune+<wbr>siw<" in text
    assert "finetune+<wbr>initial+<wbr>mc" not in text


def several_runs(folder: Path) -> list[RunFolder]:
    """Two numbers of states, two kinds of statistics, two seeds, a control, joint training."""
    toy = make_toy(24, train=6, test=2)
    base = replace(TINY, epochs=1, states="12", output=folder / "a")
    middle = replace(base, statistics="full", level="middle", square_roots=True)
    configs = [
        replace(middle, seeds=(0, 1)),
        replace(base, statistics="full", output=folder / "b"),
        replace(middle, states="3", output=folder / "c"),
        replace(base, strategy="joint", output=folder / "d"),
        control_of(middle),
    ]
    return [RunFolder(path) for config in configs for path in run(config, toy)]


@pytest.fixture(scope="module")
def page_file(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    file = folder / "report.html"
    file.write_text(render(several_runs(folder)))
    return file


browser = pytest.mark.browser
each_width = pytest.mark.parametrize("width", [360, 768, 1280])


@browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@each_width
def test_a_browser_shows_it_whole(width, scheme, page_file):
    """No errors, no request but for the page itself, nothing wider than the screen."""
    with shown(page_file, width, scheme) as page:
        assert page.locator("svg:visible").count() == 2 * 3 + len(PAPER_FIGURES)
        for drawing in page.locator("svg:visible").all():
            assert drawing.bounding_box()["width"] <= width
        for row in page.locator("figure.table").first.locator("tbody tr").all():
            for cell in row.locator("td").all()[:2]:  # top-1 and top-5
                box = cell.bounding_box()
                assert box["x"] >= 0
                assert box["x"] + box["width"] <= width
        for text in page.locator("svg:visible text").all()[::7]:
            assert text.evaluate(SHOWN_SIZE) >= 11


# The font's size in pixels on the screen: as styled, scaled as the drawing is.
SHOWN_SIZE = """e => parseFloat(getComputedStyle(e).fontSize)
  * e.ownerSVGElement.getBoundingClientRect().width / e.ownerSVGElement.viewBox.baseVal.width"""


@browser
def test_names_stay_when_numbers_are_scrolled(page_file):
    with shown(page_file, 360, "light") as page:
        table = page.locator("figure.table").first
        name = table.locator("tbody th").first
        before = name.bounding_box()["x"]
        table.locator(".scroll").evaluate("e => { e.scrollLeft = 200; }")
        assert table.locator(".scroll").evaluate("e => e.scrollLeft") > 100
        assert name.bounding_box()["x"] == pytest.approx(before, abs=1)


@browser
def test_headings_sort_by_mouse_and_keyboard(page_file):
    with shown(page_file, 1280, "light") as page:
        table = page.locator("table.sortable").first
        heads, rows = table.locator("thead th"), table.locator("tbody tr")

        def column(i: int) -> list[str]:
            return [row.locator("th, td").nth(i).inner_text() for row in rows.all()]

        assert heads.nth(2).get_attribute("aria-sort") == "ascending"
        assert [float(x) for x in column(2)] == sorted(map(float, column(2)))
        heads.nth(1).get_by_role("button").click()
        assert [int(x) for x in column(1)] == sorted(map(int, column(1)))
        assert heads.nth(2).get_attribute("aria-sort") is None
        heads.nth(1).get_by_role("button").press("Enter")
        assert heads.nth(1).get_attribute("aria-sort") == "descending"
        assert [int(x) for x in column(1)] == sorted(map(int, column(1)), reverse=True)
        heads.nth(0).get_by_role("button").press("Space")
        assert column(0) == [str(c) for c in range(24)]


@browser
def test_a_printed_page_shows_what_is_open_and_cuts_nothing(page_file):
    with shown(page_file, 1280, "dark") as page:
        page.evaluate("document.querySelectorAll('details').forEach(d => d.open = false)")
        page.emulate_media(media="print")
        assert page.locator("figure.table:visible").count() == 4  # two streams, T, data
        assert page.locator("summary:visible", has_text="All ").count() == 0
        assert page.locator("h2:visible", has_text="Past and new").count() == 0
        page.locator("section.more details").first.evaluate("e => { e.open = true; }")
        assert page.locator("h2:visible", has_text="Past and new").count() == 1
        style = page.evaluate("""() => { const s = getComputedStyle(document.body);
          return [s.backgroundColor, s.printColorAdjust]; }""")
        assert style == ["rgb(255, 255, 255)", "exact"]
        overflow = page.locator(".scroll").evaluate_all(
            "all => all.map(e => getComputedStyle(e).overflowX)"
        )
        assert {*overflow} == {"visible"}
        page.set_viewport_size({"width": 718, "height": 1000})  # A4 less its margins
        assert page.evaluate("document.documentElement.scrollWidth") <= 718


LONG = "Panzerkampfwagenreparaturwerkstattleiterausbildungsplan"


@browser
def test_long_class_names_leave_room_for_their_numbers(tmp_path):
    rows = [[f"{LONG} {i}", str(i), "50.0"] for i in range(3)]
    table = Table("x", "", ["class", "state", "top-1"], rows, sortable=True)
    file = tmp_path / "page.html"
    file.write_text(fill(classes=[table]))
    with shown(file, 360, "light") as page:
        shown_table = page.locator("table.sortable").first
        for cell in shown_table.locator("td, th").all():
            box = cell.bounding_box()
            assert box["x"] + box["width"] <= 360
        shown_table.locator("thead button").last.click(timeout=2000)
