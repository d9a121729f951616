"""The model card says what the model is, and obeys nothing that a name says."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import given
from msgspec import structs

from conftest import hostile_text
from memoryless.model.card import card
from memoryless.model.classes import Classes, Learned
from memoryless.model.description import (
    Backbone,
    Confidence,
    Description,
    Preparation,
    Training,
)
from memoryless.model.file import State

DATE = "2026-11-16T12:00:00Z"
STATE = State(
    path=Path("toy"),
    number=2,
    parent=1,
    date=DATE,
    done="learn",
    description=Description(
        memoryless="0.3.0",
        method="fixed+lda",
        seed=0,
        labels="str",
        history=5,
        backbone=Backbone(name="toy", sha256="ab" * 32),
        preparation=Preparation(size=224, crop=1.0, mean=(0.0,) * 3, std=(1.0,) * 3),
        confidence=Confidence(temperature=2.5, threshold=-3.0),
        record={"count": 32, "mean": 1_024_000},
    ),
    classes=Classes(
        names=("barn owl", "great tit", "wren", "crane"),
        counts=(20, 1_200, 7, 30),
        first=(0, 0, 1, 1),
        learned=(Learned(date=DATE, photos=40), Learned(date=DATE, photos=37)),
    ),
    parts={},
    digest="",
)


def told(**change: Any) -> State:
    """The state, with something else in its description."""
    return replace(STATE, description=structs.replace(STATE.description, **change))


def known(**change: Any) -> State:
    """The state, with something else in its classes."""
    return replace(STATE, classes=replace(STATE.classes, **change))


def test_it_says_what_the_model_is():
    page = card(STATE)
    for line in (
        "# A model of 4 classes",
        "| method | fixed+lda |",
        "| sees | 224 pixels |",
        f"| backbone | toy, SHA-256 {'ab' * 32} |",
        "| temperature | 2.5 |",
        "| 1 | 2026-11-16T12:00:00Z | 2 | 40 |",
        "| great tit | 1,200 | 1 |",
        "| mean | 1,024,000 |",
        "| all | 1,024,032 |",
        "$ memoryless predict MODEL photo.jpg",
    ):
        assert line in page.splitlines(), line
    assert "by memoryless 0.3.0" in page


def test_the_honest_sentence_stands_word_for_word():
    assert (
        "Keeps no photo, thumbnail, file name or per-photo feature. Keeps averages; averages over "
        "few photos can reveal whether a photo was used; smallest class: 7 photos. Not anonymous "
        "unless you show it: `memoryless audit`."
    ) in card(STATE).splitlines()


def test_without_backbone_and_confidence():
    page = card(told(backbone=None, preparation=None, confidence=None))
    assert "| sees | no photos: it is given features |" in page
    assert "backbone" not in page
    assert "temperature" not in page


@given(hostile_text)
def test_names_do_nothing(text):
    """As many lines and cells as with a plain name, and no tag or emphasis."""
    name, plain = f"x{text}x", card(STATE)
    page = card(known(names=(name, *STATE.classes.names[1:])))
    page.encode()
    lines = page.split("\n")
    assert page.splitlines() == lines[:-1]
    bare = [re.sub(r"\\[!-/:-@\[-`{-~]", "", line) for line in lines]
    assert [line.count("|") for line in bare] == [line.count("|") for line in plain.split("\n")]
    assert not [line for line in bare if re.search(r"[<>*\[\]]|\\x1b", line)]


def test_it_names_what_was_merged_and_what_was_added():
    states = (
        Learned(date=DATE, photos=40, model="north"),
        Learned(date=DATE, photos=40, model="south", more={"wren": 5, "a|b": 9}),
    )
    lines = card(known(learned=states)).splitlines()
    assert "| state | date | new classes | photos | more photos of | learned by |" in lines
    assert f"| 1 | {DATE} | 2 | 40 |  | north |" in lines
    assert f"| 2 | {DATE} | 2 | 40 | wren 5, a\\|b 9 | south |" in lines
    sure = Confidence(temperature=2.5, threshold=-3.0, averaged=True)
    line = "| temperature | 2.5 (the mean of the merged models', until the next learn) |"
    assert line in card(told(confidence=sure)).splitlines()


def test_a_single_photo_has_another_sentence():
    page = card(known(counts=(20, 1, 7, 30)))
    assert "great tit had a single photo, and the average of one photo is its feature" in page
    assert "per-photo feature" not in page


def test_it_tells_what_can_be_forgotten_and_that_something_was():
    lines = card(told(forgettable=True, forgotten=DATE)).splitlines()
    assert "| forgetting | exact: each class's own scatter is kept |" in lines
    assert "| forgotten | classes, last on 2026-11-16T12:00:00Z |" in lines


def test_it_says_when_the_scatter_gives_its_photos_away():
    """1,257 photos over 32,000 features; over 314 there are four for each, which tell less."""
    sentence = (
        "The scatter of 1,257 photos over 32,000 features tells whoever has this file almost for "
        "certain whether a given photo was used; the ONNX file that `memoryless export` writes "
        "does not hold it."
    )
    assert sentence in card(STATE).splitlines()
    assert "The scatter of" not in card(told(record={"count": 32, "mean": 8 * 4 * 314}))
    assert "The scatter of" not in card(told(train=Training(settings={})))
