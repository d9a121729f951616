"""Files that people name: nothing is written over a model or a file of theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from memoryless.errors import WriteError
from memoryless.model.file import load_state
from memoryless.photos.files import changing, check_file


def test_a_change_that_fails_is_not_saved(cat_and_dog):
    def rename_and_fail():
        with changing(Path("model")) as (_, model):
            model.rename({"cat": "elk"})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        rename_and_fail()
    assert load_state("model").number == 1
    with changing(Path("model")) as (_, model):
        model.rename({"cat": "elk"})
    assert load_state("model").classes.names == ("elk", "dog")


def test_a_new_place_is_tried_and_left_empty(tmp_path):
    check_file(tmp_path / "new" / "a.csv", "suspects", "a,b", "list")
    assert [*tmp_path.rglob("*")] == [tmp_path / "new"]


def test_a_file_of_ours_stays_until_it_is_replaced(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("a,b\n1,2\n")
    check_file(file, "suspects", "a,b", "list")
    assert file.read_text() == "a,b\n1,2\n"


def test_another_file_needs_force(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("mine")
    with pytest.raises(WriteError, match=r"a.csv is there and is no list: choose another `susp"):
        check_file(file, "suspects", "a,b", "list")
    check_file(file, "suspects", "a,b", "list", force=True)
    assert file.read_text() == "mine"


@pytest.mark.parametrize("force", [False, True])
def test_a_model_and_a_folder_are_refused(force, tmp_path):
    with pytest.raises(WriteError, match=r"m.memoryless is a model: choose another `html`"):
        check_file(tmp_path / "m.memoryless", "html", "a,b", "page", force)
    with pytest.raises(WriteError, match=r"cannot write .*: choose another `html`"):
        check_file(tmp_path, "html", "a,b", "page", force)
    assert [*tmp_path.iterdir()] == []
