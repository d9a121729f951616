"""Saving and switching: after any failure or power cut there is the state before or after."""

from __future__ import annotations

import errno
import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from disk import Calls, Disk
from folders import GRAPHS, content, describe_toy, draw_toy, save_toy, save_toys
from memoryless.errors import MemorylessError, StoreError, WriteError
from memoryless.model_folder import (
    check_folder,
    kept_states,
    load_state,
    save_state,
    switch,
    writing,
)
from memoryless.model_folder.saved import has_lost_current

Action = Callable[[Path], object]


def save_next(folder: Path) -> object:
    return save_toy(folder, load_state(folder), seed=9, graph=GRAPHS[0])


def save_and_drop(folder: Path) -> object:
    """A state after which only one earlier is kept, and no backbone of those before."""
    return save_toy(folder, load_state(folder), seed=9, graph=GRAPHS[1], history=0)


def save_and_forget(folder: Path) -> object:
    return save_toy(folder, load_state(folder), seed=9, graph=GRAPHS[0], forgets=True)


SITUATIONS: dict[str, tuple[int, Action]] = {
    "first": (0, lambda folder: save_toy(folder, seed=9, graph=GRAPHS[0])),
    "next": (2, save_next),
    "dropping": (3, save_and_drop),
    "back": (3, lambda folder: switch(folder, 1)),
    "forgetting": (3, save_and_forget),
    "first, forgetting": (0, lambda folder: save_toy(folder, graph=GRAPHS[0], forgets=True)),
}


def begin(place: Path, states: int) -> Path:
    place.mkdir(parents=True)
    if states:
        save_toys(place / "model", states, graph=GRAPHS[0])
    return place


def identity(folder: Path) -> str | None:
    """That of the state which counts, after every file was checked; None without one."""
    if not (folder / "CURRENT").exists():
        assert not has_lost_current(folder)
        return None
    assert [p for p in check_folder(folder) if not p.startswith("note: ")] == []
    saved = load_state(folder)
    assert saved.graph() in GRAPHS
    return saved.identity


def outcomes(start: Path, action: Action, tmp_path: Path, monkeypatch) -> list[str | None]:
    """What counts before an action and after it; dates do not change from here on."""
    monkeypatch.setattr("memoryless.model_folder.place.now", lambda: "2026-11-16T12:00:00Z")
    done = shutil.copytree(start, tmp_path / "done")
    before = identity(done / "model")
    action(done / "model")
    return [before, identity(done / "model")]


def go_on(folder: Path) -> None:
    """The next save works, and removes what was left."""
    before = load_state(folder) if (folder / "CURRENT").exists() else None
    with Calls(folder).watching():
        saved = save_toy(folder, before, seed=10, graph=GRAPHS[0])
    assert identity(folder) == saved.identity
    assert check_folder(folder) == []


# From one call that fails to the next: one in seven always, all of them in the fuzz tests.
STEPS = pytest.mark.parametrize("step", [13, pytest.param(1, marks=pytest.mark.fuzz)])


@STEPS
@pytest.mark.parametrize("situation", SITUATIONS)
def test_every_call_that_fails_leaves_the_state_before_or_after(
    situation, step, tmp_path, monkeypatch
):
    states, action = SITUATIONS[situation]
    start = begin(tmp_path / "start", states)
    expected, seen = outcomes(start, action, tmp_path, monkeypatch), set()
    due, made = errno.EIO % step, step
    while due <= made:
        due += step
        place = shutil.copytree(start, tmp_path / "disk")
        with Calls(place, due, errno.EIO).watching() as calls, suppress(MemorylessError):
            action(place / "model")
        made = len(calls.tried)
        seen.add(found := identity(place / "model"))
        assert found in expected
        go_on(place / "model")
        shutil.rmtree(place)
    assert seen == set(expected)
    assert due > 20


@STEPS
@pytest.mark.parametrize("situation", SITUATIONS)
def test_a_power_cut_leaves_the_state_before_or_after(situation, step, tmp_path, monkeypatch):
    """At every moment, with any of what was not synced lost; in the end nothing is."""
    states, action = SITUATIONS[situation]
    start = begin(tmp_path / "start", states)
    expected, seen = outcomes(start, action, tmp_path, monkeypatch), set()
    place = shutil.copytree(start, tmp_path / "disk")
    with Calls(place).watching() as calls:
        action(place / "model")
    disk, rng, after = Disk(start), random.Random(situation), tmp_path / "after"
    for i, call in enumerate([("open", "model"), *calls.made]):
        disk.make(call)
        for draw in range(0, 5, step):
            disk.cut_power(after, rng)
            seen.add(found := identity(after / "model"))
            assert found in expected, (i, call)
            if (i + draw) % step == 0:
                go_on(after / "model")
            shutil.rmtree(after)
    assert seen == set(expected)
    for _ in range(0, 10, step):
        disk.cut_power(after, rng)
        assert identity(after / "model") == expected[1]
        shutil.rmtree(after)


def test_a_sync_that_is_left_out_is_noticed(tmp_path, monkeypatch):
    """What the test of power cuts rests on: without syncs they do harm."""
    start = begin(tmp_path / "start", 2)
    place = shutil.copytree(start, tmp_path / "disk")
    with Calls(place).watching() as calls:
        save_next(place / "model")
    disk, rng = Disk(start), random.Random(0)
    for call in calls.made:
        if call[0] != "fsync":
            disk.make(call)
    harmed = 0
    for i in range(20):
        disk.cut_power(tmp_path / str(i), rng)
        try:
            identity(tmp_path / str(i) / "model")
        except (AssertionError, StoreError):
            harmed += 1
    assert harmed > 5


