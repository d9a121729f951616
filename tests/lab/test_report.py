"""The report: complete and self-contained; how a browser shows it is tested where there is one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from markupsafe import Markup

from conftest import TINY, FakeRun, hostile_text, make_toy
from html_pages import Page, check_alone
from memoryless import pages
from memoryless.cli import main
from memoryless.lab.charts import OF_THE_PAPER, Picture
from memoryless.lab.comparison import comparisons
from memoryless.lab.config import control_of
from memoryless.lab.experiment import run
from memoryless.lab.frame import averages, results_frame
from memoryless.lab.measures import class_accuracies
from memoryless.lab.report import (
    class_table,
    paper_measures,
    render,
    run_names,
    sentences,
    states_tables,
)
from memoryless.lab.runs import RunFolder
from memoryless.names import printable
from memoryless.strategies import own_values
from memoryless.tables import Table
from photo_toys import shown

RUNS = {
    "finetune": [90.0, 20.0, 10.0],
    "finetune+initial+mc": [90.0, 50.0, 40.0],
    "finetune+siw": [90.0, 40.0, 30.0],
}


def finetune(states: int = 3, **about) -> FakeRun:
    values = {name: (v * 9)[:states] for name, v in RUNS.items()}
    return FakeRun(values, f"f{states}/seed-{about.get('seed', 0)}", **about)


def joint() -> FakeRun:
    return FakeRun({"joint": [80.0]}, "j/s", config={"strategy": "joint"}, memoryless=False)


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
        assert f"{row.A_last:.1f}" in page.text
    about = runs[0].about
    for part in (
        "top-1", "lost", "kept", "G_IL", "not memoryless", "chance",
        about.commit or "not from a checkout", "reference", "468 bytes", "4.6 kB",
        "c(p)", "seed", *own_values(about.config),
    ):  # fmt: skip
        assert part in page.text, part
    assert "--all" not in page.text  # which a page has no use for
    assert page.tags.count("svg") == 3 + len(OF_THE_PAPER)
    reached = f"{comparisons(runs)[0].reference.top1:.1f}\xa0%"
    assert page.text.index(reached) < page.text.index("A_inc")  # it begins with the reference


def test_the_page_needs_nothing_else_and_is_always_the_same(runs, page):
    check_alone(page, scripts=1)
    assert "//" not in page[page.index("<script>") :].replace("// ", "")
    assert render(runs) == page


def fill(**parts: object) -> str:
    """A page of these parts alone."""
    table = Table("x", "", ["x"], [])
    names = ("leads", "methods", "states", "paper", "charts", "classes", "figures", "typology")
    empty: dict[str, object] = {name: [] for name in (*names, "runs")}
    texts = dict.fromkeys(("title", "again", "drawn"), "")
    return pages.render("report", **empty | texts | {"data": table} | parts)


def page_of(text: str) -> Page:
    """A page whose every part is the text."""
    table = Table(text, text, [text, text, ""], [[text, text, text]] * 2)
    more = Table(text, text, [text, text, ""], [[text, text, text]] * 3)
    run = {"name": text, "command": text, "facts": [(text, text)], "settings": [(text, text)]}
    drawn = [Picture(text, Markup(""))]
    return Page(
        fill(
            title=text, methods=[[table, more]], states=[[table, table]], drawn=text,
            paper=[table], typology=[table], classes=[table], data=table, charts=[(text, drawn)],
            figures=drawn, again=text, runs=[run],
        )
    )  # fmt: skip


HARMLESS = page_of("x")


@settings(max_examples=50, deadline=None)
@given(hostile_text)
def test_no_name_adds_a_tag_or_a_cell(text):
    text = printable(text) or "a"  # an empty remark is no mark
    page = page_of(text)
    assert page.tags == HARMLESS.tags
    assert page.cells == [cell.replace("x", text) for cell in HARMLESS.cells]


def test_commands_are_quoted(tiny, toy, tmp_path, monkeypatch):
    words = ["memoryless", "run", "--root", "x y; rm -r z", "--output", "it's"]
    monkeypatch.setattr(sys, "argv", words)
    (path,) = run(replace(tiny, epochs=1, output=tmp_path / "a b;$(c)"), toy)
    page = Page(render([RunFolder(path)]))
    assert "memoryless run --root 'x y; rm -r z' --output 'it'\"'\"'s'" in page.text
    assert f"memoryless figures '{path}'" in page.text


def test_g_il_is_of_every_kind_of_statistics():
    values = {"finetune+rda": [90.0, 80.0]}
    kinds = ({"level": "last"}, {"level": "middle"})
    runs = [FakeRun(values, f"{i}/s", config={"statistics": "full"} | kind)
            for i, kind in enumerate(kinds)]  # fmt: skip
    names = [row[0] for grid in paper_measures(comparisons([*runs, joint()])) for row in grid.rows]
    assert names == ["finetune+rda (level last)", "finetune+rda (level middle)"]


def test_runs_are_named_in_words_and_found_again_by_their_folder(runs, page):
    text = Page(render(runs, places=[Path("my runs")])).text
    assert f"memoryless figures '{Path.cwd() / 'my runs'}'\n" in text
    folds = re.findall("<summary>(.*?)</summary>", page)
    name = "toy, 3 states: finetune, seed 0"  # of where its images go, and of what was run
    assert folds[-5:] == [name, name, "Every setting", str(runs[1].path), "Every setting"]
    assert f"<dt>folder</dt><dd>{runs[0].path}</dd>" in page
    others = [FakeRun({"finetune": [1.0, 2.0]}, f"{lr}/s", config={"lr": lr}) for lr in (0.1, 0.2)]
    assert len({*run_names(others, comparisons(others)).values()}) == 2


def test_a_run_in_two_folders_is_reported_once(finished_run, tmp_path):
    copy = shutil.copytree(finished_run, tmp_path / "copy")
    page = render([RunFolder(finished_run), RunFolder(copy)])
    assert "memoryless: report of 1 run<" in page
    assert str(copy) not in page


def test_only_few_methods_are_shown_where_images_go(page):
    text = page[page.index("Past and new classes") : page.index("What was run")]
    assert "finetune+<wbr>siw<" in text
    assert "finetune+<wbr>initial+<wbr>mc" not in text


def test_numbers_of_states_stand_beside_each_other():
    (pair,) = states_tables(comparisons([finetune(20), finetune(3), finetune(5), joint()]))
    few, every = pair
    assert few.columns == ["method", "T=3", "T=5", "T=20"]
    found = {name: cells for name, *cells in few.rows}
    assert (found["finetune+siw"][0], found["chance"][0]) == ("35.0", "20.8")
    assert "finetune+initial+mc" not in found
    assert "finetune+initial+mc" in {row[0] for row in every.rows}
    assert [row[0] for row in few.rows][:2] == ["finetune+siw", "finetune"]


REFERENCE = "finetune+rda+widened"
TRAINED = FakeRun(
    {"finetune": [90.0, 20.0, 10.0], "finetune+siw": [90.0, 40.0, 30.0],
     REFERENCE: [90.0, 70.0, 60.0]},
    config={"statistics": "full"},
)  # fmt: skip
CONTROL = FakeRun({"untrained+lda": [60.0, 50.0, 40.0]}, "u/s", config={"strategy": "untrained"})


def test_the_first_sentences_have_the_numbers():
    text = " ".join(sentences(*comparisons([TRAINED, CONTROL])))
    assert text.startswith(f"toy, 3 states: The reference method, fixed in advance, is {REFERENCE}")
    # 90 - 60 of state 0 and 60 - 50 of state 1 are forgotten
    for number in ("65.0 %", "20.8 %", "forgets 20.0 points", "300 bytes", "adds 20.0 points"):
        assert number in text
    assert "`memoryless run`" in " ".join(sentences(*comparisons([TRAINED])))


def test_a_difference_within_seeds_is_called_that():
    runs = [FakeRun({"finetune": [9.0, x]}, f"{x}/s", seed=s) for s, x in ((0, 20.0), (1, 40.0))]
    control = FakeRun({"untrained": [9.0, 25.0]}, "u/s", config={"strategy": "untrained"})
    text = " ".join(sentences(*comparisons([*runs, control])))
    assert "within the deviation over seeds" in text


def test_what_a_number_of_states_lacks_is_left_empty_and_what_has_not_ended_has_no_column():
    only = FakeRun({"lwf": [9.0] * 5}, "l/s", config={"strategy": "lwf"})
    part = FakeRun({"finetune": [9.0] * 2}, "p/s", sizes=[2, 2, 2, 2])
    other = finetune(sizes=[4, 1, 1])
    ((few, _),) = states_tables(comparisons([finetune(3), other, finetune(5), only, part]))
    assert few.columns == ["method", "T=3", "T=3 of 4 1 1 classes", "T=5"]
    assert {name: cells for name, *cells in few.rows}["lwf"] == ["", "", "9.0"]
    assert states_tables(comparisons([finetune(), joint()])) == []


def test_classes_stand_worst_first_by_the_reference_method(finished):
    table = class_table(*comparisons([finished]))
    accuracy = class_accuracies(finished, "finetune+siw")
    assert [row[2] for row in table.rows] == [f"{value:.1f}" for value in sorted(accuracy)]
    by_name = {name: cells for name, *cells in table.rows}
    assert [by_name[str(c)] for c in range(6)] == [
        [str(c // 2), f"{value:.1f}"] for c, value in enumerate(accuracy)
    ]


def test_commands_take_any_name_and_show_it(tiny, toy, tmp_path, monkeypatch, capsys):
    """Warnings are errors here, so a glyph that the font lacks must not give one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("memoryless.progress.LAST_LINE", 1e9)  # on a busy machine as well
    monkeypatch.setattr("memoryless.progress.FIRST_LINE", 1e9)
    classes = ("$x$", "$", "_a", "%é#", "🦕\n", "--><script>alert(1)</script>")
    run(replace(tiny, output=Path(os.fsdecode(b"_$a\x1b\n<i>\xff"))), replace(toy, classes=classes))
    for words in (
        ["report", "."],
        ["figures", ".", "--formats", "svg", "pdf"],
        ["compare", ".", "--figure", "$.svg"],
    ):
        assert main(words) == 0
    out, err = capsys.readouterr()
    assert "\x1b" not in out
    assert err == ""
    page = Path("report.html").read_text(encoding="utf-8")
    assert "<i>" not in page
    assert page.count("<script>") == 1  # ours
    assert "alert(1)</script>" not in page
    texts = ElementTree.parse("figures/rows.svg").iter("{http://www.w3.org/2000/svg}text")
    words = {"".join(text.itertext()) for text in texts}
    assert {printable(name) for name in classes[:5]} <= words


