"""No number of the results page or of README's headline is stale, or typed by hand."""

from __future__ import annotations

import doctest
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
import results
import results_numbers
import results_page
import results_text
from results_numbers import MISSING, Numbers, Row, Score, kept, verdict
from results_picture import picture

from memoryless.cli.demo import FULL_TOP1, FULL_TOP5

STREAM = {
    "data": "quickdraw100", "states": 10, "order": "natural", "strategy": "finetune",
    "backbone": "resnet18_3x3", "level": "last", "square_roots": False, "statistics": "full",
    "projection": 0, "held_out": 0.0, "validation": 0.0, "memoryless": True,
    "image_bytes": 6_272_000, "chance_top1": 2.14, "chance_top5": 10.72, "seeds": [0, 1],
    "quiet_seconds": [60.0, 80.0],
}  # fmt: skip


def scored(method: str, reads: str, *top1: float, **others) -> dict:
    """A method's line; top-5 is twice top-1, so that one is not taken for the other."""
    figures = {k: [*top1] for k in ("top1", "last_top1", "past", "forgetting")}
    figures |= {k: [2 * value for value in top1] for k in ("top5", "last_top5")}
    return {"method": method, "reads": reads, **figures, "bytes_kept": 26_000, "cost": 1} | others


FT = scored("FT", "layer", 16.0, 17.0, bytes_kept=0)
SIW = scored("inFT_siw", "rows", 23.0, 25.0)
NCM = scored("finetune+ncm", "means", 22.0, 26.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for collected files."""
    (tmp_path / "collected").mkdir()
    return tmp_path / "collected"


def write(folder: Path, name: str, *streams: dict) -> Numbers:
    (folder / f"{name}.json").write_text(json.dumps({"made": [], "streams": streams}))
    return Numbers(folder)


def test_what_is_made_is_what_stands_there():
    for file, text in results.made().items():
        assert file.read_text() == text, f"{file.name} is stale: make results"


def test_checking_needs_no_torch():
    code = (
        "import sys; sys.modules['torch'] = None; import results; sys.exit(results.main(['check']))"
    )
    tools = str(results.ROOT / "tools")
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": tools}, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("template", ["page.md.j2", "headline.md.j2"])
def test_without_figures_there_is_no_number(template, folder):
    """What is left are settings in code, and how to call the states."""
    text = re.sub(r"`[^`]*`", "", results_page.render(template, Numbers(folder)))
    assert MISSING in text
    assert not re.findall(r"\d+\.\d", text.replace(published_column(text), ""))


def published_column(text: str) -> str:
    """The paper's own numbers on CIFAR-100, the only ones that are not measured."""
    _, _, after = text.partition("| method | here | published top-5 |")
    return after.partition("\n\n")[0]


def test_check_says_what_is_stale(tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.md"
    monkeypatch.setattr(results, "ROOT", tmp_path)
    monkeypatch.setattr(results, "made", lambda: {page: "new\n"})
    assert results.main(["check"]) == 1
    assert capsys.readouterr().out == "page.md is stale\n"
    assert not page.exists()
    assert results.main(["write"]) == 0
    assert page.read_text() == "new\n"
    assert results.main(["check"]) == 0


def test_a_block_stands_between_its_marks():
    page = "a\n<!-- results: headline -->\nold\n<!-- end -->\nb\n"
    told = "a\n<!-- results: headline -->\n\nnew\n\n<!-- end -->\nb\n"
    assert results.with_block(page, "new\n") == told == results.with_block(told, "new\n")
    with pytest.raises(SystemExit, match="needs the two lines"):
        results.with_block("a\n", "new\n")


def test_what_the_functions_say_of_themselves_is_so():
    assert doctest.testmod(results_numbers).attempted >= 2
    assert not doctest.testmod(results_numbers).failed


def test_figures_by_hand():
    one, two = Score({0: 50.0, 1: 52.0}), Score({0: 49.0, 1: 53.0, 2: 1.0})
    assert (str(one), str(Score({0: 50.04})), str(Score())) == ("51.0±1.4", "50.0", MISSING)
    assert str(one - two) == "+0.0±1.4"
    assert (one.above(two), verdict(one.above(two))) == ([True, False], "unclear")
    assert verdict(one.above(Score({0: 1.0})), one.above(Score())) == "holds"
    assert verdict(Score({0: 0.04}).below(0.05)) == "holds"
    assert [kept(size) for size in (None, 0, 840, 59_049_000)] == [
        "nothing", "nothing", "840 bytes", "59.0 MB",
    ]  # fmt: skip


def test_rows_are_found_by_what_they_depend_on(folder):
    middle = STREAM | {"level": "middle", "square_roots": True, "methods": [FT, SIW, NCM]}
    numbers = write(folder, "middle", middle)
    assert str(numbers.row("quickdraw100", 10, "inFT_siw")) == "24.0±1.4 / 48.0±2.8"
    assert not numbers.row("quickdraw100", 10, "finetune+ncm")
    assert numbers.row("quickdraw100", 10, "finetune+ncm", level="middle", square_roots=True)
    assert numbers.row("quickdraw100", 10, "finetune+ncm", level=None, square_roots=None)
    assert not numbers.row("quickdraw100", 20, "inFT_siw")


def test_time_is_that_of_the_run_that_was_disturbed_least(folder):
    write(folder, "a", STREAM | {"methods": [NCM]})
    middle = STREAM | {"level": "middle", "quiet_seconds": [50.0, 90.0], "methods": [NCM]}
    other = STREAM | {"strategy": "lwf", "quiet_seconds": [10.0, 10.0], "methods": []}
    numbers = write(folder, "b", middle, other)
    assert numbers.row("quickdraw100", 10, "finetune+ncm").seconds == 50


def test_rows_of_several_files_must_agree(folder):
    write(folder, "a", STREAM | {"methods": [NCM]})
    one_seed = STREAM | {"seeds": [0], "quiet_seconds": [60.0]}
    numbers = write(folder, "b", one_seed | {"methods": [scored("finetune+ncm", "means", 22.0)]})
    assert str(numbers.row("quickdraw100", 10, "finetune+ncm").top1) == "24.0±2.8"
    numbers = write(folder, "b", one_seed | {"methods": [scored("finetune+ncm", "means", 21.0)]})
    assert str(numbers.row("quickdraw100", 10, "finetune+ncm", of="b").top1) == "21.0"
    with pytest.raises(SystemExit, match="several rows fit finetune\\+ncm on quickdraw100 in 10"):
        numbers.row("quickdraw100", 10, "finetune+ncm")


def test_seeds_of_several_files_make_one_row_if_they_are_of_one_training(folder):
    write(folder, "a", STREAM | {"methods": [NCM]})
    third = STREAM | {"seeds": [2], "quiet_seconds": [60.0], "width": 8}
    methods = {"methods": [scored("finetune+ncm", "means", 27.0)]}
    row = write(folder, "b", third | methods).row("quickdraw100", 10, "finetune+ncm")
    assert row.top1.values == {0: 22, 1: 26, 2: 27}
    assert row.last_top5.values == {0: 44, 1: 52, 2: 54}
    numbers = write(folder, "a", STREAM | {"width": 16, "methods": [NCM]})
    with pytest.raises(SystemExit, match=r"finetune\+ncm on .*, of width \[8, 16\]: say which"):
        numbers.row("quickdraw100", 10, "finetune+ncm")


def test_rows_of_an_earlier_version_must_be_asked_for(folder):
    write(folder, "a", STREAM | {"methods": [NCM]})
    earlier = STREAM | {"methods": [scored("finetune+ncm", "means", 12.0, 16.0)]}
    numbers = write(folder, "before-a", earlier)
    assert numbers.row("quickdraw100", 10, "finetune+ncm").top1.mean == 24
    assert numbers.row("quickdraw100", 10, "finetune+ncm", of="before-a").top1.mean == 14


def test_full_is_told_by_its_only_state(folder):
    full = scored("Full", "layer", 51.0, 52.0) | {"top1": [None, None], "top5": [None, None]}
    stream = STREAM | {"states": 1, "memoryless": False, "methods": [full]}
    row = write(folder, "a", stream).row("quickdraw100", 10, "Full")
    assert (str(row.top1), row.kept) == ("51.5±0.7", "images, 6.3 MB")


def test_the_best_memoryless_row_is_bold_in_each_figure():
    high = Row("a", top1=Score({0: 3.0}), top5=Score({0: 4.0}))
    wide = Row("b", top1=Score({0: 2.0}), top5=Score({0: 5.0}))
    full = Row("Full", memoryless=False, top1=Score({0: 9.0}), top5=Score({0: 9.0}))
    lines = [[row.method, row] for row in (high, wide, full)] + [["c", Row()], ["chance", "1 / 2"]]
    assert results_text.bold(lines) == [
        ["a", "**3.0** / 4.0"],
        ["b", "2.0 / **5.0**"],
        ["Full", "9.0 / 9.0"],
        ["c", MISSING],
        ["chance", "1 / 2"],
    ]
    assert results_text.table(["m", "T=2"], lines).endswith(
        f"\n\nTop-1 / top-5 in percent; one seed; {MISSING} not run."
    )


def test_other_numbers_of_seeds_and_a_row_alone_are_not_the_best():
    three, one = Row(top1=Score({0: 5.0, 1: 6.0}), top5=Score({0: 7.0})), Row(top1=Score({0: 9.0}))
    cells = [[three, three], [replace(one, top5=Score({0: 9.0})), ""], [three, ""]]
    shown = results_text.bold(cells)
    assert [row[0].startswith("**") for row in shown] == [True, False, True]
    assert not shown[0][1].startswith("**")


def test_rows_with_as_many_seeds_as_most_have_compete():
    usual, control = (Score(dict.fromkeys(seeds, 1.0)) for seeds in ([0], range(3)))
    shown = results_text.bold([[replace(usual, values={0: 2.0})], [usual], [control]])
    assert shown == [["**2.0**"], ["1.0"], ["1.0±0.0"]]


def test_a_caption_tells_the_seeds():
    one, two, three, four = (
        Row(method, top1=Score(dict.fromkeys(range(n), 1.0)))
        for method, n in (("FT", 1), ("Full", 2), ("inFT", 3), ("LwF", 3))
    )
    assert results_text.caption([three, two, four]) == (
        "Top-1 / top-5 in percent; ± over three seeds; Full: two seeds."
    )
    assert results_text.caption([three]) == "Top-1 / top-5 in percent; ± over three seeds."
    assert results_text.caption([three, one], pairs=False) == (
        "Percent; ± over three seeds; without ±: one seed."
    )


def test_tables_by_hand(folder):
    page = results_page.Page(write(folder, "a", STREAM | {"methods": [FT, SIW, NCM]}))
    methods = ["FT", "inFT_siw", "LwF"]
    assert page.by_states("quickdraw100", [10, 20], methods).splitlines()[:6] == [
        "| method | kept | T=10 |",  # nothing was run in 20 states, and no LwF
        "| --- | ---: | ---: |",
        "| chance |  | 2.1 / 10.7 |",
        "| FT | nothing | 16.5±0.7 / 33.0±1.4 |",
        "| inFT_siw | 26.0 kB | **24.0±1.4 / 48.0±2.8** |",
        "",
    ]
    assert page.by_states("quickdraw100", [20], methods) == "Not run yet."
    columns = {"none": "finetune+{}", "middle": {"method": "finetune+{}", "level": "middle"}}
    lines = page.by_kind("quickdraw100", 10, ["ncm"], columns).splitlines()
    assert lines[2] == f"| ncm | 24.0±2.8 / 48.0±5.7 | {MISSING} |"  # alone it is not the best
    claims = page.claims([("siw helps", "inFT_siw", "FT"), ("no", "inFT_siw", "finetune+ncm")])
    assert claims.replace("\N{NO-BREAK SPACE}", " ").splitlines() == [
        "| claim of the paper | drawings | T=10 |",
        "| --- | --- | ---: |",
        "| siw helps: inFT_siw > FT | holds | 48.0 > 33.0 |",
        "| no: inFT_siw > finetune+ncm | unclear | 48.0 = 48.0 |",
    ]
    wanted = [{"method": "inFT_siw", "about": "theirs"}]
    assert page.summary("quickdraw100", 10, wanted).splitlines()[3] == (
        "| inFT_siw | theirs | 24.0±1.4 | 48.0±2.8 | 24.0±1.4 | 26.0 kB | 1.0 x |"
    )


def test_sentences_depend_on_what_was_found():
    texts = ("yes", "no", "perhaps")
    answers = ([True], [False], [True, False])
    assert [results_page.depending(answer, *texts) for answer in answers] == [*texts]
    assert results_page.depending([], *texts) == results_page.UNSAID


def test_what_was_not_measured_is_not_said(folder):
    """Its line goes with it, and no paragraph is torn."""
    text = results_page.render("page.md.j2", Numbers(folder))
    assert results_page.UNSAID not in text
    assert "It was not measured" not in text


def test_prose_is_wrapped_and_the_rest_is_not():
    long = " ".join(["word"] * 40)
    text = f"# {long}\n{long}\nand on\n\n- {long}\n  on\n- two\n\n| {long} |\n\n"
    text += f"```console\n$ {long}\n```\n"
    wrapped = results_text.wrap(text).splitlines()
    assert f"# {long}" in wrapped
    assert f"| {long} |" in wrapped
    assert f"$ {long}" in wrapped
    prose = [line for line in wrapped if line[:1] not in "#|$"]
    assert max(map(len, prose)) <= 118
    assert [line for line in wrapped if line.startswith("- ")][1] == "- two"
    assert "  word word" in "\n".join(wrapped)
    assert results_text.wrap("\n".join(wrapped)) == "\n".join(wrapped) + "\n"


def test_the_picture_has_round_ticks_and_a_name_for_each_bar():
    row = Row("FT", bytes_kept=26_000, top1=Score({0: 52.0, 1: 54.0}))
    rows = [("FT <b>", row, "1.0 x"), ("none", Row(), MISSING)]
    drawn = ElementTree.fromstring(picture(rows, "2.1"))
    texts = [text.text for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert [text for text in texts if text.isdigit()] == ["0", "10", "20", "30", "40", "50", "60"]
    assert {"FT <b>", "53.0", "26.0 kB", "1.0 x", "none"} <= set(texts)
    bars = [bar.get("class") for bar in drawn.iter("{http://www.w3.org/2000/svg}rect")]
    assert bars == ["back", "ours"]
    assert int(re.search(r"font: (\d+)px", picture(rows, "2.1")).group(1)) >= 11


def test_the_picture_is_of_the_headline():
    text = (results_page.FOLDER / "summary.svg").read_text()
    labels = [results_page.label(wanted) for wanted in results_page.HEADLINE]
    assert [f">{label}</text>" in text for label in labels if "Full" not in label] == [True] * 10
    assert "Full" not in text  # it has no average over states


def test_the_first_run_of_the_readme_is_what_was_run():
    """Its command, and every number that it is said to print."""
    stored = json.loads((results.ROOT / "docs/results/readme/first.json").read_text())
    readme = (results.ROOT / "README.md").read_text()
    (made,) = {line["command"] for line in stored["made"]}
    shown = readme.partition(f"$ {made}\n")[2].partition("$ ")[0]
    told = {method["method"]: (stream, method)
            for stream in stored["streams"] for method in stream["methods"]}  # fmt: skip
    found = re.findall(r" (FT|inFT_siw|finetune\+rda\+widened) (\d+\.\d)[,\n]", shown)
    assert [name for name, _ in found] == ["FT", "inFT_siw", "finetune+rda+widened"]
    for name, top1 in found:
        assert float(top1) == pytest.approx(told[name][1]["last_top1"][0], abs=0.0501)
    used, forgets, keeps, control = re.findall(r"^(?:Use|It|An) .*$", shown, re.M)
    (stream, best), (_, alone), (_, never) = (
        told[name] for name in ("finetune+rda+widened", "FT", "untrained+lda")
    )
    gained = best["top1"][0] - never["top1"][0]
    assert f" {best['top1'][0]:.1f} % " in used
    assert used.endswith(f"{stream['chance_top1']:.1f} %.")
    assert re.findall(r"[\d.]+(?= points)", forgets) == [
        f"{method['forgetting'][0]:.1f}" for method in (best, alone)
    ]
    assert re.findall(r"[\d.]+ MB", keeps) == [
        kept(best["bytes_kept"]),
        kept(stream["image_bytes"]),
    ]
    assert re.findall(r"\d+\.\d", control) == [f"{never['top1'][0]:.1f}", f"{gained:.1f}"]


def test_the_demo_shows_full_as_the_results_have_it():
    full = Numbers(results.FOLDER).row(results.DATA, results.STATES, "Full")
    assert round(full.top1.mean, 1) == FULL_TOP1
    assert round(full.top5.mean, 1) == FULL_TOP5
