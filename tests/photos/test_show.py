"""memoryless show: what a model knows and keeps, for people, for programs, and as a card."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from conftest import call, hostile_text
from databases import edit
from memoryless import Model
from memoryless.model.classes import Classes, Learned
from memoryless.model.description import Description
from memoryless.model.file import load_state, writing
from memoryless.photos.kept import privacy
from memoryless.photos.show import card, local_time, overview
from memoryless.stats.confidence import Confidence
from photo_toys import make_colours, tiny_flags, tiny_settings
from state_toys import DATE, STATE, described, known

FEATURES = np.random.default_rng(0).random((24, 48)).astype(np.float32)


@pytest.fixture
def folder(tmp_path, tiny_backbone) -> Path:
    """A model after two states."""
    model = Model(**tiny_settings(tiny_backbone))
    for names in (["cat", "dog"], ["owl"]):
        model.learn(FEATURES[:20], names * (20 // len(names)))
        model.save(tmp_path / "model")
    return tmp_path / "model.memoryless"


def test_an_overview_has_everything(folder):
    found = overview(folder)
    assert (found["number"], found["method"], found["seed"]) == (2, "fixed+lda", 0)
    assert found["classes"] == [
        {"class": "cat", "photos": 10, "state": 1},
        {"class": "dog", "photos": 10, "state": 1},
        {"class": "owl", "photos": 20, "state": 2},
    ]
    states = [(s["state"], s["photos"], len(s["classes"]), s["more"]) for s in found["states"]]
    assert states == [(1, 20, 2, []), (2, 20, 1, [])]
    assert found["states"][1]["classes"] == [{"class": "owl", "photos": 20}]
    assert found["preparation"]["size"] == 16
    assert found["record"]["mean"] == 3 * 48 * 8
    assert found["confidence"]["temperature"] > 0
    assert found["calibrated"] is None


def test_what_each_of_many_states_brought(tmp_path):
    """No state looks at the classes of all others: that would be 900 million."""
    names, date = [f"class {i}" for i in range(30_000)], "2026-01-01T00:00:00Z"
    states = tuple(Learned(date=date, photos=5) for _ in names)
    classes = Classes(tuple(names), (5,) * len(names), tuple(range(len(names))), states)
    about = Description(memoryless="0", method="fixed+lda", seed=0, labels="str", history=5,
                        learned=states)  # fmt: skip
    with writing(tmp_path / "many") as writer:
        writer.save("learn", about, classes, dict.fromkeys(("record", "scorer"), b""))
    began = time.perf_counter()
    last = overview(tmp_path / "many")["states"][-1]
    assert last["classes"] == [{"class": "class 29999", "photos": 5}]
    assert time.perf_counter() - began < 15


@pytest.fixture
def taught(tmp_path, tiny_backbone, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    make_colours(Path("first"), "cat", "dog")
    make_colours(Path("second"), "owl", number=20)
    call("learn", "model", "first", *tiny_flags(tiny_backbone), capsys=capsys)
    assert call("learn", "model", "second", capsys=capsys)[0] == 0


def test_for_people(taught, capsys):
    code, out, _ = call("show", "model", capsys=capsys)
    assert code == 0
    assert "cat 12, dog 12" in out
    assert "owl 20" in out
    more = call("show", "model", "--explain", capsys=capsys)[1]
    assert len(more) > len(out)
    assert "scatter 9.4 kB" in " ".join(more.split())


@pytest.mark.parametrize(("zone", "shown"), [("UTC", "12:00"), ("Asia/Tokyo", "21:00")])
def test_dates_are_in_local_time(zone, shown, monkeypatch):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    assert local_time("2026-01-01T12:00:00Z") == f"2026-01-01 {shown}"
    monkeypatch.undo()
    time.tzset()


def test_of_many_classes_ten_are_named(tmp_path, tiny_backbone, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = [f"class {i:02}" for i in range(12)]
    make_colours(Path("photos"), *names, number=5)
    call("learn", "model", "photos", *tiny_flags(tiny_backbone), capsys=capsys)
    out = call("show", "model", capsys=capsys)[1]
    assert "class 09 5 and 2 more" in " ".join(out.split())
    found = json.loads(call("show", "model", "--json", capsys=capsys)[1])
    assert [c["class"] for c in found["classes"]] == names


def test_more_photos_are_shown_with_the_state_that_brought_them(taught, capsys):
    make_colours(Path("third"), "cat", number=20, seed=1)
    make_colours(Path("fourth"), "cat", "elk", number=20, seed=2)
    for place in ("third", "fourth"):
        assert call("learn", "model", place, "--more", capsys=capsys)[0] == 0
    states = overview(Path("model"))["states"]
    assert [[of["class"] for of in state["more"]] for state in states] == [[], [], ["cat"], ["cat"]]
    out = call("show", "model", capsys=capsys)[1]
    assert "1 class: elk 20; more photos of cat 20" in out


def test_merged_and_forgetting_models(tmp_path, capsys):
    parts = {}
    features = np.random.default_rng(0).random((24, 5))
    for i, name in enumerate(("north", "south")):
        parts[name] = Model(backbone="none", forgettable=True)
        parts[name].learn(features + i, [f"cat {name}", f"dog {name}"] * 12)
    model = Model.merge(parts)
    model.forget("cat south", "dog south")
    model.save(tmp_path / "model")
    found = overview(tmp_path / "model")
    assert found["forgettable"]
    assert found["forgotten"]
    assert [(state["model"], len(state["classes"])) for state in found["states"]] == [
        ("north", 2), ("south", 0),
    ]  # fmt: skip
    assert call("show", str(tmp_path / "model"), capsys=capsys)[0] == 0


def test_a_damaged_earlier_state_is_reported(taught, capsys):
    edit(Path("model.memoryless"), "UPDATE state SET date = 'x' WHERE number = 1")
    code, _, err = call("show", "model", capsys=capsys)
    assert code == 0
    assert err == (
        "state 1 of model.memoryless is damaged (its digest differs): restore it from a copy\n"
    )


def test_a_card_in_markdown(taught, capsys):
    code, out, _ = call("show", "model", "--markdown", capsys=capsys)
    assert code == 0
    assert out == card(load_state("model"))
    assert "| owl | 20 | 2 |" in out.splitlines()


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
        *privacy(STATE),
    ):
        assert line in page.splitlines(), line
    assert "by memoryless 0.3.0" in page


def test_without_backbone_and_confidence():
    page = card(described(backbone=None, preparation=None, confidence=None))
    assert "| sees | no photos: it takes features |" in page
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
    sure = Confidence(temperature=2.5, threshold=-3.0)
    assert "| temperature | 2.5 |" in card(described(confidence=sure)).splitlines()


def test_it_tells_what_can_be_forgotten_and_that_something_was():
    lines = card(described(forgettable=True, forgotten=DATE)).splitlines()
    assert "| forgetting | exact: each class's own scatter is kept |" in lines
    assert "| forgotten | classes, last on 2026-11-16T12:00:00Z |" in lines
