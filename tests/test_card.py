"""The model card says what the model is, and obeys nothing that a name says."""

from __future__ import annotations

import re

from hypothesis import given

from conftest import hostile_text
from folders import GRAPHS, STATE, describe_toy, save_toy
from memoryless.card import card

ABOUT = describe_toy(graph=GRAPHS[0]) | {
    "memoryless": "0.3.0",
    "classes": ["barn owl", "great tit", "wren", "crane"],
    "counts": [20, 1_200, 7, 30],
    "forgotten": None,
    "files": {"record": "", "scorer": ""},
    "ledger": {"count": 32, "mean": 1_024_000},
}


def test_it_says_what_the_model_is():
    page = card(ABOUT)
    for line in (
        "# A model of 4 classes",
        "| method | fixed+lda |",
        "| sees | 224 pixels |",
        f"| backbone | toy, SHA-256 {ABOUT['backbone']['sha256']} |",
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
    ) in card(ABOUT).splitlines()


def test_without_backbone_and_confidence():
    page = card(ABOUT | {"backbone": None, "preparation": None, "confidence": None})
    assert "| sees | no photos: it is given features |" in page
    assert "backbone" not in page
    assert "temperature" not in page


@given(hostile_text)
def test_names_do_nothing(text):
    """As many lines and cells as with a plain name, and no tag or emphasis."""
    name, plain = f"x{text}x", card(ABOUT)
    page = card(ABOUT | {"classes": [name, *ABOUT["classes"][1:]], "method": name})
    page.encode()
    lines = page.split("\n")
    assert page.splitlines() == lines[:-1]
    bare = [re.sub(r"\\[!-/:-@\[-`{-~]", "", line) for line in lines]
    assert [line.count("|") for line in bare] == [line.count("|") for line in plain.split("\n")]
    assert not [line for line in bare if re.search(r"[<>*\[\]]|\\x1b", line)]


def test_it_is_the_readme_of_the_folder(tmp_path):
    saved = save_toy(tmp_path)
    assert (tmp_path / "README.md").read_text() == card(saved.about)


def test_it_names_what_was_merged_and_what_was_added():
    states = [STATE | {"model": "north"}, STATE | {"model": "south", "more": {"wren": 5, "a|b": 9}}]
    sure = {"temperature": 2.5, "threshold": -3.0, "averaged": True}
    lines = card(ABOUT | {"states": states, "confidence": sure}).splitlines()
    assert "| state | date | new classes | photos | more photos of | learned by |" in lines
    assert "| 1 | 2026-11-16T12:00:00Z | 2 | 40 |  | north |" in lines
    assert "| 2 | 2026-11-16T12:00:00Z | 2 | 40 | wren 5, a\\|b 9 | south |" in lines
    assert "| temperature | 2.5 (the mean of the merged models', until the next learn) |" in lines


def test_it_tells_what_can_be_forgotten_and_that_something_was():
    forgotten = {"state": 3, "date": "2026-11-16T12:00:00Z"}
    lines = card(ABOUT | {"forgettable": True, "forgotten": forgotten}).splitlines()
    assert "| forgetting | exact: each class's own scatter is kept |" in lines
    assert "| forgotten | classes, last on 2026-11-16T12:00:00Z |" in lines


def test_it_says_when_the_scatter_gives_its_photos_away():
    """1,257 photos over 32,000 features; over 314 there are four for each, which tell less."""
    sentence = (
        "The scatter of 1,257 photos over 32,000 features tells whoever has this folder almost for "
        "certain whether a given photo was used; what `memoryless export` writes does not hold it."
    )
    assert sentence in card(ABOUT).splitlines()
    assert "The scatter of" not in card(ABOUT | {"ledger": {"count": 32, "mean": 8 * 4 * 314}})
    trained = {"record": "", "scorer": "", "network": ""}
    assert "The scatter of" not in card(ABOUT | {"files": trained})
