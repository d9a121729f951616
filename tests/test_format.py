"""What the description of a model must hold: every leaf is checked, other formats are refused."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from folders import GRAPHS, STATE, save_toy
from memoryless.errors import StoreError
from memoryless.model_folder import ABOUT, FORMAT, load_state
from memoryless.store import write_json

ODD = [None, -1, 0.5, 10**30, "x", [], {}, [1], [[]], True, float(10**30)]
# What each key may hold, of these.
SOUND = {
    "memoryless": ["x"],
    "seed": [-1],
    "parent": [None],
    "forgotten": [None],
    "scorer": [{}],
    "settings": [{}],
    "ledger": [{}],
}


def spoil(folder: Path, change: dict[str, Any]) -> None:
    """Change what model.json says, with every checksum made right again."""
    file = folder / "states" / "0001" / "model.json"
    about = json.loads(file.read_text()) | change
    del about["sha256"]
    write_json(file, about, bound="0001")
    (folder / "CURRENT").write_text(f"0001 {hashlib.sha256(file.read_bytes()).hexdigest()}\n")


@pytest.fixture
def folder(tmp_path) -> Path:
    save_toy(tmp_path, graph=GRAPHS[0])
    return tmp_path


def error(folder: Path) -> str:
    with pytest.raises(StoreError) as caught:
        load_state(folder)
    file = folder / "states" / "0001" / "model.json"
    assert str(caught.value).startswith(f"{file}: ")
    return str(caught.value).removeprefix(f"{file}: ").removesuffix(": restore it from a copy")


@pytest.mark.parametrize("key", ABOUT)
def test_every_key_is_checked(folder, key):
    for value in ODD:
        if repr(value) not in map(repr, SOUND.get(key, [])):
            spoil(folder, {key: value})
            with pytest.raises(StoreError, match=f"{key}|cannot read|channels|preparation"):
                load_state(folder)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"classes": ["a", "a", "b", "c"]}, "classes must be named, each once"),
        ({"classes": ["a", "", "b", "c"]}, "classes must be named, each once"),
        ({"counts": [20] * 3}, "counts must have 4 entries, one a class"),
        ({"counts": [20, 20, 20, 0]}, "counts[3] is 0, not a whole number from 1"),
        ({"class_state": [0, 0, 1, 2]}, "class_state names a state that states does not have"),
        ({"parent": {"state": 1, "sha256": "0" * 64}}, "parent.state must be below 1"),
        (
            {"confidence": {"temperature": 0, "threshold": 1, "averaged": True}},
            "confidence.temperature must be above 0",
        ),
        ({"method": "inFT_siw"}, "the method 'inFT_siw' and the files record, scorer do not fit"),
        (
            {"confidence": None},
            "confidence is null, which it can only be where features are trained",
        ),
        ({"date": "16 November"}, "'16 November' is no date"),
        ({"preparation": None}, "preparation is null, not an object"),
        (
            {"forgettable": True},
            "forgettable and ledger do not fit: what can be forgotten has a spread",
        ),
        ({"labels": "bytes"}, "labels must be one of str, int, float, bool"),
        (
            {"forgotten": {"state": 2, "date": "2026-11-16T12:00:00Z"}},
            "forgotten.state must not be above 1",
        ),
        ({"forgotten": {"state": 1, "date": "today"}}, "'today' is no date"),
        (
            {"states": [STATE, STATE | {"more": {"bird 0000": 20}}]},
            "states tell of 20 more photos of 'bird 0000', and counts do not",
        ),
        (
            {"states": [STATE, STATE | {"more": {"crow": 2}}]},
            "states tell of 2 more photos of 'crow', and counts do not",
        ),
        ({"more": 1}, "it has 'more', which does not belong there"),
        ({"settings": {"width": "x"}}, "settings: width must be a whole number, not 'x'"),
        ({"settings": {"speed": 1}}, "settings: 'speed' is no setting"),
    ],
)
def test_what_is_wrong_is_said(folder, change, problem):
    about = load_state(folder).about
    if "settings" in change:
        settings = about["settings"] | change["settings"]
        change = {"settings": {name: value for name, value in settings.items() if value != ...}}
    spoil(folder, change)
    assert error(folder) == problem


PHOTOS = {"size": 224, "crop": 0.875, "mean": [127.0] * 3, "std": [128.0] * 3}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"size": 0}, "preparation.size is 0, not a whole number from 1"),
        ({"crop": 1.5}, "preparation.crop is 1.5, not a number from 0 to 1"),
        ({"crop": 0}, "preparation.mean must have three numbers, and preparation.crop be above 0"),
        ({"std": [1.0, 1.0, 0.0]}, "preparation.std must be above 0"),
        (
            {"std": [1.0]},
            "preparation.mean and preparation.std must have as many numbers as channels, 1 to 3",
        ),
        (
            {"mean": [1.0], "std": [1.0]},
            "preparation.mean must have three numbers, and preparation.crop be above 0",
        ),
        ({"augment": []}, "preparation has 'augment', which does not belong there"),
    ],
)
def test_the_preparation_of_photos_is_checked(folder, change, problem):
    spoil(folder, {"preparation": PHOTOS | change})
    assert error(folder) == problem


@pytest.mark.parametrize(
    ("number", "fix"),
    [
        (FORMAT + 1, "install memoryless 9.1 or newer"),
        (FORMAT - 1, "install memoryless 9.1 to use it, or teach a new model"),
    ],
)
def test_another_format_is_refused_with_the_version_that_reads_it(folder, number, fix):
    """Whatever else it holds."""
    file = folder / "states" / "0001" / "model.json"
    spoil(folder, {"format": number, "memoryless": "9.1", "new": [], "classes": {}})
    for action in (load_state, save_toy):
        with pytest.raises(StoreError) as caught:
            action(folder)
        assert str(caught.value) == (
            f"{file} was written by memoryless 9.1, which this version cannot read: {fix}"
        )