def test_history_is_how_many_earlier_states_are_kept(tmp_path):
    save_toys(tmp_path, 8, graph=GRAPHS[0])
    assert [state.number for state in kept_states(tmp_path)] == [3, 4, 5, 6, 7, 8]
    save_toy(tmp_path, load_state(tmp_path), history=1, graph=GRAPHS[0])
    assert [state.number for state in kept_states(tmp_path)] == [8, 9]
    save_toy(tmp_path, load_state(tmp_path), history=0, graph=GRAPHS[1])
    assert [state.number for state in kept_states(tmp_path)] == [10]
    assert [path.read_bytes() for path in (tmp_path / "backbones").iterdir()] == [GRAPHS[1]]
    assert sorted(path.name for path in (tmp_path / "states").iterdir()) == ["0010"]


def test_history_is_remembered(tmp_path):
    saved = save_toys(tmp_path, 2, history=1)
    assert saved.about["history"] == 1
    for _ in range(3):
        saved = save_toy(tmp_path, saved)
    assert [state.number for state in kept_states(tmp_path)] == [4, 5]
    assert save_toy(tmp_path, saved, history=2).about["history"] == 2


def test_going_back_and_forward_changes_no_bit(tmp_path):
    contents = []
    for seed in range(3):
        before = load_state(tmp_path) if contents else None
        saved = save_toy(tmp_path, before, seed, graph=GRAPHS[seed % 2])
        contents.append((saved.identity, content(saved.path), content(tmp_path)["README.md"]))
    for number in (1, 3, 2):
        saved = switch(tmp_path, number)
        assert load_state(tmp_path).identity == saved.identity
        assert saved.graph() == GRAPHS[(number - 1) % 2]
        now = (saved.identity, content(saved.path), content(tmp_path)["README.md"])
        assert now == contents[number - 1]
        assert [state.number for state in kept_states(tmp_path)] == [1, 2, 3]


def test_undone_states_stay_until_the_next_is_saved(tmp_path):
    save_toys(tmp_path, 3)
    switch(tmp_path, 1)
    saved = save_toy(tmp_path, load_state(tmp_path), seed=7)
    assert saved.number == 4  # no number stands for two states
    assert saved.about["parent"] == {"state": 1, "sha256": load_state(tmp_path, 1).identity}
    assert [state.number for state in kept_states(tmp_path)] == [1, 4]


def test_a_deletion_that_was_interrupted_is_finished(tmp_path):
    save_toys(tmp_path, 2, graph=GRAPHS[0])
    for name in ("states/0007.draft", "states/0001.draft"):
        shutil.copytree(tmp_path / "states" / "0001", tmp_path / name)
    (tmp_path / "states" / "0001.draft" / "model.json").unlink()
    for name in ("CURRENT.draft", "README.md.draft", f"backbones/{'0' * 64}.onnx.draft"):
        (tmp_path / name).write_text("cut off")
    (tmp_path / "backbones" / f"{'1' * 64}.onnx").write_text("of no state")
    (tmp_path / "thesis.draft").write_text("mine")
    save_toy(tmp_path, load_state(tmp_path), graph=GRAPHS[0])
    assert [path.name for path in tmp_path.rglob("*.draft")] == ["thesis.draft"]
    assert len(list((tmp_path / "backbones").iterdir())) == 1


def test_nothing_is_deleted_that_a_damaged_state_may_lead_to(tmp_path):
    save_toys(tmp_path, 3, graph=GRAPHS[0])
    (tmp_path / "states" / "0002" / "model.json").write_text("{")
    save_toy(tmp_path, load_state(tmp_path), graph=GRAPHS[1])
    assert sorted(path.name for path in (tmp_path / "states").iterdir()) == [
        "0001", "0002", "0003", "0004",
    ]  # fmt: skip
    assert len(list((tmp_path / "backbones").iterdir())) == 2


def test_a_folder_is_held_from_before_the_learning(tmp_path):
    with writing(tmp_path / "a" / "model") as place:
        assert place.before is None
        with pytest.raises(WriteError, match="another process"):
            save_toy(tmp_path / "a" / "model")
        first = place.save(describe_toy(), draw_toy())
        second = place.save(describe_toy(), draw_toy(seed=1))
    assert second.about["parent"] == {"state": 1, "sha256": first.identity}
    with writing(tmp_path / "a" / "model") as place:
        assert place.before == second


def test_a_model_may_be_saved_in_a_second_folder(tmp_path):
    saved = save_toy(tmp_path / "one")
    again = save_toy(tmp_path / "two", saved)
    assert (again.number, again.about["parent"]) == (1, None)


def test_what_follows_another_state_is_not_saved(tmp_path):
    first = save_toy(tmp_path)
    save_toy(tmp_path, first, seed=1)
    for before in (None, first):
        with pytest.raises(StoreError) as caught:
            save_toy(tmp_path, before)
        assert str(caught.value) == (
            f"{tmp_path} holds another model, or this one as changed since it was loaded: choose "
            "another MODEL, or load that one"
        )


def test_what_could_not_be_read_again_is_not_written(tmp_path):
    with pytest.raises(StoreError, match=r"counts must have 4 entries, one a class"):
        save_state(tmp_path, describe_toy() | {"counts": [1]}, draw_toy(), None)
    assert not list((tmp_path / "states").iterdir())
    save_toy(tmp_path)


def test_a_backbone_that_is_neither_given_nor_there(tmp_path):
    with pytest.raises(StoreError, match=r"\.onnx is missing: restore it from a copy"):
        save_state(tmp_path, describe_toy(graph=GRAPHS[0]), draw_toy(), None)
    saved = save_toy(tmp_path, graph=GRAPHS[0])
    save_state(tmp_path, describe_toy(graph=GRAPHS[0]), draw_toy(), saved)
