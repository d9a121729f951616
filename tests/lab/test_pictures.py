"""Pictures of a report show the numbers of its runs, in the colours of the page."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np

from conftest import FakeRun
from memoryless.lab import measures
from memoryless.lab.charts import FIGURES
from memoryless.lab.comparison import comparisons
from memoryless.lab.pictures import BY_STREAM, CAPTIONS, OF_THE_PAPER, pictures
from memoryless.lab.runs import RunFolder


def test_pictures_have_the_names_and_colours_of_the_page_and_ids_of_their_own(finished_run):
    """The page's style gives texts their colour and font."""
    (comparison,) = comparisons([RunFolder(finished_run)])
    every = [*pictures(comparison, BY_STREAM, "c0"), *pictures(comparison, OF_THE_PAPER, "paper")]
    assert [picture.caption for picture in every] == list(CAPTIONS.values())
    assert CAPTIONS.keys() == FIGURES.keys()
    accuracy, kept, confusion = (picture.drawing for picture in every[:3])
    assert all(f">{entry.label}<" in accuracy for entry in comparison.lines)
    assert f">{comparison.reference.label}<" in kept
    assert all(f">{text}<" in confusion for text in ("finetune", "finetune+siw", "true state"))
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


def test_bytes_are_not_drawn_where_every_training_keeps_images(monkeypatch):
    monkeypatch.setattr(measures, "state_confusion", lambda run, method: np.eye(2))
    config = {"strategy": "replay"}
    (found,) = comparisons([FakeRun({"replay": [9.0, 8.0]}, config=config, memoryless=False)])
    drawn = pictures(found, BY_STREAM, "c")
    assert [picture.caption for picture in drawn] == [CAPTIONS["accuracy"], CAPTIONS["confusion"]]
