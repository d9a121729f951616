"""Tables and lines: each format shows hostile names as they are and obeys nothing in them."""

from __future__ import annotations

import csv
import io
import json
import re
import tempfile
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.cells import cell_len
from rich.console import Console

from conftest import hostile_text
from memoryless import output
from memoryless.errors import WriteError
from memoryless.names import printable
from memoryless.tables import Table

# What LaTeX may read as a sign after escaping.
TEX_WORDS = re.compile(
    r"\\[{}$_%&#]|\\textbackslash\{\}|\\textasciicircum\{\}|\\textasciitilde\{\}|\$\\pm\$"
    r"|\{\*\}|\{\[\}"
)


@st.composite
def hostile_tables(draw) -> Table:
    columns = draw(st.lists(hostile_text, min_size=1, max_size=3))
    rows = st.lists(hostile_text, min_size=len(columns), max_size=len(columns))
    lines = draw(st.lists(rows, min_size=1, max_size=3))
    records = [dict(zip("abc", line, strict=False)) | {"number": -1.5} for line in lines]
    return Table(draw(hostile_text), draw(hostile_text), columns, lines, pd.DataFrame(records))


def written(ending: str, table: Table) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t{ending}"
        output.write_tables([table], path)
        return path.read_text(encoding="utf-8")


def words(table: Table) -> list[str]:
    return [cell for row in (table.columns, *table.rows) for cell in row]


PLAIN = Table("t", "c", ["a", "b"], [["x", "1"], ["y", "2"]], pd.DataFrame([{"a": "x", "b": 1}]))


@given(hostile_tables())
def test_latex_has_its_lines_and_no_command_but_our_own(table):
    *lines, end = written(".tex", table).split("\n")
    assert end == ""
    assert len(lines) == len(table.rows) + 7
    comment, begin, rule, head, *body = lines
    assert begin == f"\\begin{{tabular}}{{l{'r' * (len(table.columns) - 1)}}}"
    assert [rule, body[0], *body[-2:]] == [
        r"\toprule", r"\midrule", r"\bottomrule", r"\end{tabular}",
    ]  # fmt: skip
    assert comment.startswith("% ")
    for line in (comment[2:], head, *body[1:-2]):
        left = TEX_WORDS.sub("", line)
        assert not set(left.removesuffix(r" \\").replace(" & ", "")) & set("\\{}$^~_%&#±*[")
        assert printable(left) == left
    for line in (head, *body[1:-2]):
        assert TEX_WORDS.sub("", line).count(" & ") == len(table.columns) - 1


@given(hostile_text)
def test_latex_loses_nothing(text):
    back = {r"\textbackslash{}": "\\", r"\textasciicircum{}": "^", r"\textasciitilde{}": "~"}
    back |= {r"$\pm$": "±", "{*}": "*", "{[}": "["}
    shown = TEX_WORDS.sub(lambda m: back.get(m[0], m[0][1:]), output.latex_text(text))
    assert shown == printable(text)


@given(hostile_tables())
def test_markdown_has_its_cells_and_no_markup(table):
    text = written(".md", table)
    assert text.count("\n") == len(table.rows) + 4
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    kinds = [token.type for token in tokens]
    assert kinds.count("th_open") == len(table.columns)
    assert kinds.count("td_open") == len(table.columns) * len(table.rows)
    title, *cells = [token for token in tokens if token.type == "inline"]
    assert {child.type for child in title.children} <= {"text", "strong_open", "strong_close"}
    for cell, meant in zip(cells, words(table), strict=True):
        assert {child.type for child in cell.children} <= {"text"}
        assert "".join(child.content for child in cell.children) == printable(meant).strip()


@given(hostile_tables())
def test_csv_has_its_cells_and_no_formula(table):
    text = written(".csv", table)
    head, *rows = csv.reader(io.StringIO(text, newline=""))
    assert head == list(table.figures)
    assert len(rows) == len(table.rows)
    for row, record in zip(rows, table.figures.to_dict("records"), strict=True):
        *cells, number = row
        assert float(number) == -1.5  # a number stays one
        for cell, meant in zip(cells, record.values(), strict=False):
            assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))
            assert cell.removeprefix("'") == printable(meant).removeprefix("'")


@given(hostile_tables())
def test_a_terminal_shows_names_and_obeys_none(table):
    screen = io.StringIO()
    output.show(table, Console(file=screen, force_terminal=True, color_system=None, width=500))
    text = screen.getvalue()
    assert not set(text.replace("\n", "")) & {chr(c) for c in (*range(32), *range(127, 160))}
    for word in (*words(table)[len(table.columns) :], table.title, table.caption):
        assert printable(word).strip() in text
    assert text.count("\n") >= len(table.rows) + 4  # names of columns may take several lines