def test_on_a_terminal_it_tells_what_it_does(finished, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert main(["report", str(finished.path), "--output", str(tmp_path / "r.html")]) == 0
    out, err = capsys.readouterr()
    assert out == f"the report is {tmp_path / 'r.html'}\n"
    assert "scoring classes" in err  # the last that is done, which is always shown


def test_methods_that_the_runs_cannot_give(finished, tmp_path, capsys):
    words = ["--methods", "finetune+lda", "--output", str(tmp_path / "r.html")]
    assert main(["report", str(finished.path), *words]) == 2
    assert "--statistics full" in capsys.readouterr().err


def test_a_page_that_cannot_be_written(finished, tmp_path, capsys):
    (tmp_path / "file").touch()
    page = str(tmp_path / "file" / "r.html")
    assert main(["report", str(finished.path), "--output", page]) == 2
    assert capsys.readouterr().err.endswith("): choose another --output\n")


def test_a_report_of_one_state(tiny, toy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(replace(tiny, states="1", epochs=1, output=Path("one")), toy)
    assert main(["report", "one", "--output", "pages/one.html"]) == 0
    assert Path("pages/one.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize("command", ["report", "figures"])
def test_a_library_that_lacks_is_named(command, finished):
    code = "import sys; sys.modules['matplotlib'] = None; from memoryless.cli import main; "
    code += f"sys.exit(main([{command!r}, {str(finished.path)!r}]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "this needs matplotlib, which is not installed: pip install" in done.stderr


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
        assert page.locator("svg:visible").count() == 2 * 3 + len(OF_THE_PAPER)
        for drawing in page.locator("svg:visible").all():
            assert drawing.bounding_box()["width"] <= width
        for row in page.locator("figure.table").first.locator("tbody tr").all():
            for cell in row.locator("td").all()[:2]:  # top-1 and bytes kept
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
