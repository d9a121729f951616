"""memoryless rename."""

from __future__ import annotations

from pathlib import Path

from conftest import call
from memoryless.model.file import load_state


def test_a_class_gets_another_name(cat_and_dog, capsys):
    code, out, _ = call("rename", "model", "cat", "house cat", capsys=capsys)
    assert (code, out) == (0, "cat is called house cat now; memoryless undo model takes it back\n")
    assert list(load_state(Path("model")).classes.names) == ["house cat", "dog"]


def test_a_name_may_begin_with_a_dash(cat_and_dog, capsys):
    assert call("rename", "model", "--", "cat", "-x", capsys=capsys)[0] == 0
    assert list(load_state(Path("model")).classes.names) == ["-x", "dog"]


def test_an_unknown_class(cat_and_dog, capsys):
    code, _, err = call("rename", "model", "cta", "x", capsys=capsys)
    assert code == 2
    assert err == "memoryless: unknown class 'cta': choose from cat, dog; did you mean 'cat'?\n"