@given(hostile_text)
def test_json_is_what_it_was(text):
    """But for two half characters that together make one, which JSON cannot tell from it."""
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    figures = pd.DataFrame([{"a": text, "b": float("nan"), "c": 1}])
    records = json.loads(written(".json", Table("", "", [], [], figures)))
    assert records == [{"a": text, "b": None, "c": 1}]


def test_rows_that_begin_like_an_argument_of_the_last():
    r"""`\\` takes a star or a bracket after it, even on the next line, as its own."""
    table = Table("t", "c", ["m"], [["x"], ["[2cm]"], ["*"]])
    assert "x \\\\\n{[}2cm] \\\\\n{*} \\\\\n" in written(".tex", table)


def test_tables_without_a_row_are_written():
    table = Table("t", "c", ["method"], [], pd.DataFrame())
    assert json.loads(written(".json", table)) == []
    assert written(".csv", table).strip() in ("", '""')
    assert "method" in written(".md", table)
    assert "method" in written(".tex", table)


def test_names_break_where_a_terminal_is_narrow():
    table = Table("t", "c", ["method", "x"], [["finetune+rda+widened", "14.8 MB"]])
    for width, lines in ((80, ["finetune+rda+widened  14.8 MB"]),
                         (25, ["finetune+rda+  14.8 MB", "widened"])):  # fmt: skip
        screen = io.StringIO()
        output.show(
            table, Console(file=screen, force_terminal=True, color_system=None, width=width)
        )
        assert [line.rstrip() for line in screen.getvalue().split("\n")[2:-3]] == lines


def test_present_shows_and_writes_and_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    output.present([PLAIN], [Path("t.md"), Path("\x1b.csv")])
    out = capsys.readouterr().out
    assert "\ny  2\n" in out
    assert out.endswith("written: t.md\nwritten: \\x1b.csv\n")
    assert (
        Path("t.md").read_text()
        == "**t** (c)\n\n| a   |   b |\n|:----|----:|\n| x   |   1 |\n| y   |   2 |\n"
    )
    assert Path("\x1b.csv").read_text() == "a,b\nx,1\n"


def test_a_file_that_cannot_be_written(tmp_path):
    sentence = r"cannot write .*none/t.md \(No such file or directory\): choose another place"
    with pytest.raises(WriteError, match=sentence):
        output.write_tables([PLAIN], tmp_path / "none" / "t.md")


def test_lines_stand_beside_their_heading(capsys):
    output.print_line("model", "a\nb")
    output.print_lines("note", ["one", "add `more=True`"])
    lines = capsys.readouterr().out.splitlines()
    assert lines == ["  model     a\\nb", "  note      one", "  note      add --more"]


@pytest.mark.parametrize("columns", [40, 80, 300])
@given(text=hostile_text)
def test_lines_fit_and_lose_nothing(columns, text):
    """Only a word that is too long for a line makes it wider; no line is over 100."""
    words = [f"{text}{i}" for i in range(20)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(columns))
        lines = output.wrapped(" ".join(words), 2, 4)
    assert "".join(lines).replace(" ", "") == printable("".join(words)).replace(" ", "")
    for line in lines:
        assert cell_len(line) <= min(columns, 100) or len(line.split()) == 1


@pytest.mark.parametrize(("terminal", "whole"), [(True, False), (False, True)])
def test_names_are_shortened_on_a_terminal_alone(terminal, whole, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal, raising=False)
    name = "holiday/" * 10 + "1.jpg"
    output.print_rows([(name, "cat"), ("a", "blue tit")])
    first, second = capsys.readouterr().out.splitlines()
    assert (name in first) == whole
    assert first.endswith("  cat")
    assert first.index("cat") == second.index("blue")


def test_a_command_that_is_too_long_for_a_line_stands_alone(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    output.print_next("show", "m")
    output.print_next("show", "m" * 80)
    assert capsys.readouterr().out == (
        f"Next: memoryless show m\nNext:\n  memoryless show {'m' * 80}\n"
    )


def test_broken_files_go_to_standard_error(capsys):
    assert (output.report_broken(["a\nb", "c"]), output.report_broken([])) == (1, 0)
    assert capsys.readouterr() == ("", "memoryless: a\\nb\nmemoryless: c\n")
