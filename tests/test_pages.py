"""Every page is marked as one of ours; a file without the mark is replaced by force only."""

from __future__ import annotations

from pathlib import Path

import pytest

from memoryless.cli import main
from memoryless.errors import WriteError
from memoryless.pages import HEAD, MARK, check_replaceable
from memoryless.photos.frame import framed
from photo_toys import make_colours, tiny_flags


@pytest.mark.parametrize(
    "content", [b"", b"a photo", b"<!doctype html>", bytes(HEAD) + MARK.encode()]
)
def test_a_file_of_yours_stays_unless_force_is_given(content, tmp_path):
    path = tmp_path / "holiday.jpg"
    path.write_bytes(content)
    with pytest.raises(WriteError, match=r"choose another `html`, or add `force=True` to repl"):
        check_replaceable(path, False, "html")
    check_replaceable(path, True, "html")
    assert path.read_bytes() == content


def test_pages_of_ours_and_new_ones_may_be_written(tmp_path):
    check_replaceable(tmp_path / "new.html", False, "html")
    check_replaceable(tmp_path, False, "html")  # a folder, which writing refuses
    (tmp_path / "page.html").write_text(framed("title", ["body"]))
    check_replaceable(tmp_path / "page.html", False, "html")


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
