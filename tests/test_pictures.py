"""Pictures of a report show the numbers of its runs, in the colours of the page."""

from __future__ import annotations

import re

import numpy as np
import pytest

from conftest import FakeRun
from memoryless.lab.analysis import measures
from memoryless.lab.analysis.comparison import comparisons
from memoryless.lab.report import pictures
from memoryless.lab.report.pictures import PAPER_FIGURES, charts, confusions, paper_figures
from memoryless.lab.runs import RunFolder


@pytest.fixture(scope="module")
def comparison(finished_run):
    return comparisons([RunFolder(finished_run)])[0]


def test_charts_have_lines_dots_and_confusions(comparison):
    shown = charts(comparison)
    accuracy, kept = (picture.drawing for picture in shown.pictures)
    assert shown.title == "toy, 3 states"
    for entry in comparison.lines:
        values = entry.training.by_state(entry.row.method)
        for t, value in enumerate(values):
            assert f"<title>{entry.label}, state {t}: {value:.1f} %</title>" in accuracy
    for entry in comparison.entries:
        assert f"<title>{entry.label}, " in kept
    assert "<title>finetune, nothing kept: " in kept
    assert [one.method for one in shown.confusions] == ["finetune", "finetune+siw"]


def test_captions_tell_of_the_spread_of_seeds(monkeypatch):
    monkeypatch.setattr(pictures, "confusions", lambda comparison: [])
    runs = [FakeRun({"finetune": [90.0, 10.0 * s]}, f"f/seed-{s}", seed=s) for s in (1, 2)]
    accuracy, kept = charts(comparisons(runs)[0]).pictures
    assert accuracy.note == "bands: ± standard deviation over seeds"
    assert kept.note.endswith("; bars: ± standard deviation over seeds")
    assert "<polygon" in accuracy.drawing
    accuracy, kept = charts(comparisons(runs[:1])[0]).pictures
    assert accuracy.note == ""
    assert kept.note == "of those that keep something, none lies above the steps"
    assert "<polygon" not in accuracy.drawing


def test_bytes_are_not_drawn_where_every_training_keeps_images(monkeypatch):
    monkeypatch.setattr(pictures, "confusions", lambda comparison: [])
    config = {"strategy": "replay"}
    (found,) = comparisons([FakeRun({"replay": [9.0, 8.0]}, config=config, memoryless=False)])
    assert [picture.caption[:14] for picture in charts(found).pictures] == ["Top-1 accuracy"]


def test_confusions_have_a_number_in_every_cell(comparison):
    for shown in confusions(comparison):
        percent = measures.state_confusion(comparison.main.runs[0], shown.method)
        assert shown.states == ["0", "1", "2"]
        assert shown.run == "seed 0"
        assert np.abs(np.array(shown.cells) - percent).max() <= 0.5


def test_confusions_of_many_states_are_coarser(comparison, monkeypatch):
    monkeypatch.setattr(pictures, "state_confusion", lambda run, method: 100 * np.eye(26))
    shown = confusions(comparison)[0]
    assert (shown.states[0], shown.states[-1]) == ("0-2", "24-25")
    assert shown.cells[0] == [100, *[0] * 8]


def test_the_papers_figures_have_the_colours_of_the_page(finished_run):
    drawn = paper_figures([RunFolder(finished_run)])
    assert [picture.caption for picture in drawn] == list(PAPER_FIGURES.values())
    one, each = (
        "toy, 3 states: finetune, the first seed",
        "toy, 3 states: the first seed of each line",
    )
    assert [picture.note for picture in drawn] == [one, each, one]
    for picture in drawn:
        assert not re.search(r"#fff|#000000|white", picture.drawing)
        texts = re.findall(r"<text[^>]*>", picture.drawing)
        assert texts
        assert all("fill: var(--ink)" in text for text in texts)
        size = re.findall(r"font-size: ([\d.]+)px", picture.drawing)
        width = float(re.search(r'viewBox="0 0 ([\d.]+)', picture.drawing)[1])
        assert min(map(float, size)) * 328 / width >= 11  # on a phone
    ids = [i for picture in drawn for i in re.findall(r' id="([^"]+)"', picture.drawing)]
    assert len(ids) == len({*ids})
