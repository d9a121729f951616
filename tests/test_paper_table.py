"""The paper's tables keep measured and published numbers apart."""

from __future__ import annotations

from dataclasses import fields

from memoryless.lab.analysis.paper_table import accuracy_table, paper_tables
from memoryless.lab.analysis.summary import Summary
from memoryless.output import FORMATS


def row(method: str, states: str, top5: float, last: float = 0.0, seeds: int = 1) -> Summary:
    zero = dict.fromkeys((f.name for f in fields(Summary)), 0)
    given = {"states": states, "method": method, "top5": top5, "last_top5": last, "seeds": seeds}
    return Summary(**zero | given | {"top5_std": 1.5})


def test_measured_and_published_stand_apart():
    rows = [
        row("inFT_siw", "10", 60.0),
        row("inFT_siw", "20", 50.0),
        row("Full", "1", 0.0, last=90),
    ]
    grid = accuracy_table(rows, "title", "CIFAR100")
    assert grid.columns == [
        "method", "T=10", "T=20", "G_IL", "T=10 published", "T=20 published", "G_IL published",
    ]  # fmt: skip
    # (60 - 90) / 10 = -3 and (50 - 90) / 10 = -4
    assert grid.rows == [["inFT_siw", "60.0", "50.0", "-3.50", "56.0", "41.8", "-20.97"]]
    assert grid.entries[0]["measured_top5"] == 60.0
    assert grid.entries[0]["published_top5"] == 56.0
    assert "published Full: 91.2" in grid.caption


def test_without_full_there_is_no_g_il():
    grid = accuracy_table([row("lwf_kd+siw", "10", 60.0, seeds=3)], "title")
    assert grid.rows == [["lwf_kd+siw", "60.0±1.5", ""]]


def test_latex_escapes_names():
    grid = accuracy_table([row("inFT_L2", "10", 60.0, seeds=2)], "title")
    assert r"inFT\_L2 & 60.0$\pm$1.5 &  \\" in FORMATS[".tex"]([grid])


def test_rows_of_one_method_that_labels_tell_apart_stand_in_its_table():
    rows = [
        row("finetune+rda (last stage)", "10", 70.0),
        row("finetune+rda (middle stages)", "10", 80.0),
        row("inFT (lr 0.1)", "10", 60.0),
        row("inFT (lr 0.2)", "10", 50.0),
        row("FT", "10", 40.0),
        row("Full", "1", 0.0, last=90),
    ]
    first, others = paper_tables(rows, "toy")
    assert [line[:2] for line in first.rows] == [
        ["FT", "40.0"], ["inFT (lr 0.1)", "60.0"], ["inFT (lr 0.2)", "50.0"],
    ]  # fmt: skip
    assert others.rows == [
        ["finetune+rda (last stage)", "70.0", "-2.00"],
        ["finetune+rda (middle stages)", "80.0", "-1.00"],
    ]
