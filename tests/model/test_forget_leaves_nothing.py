"""After a class was forgotten, no file of the model holds its name or its rows, in any form."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from conftest import call
from memoryless import Model
from memoryless.model.file import load_state
from memoryless.photos.rename import rename_class
from photo_toys import make_colours, tiny_flags, tiny_settings
from remains import files_of, holders, nearest, numbers_of

SECRET = "Müller [Zoë] & sons"


def rows_of(path: Path, name: str) -> list[np.ndarray]:
    """Mean, row and spread of a class, as they are stored."""
    saved = load_state(path)
    place, record = saved.classes.names.index(name), saved.arrays["record"]
    found = [record["mean"][place], saved.arrays["scorer"]["over.W"][place]]
    if "spread" in record:
        rows = np.minimum(record["count"].astype(int) - 1, record["mean"].shape[1])
        found += [*np.split(record["spread"], np.cumsum(rows)[:-1])[place]]
    return found


def looks(seed: int, number: int = 16) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.random(48) + 0.3 * rng.random((number, 48))).astype(np.float32)


@pytest.fixture
def make(tiny_backbone) -> Callable[..., Model]:
    """A model of features that a backbone gave, of a state for each class."""

    def teach(
        *classes: str, forgettable: bool = False, folder: Path | None = None, seed: int = 0
    ) -> Model:
        model = Model(forgettable=forgettable, **tiny_settings(tiny_backbone))
        for name in classes:
            model.learn(looks(seed + len(name)), [name] * 16)
            if folder:
                model.save(folder / "m")
        return model

    return teach


def assert_left_nothing(folder: Path, capsys, *names: str) -> None:
    """Forget the first of the names; the others are names that it had before."""
    rows = rows_of(folder / "m", names[0])
    for name in names:
        assert holders(files_of(folder), name), name
    assert any(nearest(numbers_of(folder / "m.memoryless"), row) < 1e-9 for row in rows)
    code, _, err = call("forget", str(folder / "m"), names[0], capsys=capsys)
    assert (code, err) == (0, "")
    for name in names:
        assert holders(files_of(folder), name) == []
    assert min(nearest(numbers_of(folder / "m.memoryless"), row) for row in rows) > 1e-3


def test_with_photos_and_states_that_were_undone(tmp_path, monkeypatch, tiny_backbone, capsys):
    """As people do it: three states learned by the command, one undone."""
    monkeypatch.chdir(tmp_path)
    for i, names in enumerate(([SECRET, "owl"], ["elk", "cat"], ["dog", "cow"])):
        photos = make_colours(tmp_path / f"photos{i}", *names)
        flags = tiny_flags(tiny_backbone) if i == 0 else []
        assert call("learn", "model/m", str(photos), *flags, capsys=capsys)[0] == 0
    call("undo", "model/m", capsys=capsys)
    assert_left_nothing(tmp_path / "model", capsys, SECRET)
    assert Model.load("model/m").classes == ("owl", "cat", "elk")


@pytest.mark.parametrize("forgettable", [False, True])
def test_after_a_renaming_both_names_are_gone(forgettable, make, tmp_path, capsys):
    make("owl", SECRET, "elk", forgettable=forgettable, folder=tmp_path)
    rename_class(tmp_path / "m", SECRET, "Anne Elliot")
    assert_left_nothing(tmp_path, capsys, "Anne Elliot", SECRET)


@pytest.mark.parametrize("forgettable", [False, True])
def test_after_more_photos(forgettable, make, tmp_path, capsys):
    model = make("owl", SECRET, "elk", forgettable=forgettable, folder=tmp_path)
    for seed in range(2):
        model.learn(looks(50 + seed), [SECRET, "owl"] * 8, more=True)
        model.save(tmp_path / "m")
    assert_left_nothing(tmp_path, capsys, SECRET)
    learned = load_state(tmp_path / "m").classes.learned
    assert [state.more for state in learned] == [{}, {}, {}, {"owl": 8}, {"owl": 8}]
    assert [state.photos for state in learned] == [16, 0, 16, 8, 8]


@pytest.mark.parametrize("forgettable", [False, True])
def test_after_a_merge(forgettable, make, tmp_path, capsys):
    """Of a class that both models had; a state of the merged model is kept too."""
    parts = {
        "north": make("owl", SECRET, forgettable=forgettable),
        "south": make(SECRET, "elephant", forgettable=forgettable, seed=100),
    }
    whole = Model.merge(parts, same_class="join")
    whole.save(tmp_path / "m")
    whole.learn(looks(99), ["elk"] * 16)
    whole.save(tmp_path / "m")
    assert_left_nothing(tmp_path, capsys, SECRET)
    assert Model.load(tmp_path / "m").classes == ("owl", "elephant", "elk")


def test_after_going_on(make, tmp_path, capsys):
    """Neither learning, renaming nor forgetting more brings anything of it back."""
    model = make("owl", SECRET, "elk", folder=tmp_path)
    rows = rows_of(tmp_path / "m", SECRET)
    assert call("forget", str(tmp_path / "m"), SECRET, capsys=capsys)[0] == 0
    model = Model.load(tmp_path / "m")
    model.learn(looks(70), ["wren"] * 16)
    model.save(tmp_path / "m")
    rename_class(tmp_path / "m", "owl", "little owl")
    assert call("forget", str(tmp_path / "m"), "elk", capsys=capsys)[0] == 0
    assert holders(files_of(tmp_path), SECRET) == []
    assert min(nearest(numbers_of(tmp_path / "m.memoryless"), row) for row in rows) > 1e-3
