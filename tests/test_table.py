"""Accuracy tables of summary rows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conftest import FakeRun
from memoryless.lab.analysis.summary import summarise
from memoryless.lab.analysis.table import COLUMNS, grids, stream_name
from memoryless.lab.experiment import run
from memoryless.lab.runs import RunFolder

VALUES = {"FT": [80.0, 60.0, 40.0]}


def test_one_state_is_one(tiny, toy):
    (grid,) = grids(summarise([RunFolder(run(replace(tiny, states="1"), toy)[0])]))
    assert "toy, 1 state, order natural" in grid.title


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
    assert grid.rows == [["FT", "50.0", "25.0", "40.0", "20.0", "30.0", "300"]]
    assert grid.caption == (
        "chance: top-1 20.8, top-5 91.7; bytes kept: what the method itself needs; the run kept "
        "950 for all methods together"
    )


def test_what_keeps_images_says_so():
    (grid,) = grids(summarise([FakeRun(VALUES, memoryless=False)]))
    assert grid.rows[0][-1] == "images"
    assert grid.caption.endswith("; images of the past are kept")
