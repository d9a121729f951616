"""Pictures of a report show the numbers of its runs, in the colours of the page."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from conftest import FakeRun
from memoryless.lab import measures
from memoryless.lab.chart_style import wrapped
from memoryless.lab.comparison import comparisons
from memoryless.lab.pictures import PAPER_FIGURES, charts, paper_figures
from memoryless.lab.runs import RunFolder


@pytest.fixture(scope="module")
def comparison(finished_run):
    return comparisons([RunFolder(finished_run)])[0]


@pytest.fixture(scope="module")
def drawn(comparison):
    return charts(comparison, "c0")


def test_charts_name_their_lines_dots_and_panels(comparison, drawn):
    accuracy, kept, confusion = (picture.drawing for picture in drawn.pictures)
    assert drawn.title == "toy, 3 states"
    names = [wrapped(entry.label, 16) for entry in comparison.lines]
    assert all(f">{line}<" in accuracy for name in names for line in name.split("\n"))
    assert f">{comparison.reference.label}<" in kept
    assert all(f">{text}<" in confusion for text in ("finetune", "finetune+siw", "true state"))


def test_captions_tell_of_the_spread_of_seeds(monkeypatch):
    monkeypatch.setattr(measures, "state_confusion", lambda run, method: np.eye(2))
    runs = [FakeRun({"finetune": [90.0, 10.0 * s]}, f"f/seed-{s}", seed=s) for s in (1, 2)]
    accuracy, kept, _ = charts(comparisons(runs)[0], "c").pictures
    assert accuracy.note == "bands: ± standard deviation over seeds"
    assert kept.note.endswith("; bars: ± standard deviation over seeds")
    accuracy, kept, _ = charts(comparisons(runs[:1])[0], "c").pictures
    assert accuracy.note == ""
    assert kept.note == "of those that keep something, none lies above the steps"


def test_bytes_are_not_drawn_where_every_training_keeps_images(monkeypatch):
    monkeypatch.setattr(measures, "state_confusion", lambda run, method: np.eye(2))
    config = {"strategy": "replay"}
    (found,) = comparisons([FakeRun({"replay": [9.0, 8.0]}, config=config, memoryless=False)])
    names = [picture.caption.split()[0] for picture in charts(found, "c").pictures]
    assert names == ["Top-1", "Where"]


def test_figures_have_the_colours_of_the_page_and_ids_of_their_own(finished_run, drawn):
    """The page's style gives texts their colour and font."""
    figures = paper_figures([RunFolder(finished_run)])
    assert [picture.caption for picture in figures] == list(PAPER_FIGURES.values())
    one = "toy, 3 states: finetune, the first seed"
    each = "toy, 3 states: the first seed of each line"
    assert [picture.note for picture in figures] == [one, each, one]
    every = [*drawn.pictures, *figures]
    for picture in every:
        svg = ElementTree.fromstring(picture.drawing)
        assert (svg.get("role"), svg.get("aria-label")) == ("img", picture.caption)
        assert "var(--ink)" in picture.drawing
        assert not re.search(r"#fff|#000000|#b3b3b3|white|metadata", picture.drawing)
        size = re.findall(r"font-size: ([\d.]+)px", picture.drawing)
        width = float(re.search(r'viewBox="0 0 ([\d.]+)', picture.drawing)[1])
        assert min(map(float, size)) * 328 / width >= 11  # on a phone
    ids = [i for picture in every for i in re.findall(r' id="([^"]+)"', picture.drawing)]
    assert len(ids) == len({*ids})
