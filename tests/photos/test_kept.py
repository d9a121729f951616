"""Sentences on privacy, from the data that a state stores."""

from __future__ import annotations

from dataclasses import replace

from msgspec import structs

from memoryless.model.classes import Classes
from memoryless.model.description import Training
from memoryless.photos.kept import privacy, privacy_line
from state_toys import STATE, described, known


def test_the_honest_sentence_stands_word_for_word():
    assert (
        "Keeps no photo, thumbnail, file name or per-photo feature. Keeps averages; averages over "
        "few photos can reveal whether a photo was used; smallest class: 7 photos. Not anonymous "
        "unless you show it: `memoryless audit`."
    ) in privacy(STATE)


def test_a_single_photo_has_another_sentence():
    told = privacy(known(counts=(20, 1, 7, 30)))[0]
    assert "great tit had a single photo, and the average of one photo is its feature" in told
    assert "per-photo feature" not in told


def test_it_says_when_the_scatter_gives_its_photos_away():
    """1,257 photos over 32,000 features; over 314 there are four for each, which reveal less."""
    begin = "The scatter of 1,257 photos over 32,000 features shows anyone"
    assert privacy(STATE)[1].startswith(begin)
    for state in (
        described(record={"count": 32, "mean": 8 * 4 * 314}),
        described(train=Training(settings={})),
    ):
        assert privacy(state) == privacy(STATE)[:1]


def test_nothing_is_said_of_a_model_without_classes():
    assert privacy(known(names=(), counts=())) == []


def test_two_photos_whose_scatter_is_kept_have_another_sentence():
    """Of their class; or of all classes, where no other has more than one photo."""
    state = known(counts=(20, 2, 7, 30))
    for parts, sentence in (
        ({"scatter": 8}, "smallest class: 2 photos"),
        ({"scatter": 8, "spread": 8}, "great tit had two photos, and both"),
        ({"widened.own": 8}, "great tit had two photos, and both"),
    ):
        about = structs.replace(state.description, record=state.description.record | parts)
        assert sentence in privacy(replace(state, description=about))[0]
    about = structs.replace(state.description, record={"mean": 8, "scatter": 8})
    pair = replace(state, description=about, classes=Classes(("owl",), (2,), (0,)))
    assert "owl had two photos, and both" in privacy(pair)[0]


def test_one_line_for_each_case():
    few = known(counts=(20, 1, 7, 30))
    many = described(record={"count": 32, "mean": 8 * 4 * 314})
    lines = {privacy_line(state) for state in (STATE, few, many)}
    assert len(lines) == 3
    assert "great tit" in privacy_line(few)
    assert "7 photos" in privacy_line(many)
