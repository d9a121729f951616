"""memoryless list names everything in the tables."""

from __future__ import annotations

from conftest import call


def test_list_names_everything(capsys):
    code, out, _ = call("list", capsys=capsys)
    assert code == 0
    for word in ("quickdraw100", "seed:N", "resnet18_3x3", "finetune", "siw", "mc", "inFT_L2_mc"):
        assert word in out
