"""memoryless check: every state that is damaged is named."""

from __future__ import annotations

from conftest import call
from databases import damage
from memoryless import Model


def test_check_says_what_is_damaged(cat_and_dog, capsys):
    model = Model.load("model")
    model.rename({"cat": "lynx"})
    model.save("model")
    path = model._saved.path
    code, out, err = call("check", str(path), capsys=capsys)
    assert (code, err) == (0, "")
    assert "2 states" in out
    damage(path, "record")  # which both states share
    code, out, err = call("check", str(path), capsys=capsys)
    assert code == 3
    assert out.startswith(f"state 1: {path} is damaged (a checksum differs)")
    assert err.startswith(f"memoryless: state 2: {path} is damaged (a checksum differs)")
