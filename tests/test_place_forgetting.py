"""A state that forgets classes: whatever fails, nothing from before it comes back."""

from __future__ import annotations

import errno
import os
import random
import shutil
from contextlib import suppress
from pathlib import Path

import pytest

from disk import Calls, Disk
from folders import content, describe_toy, draw_toy, save_toy, save_toys
from memoryless.card import card
from memoryless.errors import ConfigError, MemorylessError, WriteError
from memoryless.model_folder import (
    Saved,
    check_folder,
    kept_states,
    load_state,
    save_state,
    switch,
    writing,
)

SECRET = "bird 0003"  # the class that is forgotten
DATE = "2026-11-16T12:00:00Z"


@pytest.fixture(autouse=True)
def one_date(monkeypatch) -> None:
    monkeypatch.setattr("memoryless.model_folder.place.now", lambda: DATE)


def forget(folder: Path) -> Saved:
    """Save a state without the last class."""
    return save_state(folder, describe_toy(3), draw_toy(3), load_state(folder), forgets=True)


def begin(place: Path) -> Path:
    place.mkdir()
    save_toys(place / "model", 3)
    return place


def holders(folder: Path) -> list[str]:
    """The files that name the class."""
    return [name for name, data in content(folder).items() if SECRET.encode() in data]


def has_forgotten(folder: Path) -> bool:
    return SECRET not in load_state(folder).about["classes"]


def assert_gone(folder: Path, number: int = 3) -> None:
    """No way leads back to a state, and the next writer leaves no file that names the class."""
    with pytest.raises(ConfigError) as caught:
        switch(folder, number)
    assert str(caught.value) == (
        f"classes were forgotten in {folder} on {DATE}, and nothing before that is kept: "
        "choose from 4"
    )
    assert has_forgotten(folder)
    with writing(folder):
        pass
    assert holders(folder) == []
    assert [state.number for state in kept_states(folder)] == [4]
    assert check_folder(folder) == []


# From one call that fails to the next: one in three always, all of them in the slow tests.
STEPS = pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.fuzz)])


@STEPS
def test_after_any_call_that_fails_nothing_comes_back(step, tmp_path):
    start, seen, due, made = begin(tmp_path / "start"), set(), 0, 1
    while due <= made:
        due += step
        place = shutil.copytree(start, tmp_path / "disk")
        failed = False
        with Calls(place, due, errno.EIO).watching() as calls:
            try:
                forget(place / "model")
            except MemorylessError:
                failed = True
        made, counts = len(calls.tried), has_forgotten(place / "model")
        seen.add((counts, failed))
        if counts and not failed:
            assert holders(place / "model") == []
        if counts:
            assert_gone(place / "model", 1 + due % 3)
        else:
            switch(place / "model", 2)
        shutil.rmtree(place)
    assert seen == {(True, True), (True, False), (False, True)}


@STEPS
def test_after_a_power_cut_nothing_comes_back(step, tmp_path):
    start, rng, after = begin(tmp_path / "start"), random.Random(0), tmp_path / "after"
    place = shutil.copytree(start, tmp_path / "disk")
    with Calls(place).watching() as calls:
        forget(place / "model")
    disk, counted = Disk(start), 0
    for i, call in enumerate(calls.made):
        disk.make(call)
        disk.cut_power(after, rng)
        if i % step == 0 and has_forgotten(after / "model"):
            counted += 1
            assert_gone(after / "model", 1 + i % 3)
        shutil.rmtree(after)
    assert counted > 20 / step
    for _ in range(10):  # the command has returned
        disk.cut_power(after, rng)
        assert has_forgotten(after / "model")
        assert holders(after / "model") == []
        shutil.rmtree(after)


def interrupt(folder: Path, monkeypatch) -> None:
    """A forgetting whose state is there and does not count."""
    with monkeypatch.context() as patch, suppress(KeyboardInterrupt):

        def stop(saved: Saved) -> None:
            raise KeyboardInterrupt

        patch.setattr("memoryless.model_folder.place._point_to", stop)
        forget(folder)
    assert not has_forgotten(folder)


def test_a_forgetting_that_never_counted_is_dropped_by_the_next_save(tmp_path, monkeypatch):
    save_toys(tmp_path, 3)
    interrupt(tmp_path, monkeypatch)
    assert save_toy(tmp_path, load_state(tmp_path)).number == 5
    assert [state.number for state in kept_states(tmp_path)] == [1, 2, 3, 5]


def test_going_to_a_forgetting_that_never_counted_forgets(tmp_path, monkeypatch):
    save_toys(tmp_path / "model", 3)
    interrupt(tmp_path / "model", monkeypatch)
    switch(tmp_path / "model", 4)
    assert holders(tmp_path / "model") == []
    assert_gone(tmp_path / "model")


