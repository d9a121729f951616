"""Accuracy tables of summary rows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conftest import FakeRun
from memoryless.lab.analysis.side_by_side import comparisons
from memoryless.lab.analysis.summary import summarise
from memoryless.lab.analysis.table import COLUMNS, first_grids, grids, stream_name
from memoryless.lab.experiment import run
from memoryless.lab.runs import RunFolder

VALUES = {"FT": [80.0, 60.0, 40.0]}


def test_one_state_is_one(tiny, toy):
    (grid,) = grids(summarise([RunFolder(run(replace(tiny, states="1"), toy)[0])]))
    assert "toy, 1 state, order natural" in grid.title
    assert grid.columns == ["method", "top-1", "top-5", "kept"]
    assert all(float(cell) >= 0 for row in grid.rows for cell in row[1:3])


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({}, "finetune, 1 seed"),
        ({"statistics": "full"}, "finetune, statistics of last stage, 1 seed"),
        (
            {"statistics": "full", "level": "middle", "square_roots": True},
            "finetune, statistics of middle stages, roots, 1 seed",
        ),
    ],
)
def test_names_of_streams_tell_statistics_apart(config, words):
    (row,) = summarise([FakeRun(VALUES, config=config)])
    assert stream_name(row) == f"toy, 3 states, order natural, {words}"


def test_top1_stands_first_and_bytes_are_explained():
    (grid,) = grids(summarise([FakeRun(VALUES)]))
    assert list(COLUMNS)[:3] == ["method", "top-1", "top-5"]
    assert grid.rows == [["FT", "50.0", "25.0", "30.0", "300 bytes", "40.0", "20.0"]]
    assert grid.caption == (
        "percent, average over states 1 and later; chance: top-1 20.8, top-5 91.7; kept: what the "
        "method itself needs of the past; the run kept 950 bytes for all methods together"
    )


def test_what_keeps_images_says_so():
    (grid,) = grids(summarise([FakeRun(VALUES, memoryless=False)]))
    assert grid.rows[0][4] == "images"
    assert grid.caption.endswith("; images of the past are kept")


MIDDLE = {"statistics": "full", "level": "middle", "square_roots": True}


def test_the_first_table_has_few_methods_beside_control_chance_and_full():
    values = {"FT": [90.0, 20.0], "inFT_mc": [90.0, 30.0], "finetune+rda+widened": [90.0, 60.0]}
    control = {"untrained": [9.0, 4.0], "untrained+lda": [60.0, 50.0]}
    runs = [
        FakeRun(values, config=MIDDLE),
        FakeRun(control, "b/s", config=MIDDLE | {"strategy": "untrained"}),
        FakeRun({"Full": [80.0]}, "c/s", config={"strategy": "joint"}, memoryless=False,
                classes=["a"] * 4),
    ]  # fmt: skip
    (grid,) = first_grids(comparisons(runs))
    assert grid.title == "toy, 2 states"
    assert grid.rows == [
        ["finetune+rda+widened", "60.0", "30.0", "30.0", "200 bytes", "60.0", "30.0"],
        ["untrained+lda", "50.0", "25.0", "10.0", "200 bytes", "50.0", "25.0"],
        ["FT", "20.0", "10.0", "70.0", "200 bytes", "20.0", "10.0"],
        ["chance", "25.0", "100.0", "", "", "", ""],
        ["Full", "", "", "", "images", "80.0", "40.0"],
    ]
    assert grid.caption == (
        "percent, average over states 1 and later; finetune+rda+widened is recommended, whatever "
        "it reaches here; untrained+lda is the control, a network that never learned; Full learned "
        "all classes at once, and is not memoryless; kept: what the method itself needs of the "
        "past; --all shows 2 more"
    )
    assert [entry["method"] for entry in grid.entries] == [row[0] for row in grid.rows[:3]]


def test_the_first_table_says_what_keeps_images():
    replay = FakeRun({"replay": [9.0, 8.0]}, config={"strategy": "replay"}, memoryless=False)
    (grid,) = first_grids(comparisons([replay]))
    assert "replay: not memoryless, images of the past are kept" in grid.caption
    assert "--all" not in grid.caption
