"""Pages: texts are shown and not obeyed, tables have names and numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from jinja2 import UndefinedError

from conftest import hostile_text
from html_pages import Page, check_alone
from memoryless import pages
from memoryless.cli import main
from memoryless.errors import WriteError
from memoryless.names import printable
from memoryless.pages import MARK, breakable, check_page, sentence
from memoryless.store import HEAD
from memoryless.tables import Table
from photo_toys import make_colours, tiny_flags


def page_of(*tables: Table, summary: tuple[str, ...] = ()) -> str:
    return pages.render(
        "mistakes", title="t", summary=summary, mistakes=0, pictures=[], tables=tables
    )


def test_a_table_has_names_marks_and_bars():
    columns, rows = ["class", "photos", "%", ""], [["a_b", "3", 12.46, "best"]]
    page = page_of(Table("A & B", "see <c>", columns, rows, kinds={"a_b": "recommended"}))
    assert Page(page).cells == ["class", "photos", "%", "a_b best", "3", "12.5"]
    assert "A &amp; B <small>see &lt;c&gt;</small>" in page
    assert '<tr class="recommended"><th scope="row">a_<wbr>b <span class="mark">best' in page
    assert '<td>12.5<span class="bar" style="--share: 12.46%"></span></td>' in page
    check_alone(page)


def test_a_table_without_rows_is_left_out():
    assert "table" not in Page(page_of(Table("A", "", ["class"], []))).tags


def test_sentences_have_code_and_numbers_stay_with_their_units():
    shown = sentence("top-1 of 12.5 % needs `a 1 <b>` or 3 kB, 65.0 (60-70) <b>")
    assert shown == (
        "top\u20111\u00a0of 12.5\u00a0% needs <code>a 1 &lt;b&gt;</code> or 3\u00a0kB, "
        "65.0 (60\u201170) &lt;b&gt;"
    )


def table_of(text: str) -> Table:
    """A table whose every part is the text."""
    return Table(text, text, [text, text, ""], [[text, text, text or "x"]], kinds={text: text})


@given(hostile_text)
def test_nothing_in_a_text_is_obeyed(text):
    page = Page(page_of(table_of(text), summary=(text,)))
    plain = Page(page_of(table_of("x")))
    assert [tag for tag in page.tags if tag not in ("p", "code")] == [
        tag for tag in plain.tags if tag not in ("p", "code")
    ]
    safe = printable(text)
    assert page.cells == [safe, safe, f"{safe} {safe or 'x'}", safe]
    assert Page(str(breakable(text))).text == safe
    assert len(Page(str(sentence(text))).text) >= len(safe) - 2 * safe.count("`")


def test_a_page_that_lacks_a_part_is_an_error():
    with pytest.raises(UndefinedError, match="'pictures' is undefined"):
        pages.render("mistakes", title="t", summary=[])


def test_a_page_is_written_in_a_new_folder_or_not_at_all(tmp_path):
    pages.write(tmp_path / "new" / "page.html", "ä", "html")
    assert (tmp_path / "new" / "page.html").read_bytes() == "ä".encode()
    (tmp_path / "file").touch()
    with pytest.raises(WriteError, match=r"cannot write .*page.html \(.*: choose another `output`"):
        pages.write(tmp_path / "file" / "page.html", "", "output")


@pytest.mark.parametrize(
    "content", [b"", b"a photo", b"<!doctype html>", bytes(HEAD) + MARK.encode()]
)
def test_a_file_of_yours_stays_unless_force_is_given(content, tmp_path):
    path = tmp_path / "holiday.jpg"
    path.write_bytes(content)
    with pytest.raises(WriteError, match=r"choose another `html`, or add `force=True` to repl"):
        check_page(path, False, "html")
    check_page(path, True, "html")
    assert path.read_bytes() == content


def test_pages_of_ours_and_new_ones_may_be_written(tmp_path):
    check_page(tmp_path / "new.html", False, "html")
    check_page(tmp_path, False, "html")  # a folder, which writing refuses
    (tmp_path / "page.html").write_text(page_of())
    check_page(tmp_path / "page.html", False, "html")


COMMANDS = ["evaluate m photos --html", "audit m --members photos --others new --html"]


@pytest.fixture(scope="module")
def learned(tiny_backbone, tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("learned")
    make_colours(root / "photos", "cat", "dog", number=20)
    make_colours(root / "new", "cat", "dog", number=20, seed=1)
    assert main(["learn", str(root / "m"), str(root / "photos"), *tiny_flags(tiny_backbone)]) == 0
    return root


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_leave_your_files_alone_and_their_pages_name_no_folder(
    command, learned, tmp_path, capsys
):
    page = tmp_path / "holiday.jpg"
    page.write_bytes(b"a photo")
    words = [str(learned / w) if w in ("m", "photos", "new") else w for w in command.split()]
    assert main([*words, str(page)]) == 2
    assert (
        "is no page of memoryless: choose another --html, or add --force" in capsys.readouterr().err
    )
    assert page.read_bytes() == b"a photo"
    assert main([*words, str(page), "--force"]) == 0
    assert main([*words, str(page)]) == 0  # one of ours now
    text = page.read_text()
    assert MARK in text[:HEAD]
    assert str(learned) not in text.replace("<wbr>", "")


def test_the_report_is_marked_and_replaces_no_file_of_yours(finished, tmp_path, capsys):
    page = tmp_path / "notes.html"
    page.write_text("my notes")
    words = ["report", str(finished.path), "--output", str(page)]
    assert main(words) == 2
    assert page.read_text() == "my notes"
    assert main([*words, "--force"]) == 0
    assert MARK in page.read_text()[:HEAD]
    assert main(words) == 0
