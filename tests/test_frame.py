"""The frame of pages: texts are shown and not obeyed, tables have names and numbers."""

from __future__ import annotations

from hypothesis import given

from conftest import hostile_text
from memoryless.photos.frame import framed, prose, table, text


def test_a_table():
    lines = list(table("A & B", ["class", "photos", "%"], [["a_b", 3, 12.5]], caption="see <c>"))
    assert lines == [
        "<h2>A &amp; B</h2>",
        '<p class="faint">see &lt;c&gt;</p>',
        "<table><thead><tr>",
        '<th scope="col" class="name">class</th>',
        '<th scope="col">photos</th>',
        '<th scope="col">%</th>',
        "</tr></thead><tbody>",
        '<tr><th scope="row">a_<wbr>b</th><td>3</td>'
        '<td>12.5<span class="bar" style="width: 12%"></span></td></tr>',
        "</tbody></table>",
    ]


def test_a_table_without_rows_is_left_out():
    assert list(table("A", ["class"], [], caption="c")) == []


def test_several_columns_of_names():
    (row,) = (line for line in table("A", ["a", "b"], [["x", "y"]], names=2) if "<tr><th" in line)
    assert row == '<tr><th scope="row">x</th><td class="name">y</td></tr>'


def test_a_table_without_a_head():
    lines = list(table("A", [], [["x", 3]]))
    assert lines[1:3] == ["<table>", "<tbody>"]
    assert not any("thead" in line for line in lines)


def test_the_second_text_of_a_cell_stays_in_one_piece():
    (row,) = (line for line in table("A", [], [[("x<", "(1 / 2)"), ("5.0", "(4-6)")]])
              if "<tr><th" in line)  # fmt: skip
    assert row == (
        '<tr><th scope="row">x&lt; <span class="whole">(1 / 2)</span></th>'
        '<td>5.0 <span class="whole">(4-6)</span></td></tr>'
    )


def test_a_sentence_shows_commands_as_code_and_keeps_intervals_in_one_piece():
    said = "`members` or `x`: `memoryless audit`, what memoryless export writes, 65.0 (60-70) <b>"
    assert prose(said) == (
        "<code>members</code> or `x`: <code>memoryless audit</code>, what <code>memoryless export"
        '</code> writes, 65.0 <span class="whole">(60-70)</span> &lt;b&gt;'
    )


@given(hostile_text)
def test_nothing_in_a_text_is_obeyed(name):
    page = framed(name, [f"<p>{text(name)}</p>"])
    assert page.count("<") - 2 * text(name).count("<wbr>") <= framed("", ["<p></p>"]).count("<")
    page.encode()
