"""Tables and lines: each format shows hostile names as they are and obeys nothing in them."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.console import Console

from conftest import hostile_text
from memoryless import output
from memoryless.errors import WriteError
from memoryless.names import printable
from memoryless.tables import Table as Grid

# What LaTeX may read as a sign after escaping.
TEX_WORDS = re.compile(
    r"\\[{}$_%&#]|\\textbackslash\{\}|\\textasciicircum\{\}|\\textasciitilde\{\}|\$\\pm\$"
    r"|\{\*\}|\{\[\}"
)


@st.composite
def hostile_grids(draw) -> Grid:
    columns = draw(st.lists(hostile_text, min_size=1, max_size=3))
    rows = st.lists(hostile_text, min_size=len(columns), max_size=len(columns))
    lines = draw(st.lists(rows, min_size=1, max_size=3))
    records = [dict(zip("abc", line, strict=False)) | {"number": -1.5} for line in lines]
    return Grid(draw(hostile_text), draw(hostile_text), columns, lines, records)


def words(grid: Grid) -> list[str]:
    return [cell for row in (grid.columns, *grid.rows) for cell in row]


PLAIN = Grid("t", "c", ["a", "b"], [["x", "1"], ["y", "2"]], [{"a": "x", "b": 1}])


@given(hostile_grids())
def test_latex_has_its_lines_and_no_command_but_our_own(grid):
    *lines, end = output.FORMATS[".tex"]([grid]).split("\n")
    assert end == ""
    assert len(lines) == len(grid.rows) + 7
    comment, begin, rule, head, *body = lines
    assert begin == f"\\begin{{tabular}}{{l{'r' * (len(grid.columns) - 1)}}}"
    assert [rule, body[0], *body[-2:]] == [r"\hline", r"\hline", r"\hline", r"\end{tabular}"]
    assert comment.startswith("% ")
    for line in (comment[2:], head, *body[1:-2]):
        left = TEX_WORDS.sub("", line)
        assert not set(left.removesuffix(r" \\").replace(" & ", "")) & set("\\{}$^~_%&#±*[")
        assert printable(left) == left
    for line in (head, *body[1:-2]):
        assert TEX_WORDS.sub("", line).count(" & ") == len(grid.columns) - 1


@given(hostile_text)
def test_latex_loses_nothing(text):
    back = {r"\textbackslash{}": "\\", r"\textasciicircum{}": "^", r"\textasciitilde{}": "~"}
    back |= {r"$\pm$": "±", "{*}": "*", "{[}": "["}
    shown = TEX_WORDS.sub(lambda m: back.get(m[0], m[0][1:]), output.latex_text(text))
    assert shown == printable(text)


@given(hostile_grids())
def test_markdown_has_its_cells_and_no_markup(grid):
    text = output.FORMATS[".md"]([grid])
    assert text.count("\n") == len(grid.rows) + 4
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    kinds = [token.type for token in tokens]
    assert kinds.count("th_open") == len(grid.columns)
    assert kinds.count("td_open") == len(grid.columns) * len(grid.rows)
    title, *cells = [token for token in tokens if token.type == "inline"]
    assert {child.type for child in title.children} <= {"text", "strong_open", "strong_close"}
    for cell, meant in zip(cells, words(grid), strict=True):
        assert {child.type for child in cell.children} <= {"text"}
        assert "".join(child.content for child in cell.children) == printable(meant).strip()


@given(hostile_grids())
def test_csv_has_its_cells_and_no_formula(grid):
    text = output.FORMATS[".csv"]([grid])
    head, *rows = csv.reader(io.StringIO(text, newline=""))
    assert head == list(grid.entries[0])
    assert len(rows) == len(grid.rows)
    for row, record in zip(rows, grid.entries, strict=True):
        *cells, number = row
        assert float(number) == -1.5  # a number stays one
        for cell, meant in zip(cells, record.values(), strict=False):
            assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))
            assert cell.removeprefix("'") == printable(meant).removeprefix("'")


@given(hostile_grids())
def test_a_terminal_shows_names_and_obeys_none(grid):
    screen = io.StringIO()
    output.show(grid, Console(file=screen, force_terminal=True, color_system=None, width=500))
    text = screen.getvalue()
    assert not set(text.replace("\n", "")) & {chr(c) for c in (*range(32), *range(127, 160))}
    for word in (*words(grid), grid.title, grid.caption):
        assert printable(word).strip() in text
    assert text.count("\n") == len(grid.rows) + 7


@given(hostile_text)
def test_json_is_what_it_was(text):
    """But for two half characters that together make one, which JSON cannot tell from it."""
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    assert json.loads(output.FORMATS[".json"]([Grid("", "", [], [], [{"a": text}])])) == [
        {"a": text}
    ]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_text_is_no_formula_and_numbers_are(text):
    assert output.csv_value(text) in (f"'{text}", printable(text))
    assert not output.csv_value(text).startswith(("=", "+", "-", "@", "\t", "\r"))
    assert output.csv_value(-1.5) == -1.5
    assert output.csv_value(None) is None


def test_a_folder_with_a_new_line_stays_in_the_comment():
    grid = Grid("a\n\\input{secret}", "c", ["m"], [["x"]], [])
    first, second, *_ = output.FORMATS[".tex"]([grid]).split("\n")
    assert first == r"% a\textbackslash{}n\textbackslash{}input\{secret\} (c)"
    assert second == r"\begin{tabular}{l}"


def test_rows_that_begin_like_an_argument_of_the_last():
    """`\\` takes a star or a bracket after it, even on the next line, as its own."""
    grid = Grid("t", "c", ["m"], [["x"], ["[2cm]"], ["*"]], [])
    assert "x \\\\\n{[}2cm] \\\\\n{*} \\\\\n" in output.FORMATS[".tex"]([grid])


def test_tables_without_a_row_are_written(tmp_path):
    for ending in output.FORMATS:
        output.write_grids([Grid("t", "c", ["method"], [], [])], tmp_path / f"t{ending}")
    assert json.loads((tmp_path / "t.json").read_text()) == []
    assert (tmp_path / "t.csv").read_text().strip() == ""
    for ending in (".md", ".tex"):
        assert "method" in (tmp_path / f"t{ending}").read_text()


def test_names_that_are_not_utf8_are_written(tmp_path):
    grid = Grid("\udcff", "\udcff", ["\udcff"], [["\udcff"]], [{"a": "\udcff"}])
    for ending in output.FORMATS:
        output.write_grids([grid], tmp_path / f"t{ending}")
        assert "udcff" in (tmp_path / f"t{ending}").read_text(encoding="utf-8")


def test_present_shows_and_writes_and_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    output.present([PLAIN], [Path("t.md"), Path("\x1b.csv")])
    out = capsys.readouterr().out
    assert " y   2 " in out
    assert out.endswith("written: t.md\nwritten: \\x1b.csv\n")
    assert (
        Path("t.md").read_text() == "**t** (c)\n\n| a | b |\n| --- | ---: |\n| x | 1 |\n| y | 2 |\n"
    )
    assert Path("\x1b.csv").read_text() == "a,b\nx,1\n"


def test_a_file_that_cannot_be_written(tmp_path):
    sentence = r"cannot write .*none/t.md \(No such file or directory\): choose another place"
    with pytest.raises(WriteError, match=sentence):
        output.write_grids([PLAIN], tmp_path / "none" / "t.md")


def test_lines_stand_under_their_heading(capsys):
    output.print_line("model", "a\nb")
    output.print_lines("note", ["one", "add `more=True`"])
    assert capsys.readouterr().out == "model     a\\nb\nnote      one\nnote      add --more\n"


def test_reasons_name_the_first_ten():
    assert output.reasons({str(i): "no" for i in range(1200)}).startswith("1,200: 0 (no), 1 (no)")
    assert output.reasons({str(i): "no" for i in range(12)}).endswith("9 (no) and 2 more")


def test_broken_files_go_to_standard_error(capsys):
    assert (output.report_broken(["a\nb", "c"]), output.report_broken([])) == (1, 0)
    assert capsys.readouterr() == ("", "memoryless: a\\nb\nmemoryless: c\n")