def test_what_was_learned_beside_it_goes_too(tmp_path, monkeypatch):
    """A state that could not be dropped when another was learned, and is gone to after all."""
    save_toys(tmp_path, 3)
    interrupt(tmp_path, monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr("memoryless.model_folder.place._drop_old", lambda *_: None)
        save_toy(tmp_path, load_state(tmp_path))
    assert [state.number for state in kept_states(tmp_path)] == [1, 2, 3, 4, 5]
    switch(tmp_path, 4)
    assert [state.number for state in kept_states(tmp_path)] == [4]
    assert holders(tmp_path) == []


def test_a_forgetting_after_an_undo_takes_what_was_undone_with_it(tmp_path):
    save_toys(tmp_path / "model", 3)
    switch(tmp_path / "model", 1)
    assert forget(tmp_path / "model").number == 4
    assert_gone(tmp_path / "model")


def test_later_states_can_be_undone_as_ever(tmp_path):
    save_toys(tmp_path, 3)
    forget(tmp_path)
    later = save_state(tmp_path, describe_toy(3), draw_toy(3, seed=7), load_state(tmp_path))
    assert later.about["forgotten"] == {"state": 4, "date": DATE}
    assert later.about["parent"]["state"] == 4
    switch(tmp_path, 4)
    switch(tmp_path, 5)
    assert [state.number for state in kept_states(tmp_path)] == [4, 5]
    again = save_state(tmp_path, describe_toy(2), draw_toy(2), load_state(tmp_path), forgets=True)
    assert again.about["forgotten"] == {"state": 6, "date": DATE}
    assert [state.number for state in kept_states(tmp_path)] == [6]


def leave_old_states(folder: Path, monkeypatch) -> None:
    """A forgetting that counts, stopped before anything was deleted."""
    save_toys(folder, 3)
    with monkeypatch.context() as patch:
        patch.setattr("memoryless.model_folder.place._finish_forgetting", lambda saved: None)
        patch.setattr("memoryless.model_folder.place._drop_old", lambda *_: None)
        forget(folder)


def test_a_damaged_pointer_opens_no_way_back(tmp_path, monkeypatch):
    leave_old_states(tmp_path, monkeypatch)
    (tmp_path / "CURRENT").write_text("damaged")
    with pytest.raises(ConfigError) as caught:
        switch(tmp_path, 3)
    assert str(caught.value) == (
        f"classes were forgotten in {tmp_path} on {DATE}, and nothing before that is kept: "
        "choose 4 or a later state"
    )
    switch(tmp_path, 4)
    assert holders(tmp_path) == []


def test_damaged_states_from_before_go_too(tmp_path, monkeypatch):
    leave_old_states(tmp_path / "model", monkeypatch)
    (tmp_path / "model/states/0002/model.json").write_text(f"damaged {SECRET}")
    assert_gone(tmp_path / "model")


def test_a_card_from_before_is_written_anew(tmp_path):
    save_toys(tmp_path, 1)
    card_before = (tmp_path / "README.md").read_bytes()
    saved = forget(tmp_path)
    (tmp_path / "README.md").write_bytes(card_before)
    with writing(tmp_path):
        pass
    assert (tmp_path / "README.md").read_text() == card(saved.about)


def test_old_states_that_cannot_be_deleted_are_told(tmp_path, monkeypatch):
    save_toys(tmp_path, 2)

    def fail(path: Path) -> None:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))

    with monkeypatch.context() as patch:
        patch.setattr("memoryless.model_folder.place._remove", fail)
        for action in (forget, forget, save_toy):
            with pytest.raises(WriteError) as caught:
                action(tmp_path)
            assert str(caught.value) == (
                f"classes are forgotten, but {tmp_path}/states still holds states from before, "
                "which cannot be deleted (Device or resource busy): mend that, and the next "
                "command that changes the model deletes them"
            )
            assert has_forgotten(tmp_path)
    with writing(tmp_path):
        pass
    assert holders(tmp_path) == []


def test_an_interrupted_first_save_of_a_model_that_forgot_is_no_loss(tmp_path, monkeypatch):
    with monkeypatch.context() as patch, suppress(KeyboardInterrupt):

        def stop(saved: Saved) -> None:
            raise KeyboardInterrupt

        patch.setattr("memoryless.model_folder.place._point_to", stop)
        save_toy(tmp_path, forgets=True)
    assert [path.name for path in (tmp_path / "states").iterdir()] == ["0001"]
    assert save_toy(tmp_path).number == 2
