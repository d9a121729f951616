"""Packing and unpacking under faults, power cuts, flipped bytes and half files."""

from __future__ import annotations

import errno
import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from disk import Calls, Disk
from folders import GRAPHS, content, save_toy, save_toys
from memoryless.errors import MemorylessError, StoreError
from memoryless.model_folder import (
    PARTS,
    check_folder,
    kept_states,
    load_state,
    pack,
    unpack,
)
from memoryless.model_folder.saved import has_lost_current
from memoryless.photos.overview import overview

# Of bytes, and of calls that fail: one of many in the fast tests.
BYTES = pytest.mark.parametrize("stride", [197, pytest.param(1, marks=pytest.mark.fuzz)])
STEPS = pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.fuzz)])


def begin_pack(place: Path) -> None:
    save_toys(place / "model", 2, graph=GRAPHS[0])


def begin_unpack(place: Path) -> None:
    """A packed state that has come after another, so that it has counted elsewhere."""
    begin_pack(place)
    pack(place / "model")


def begin_after_another(place: Path) -> None:
    """A first save was interrupted in the folder before the switch."""
    begin_unpack(place)
    save_toy(place / "again", seed=5, graph=GRAPHS[1])
    for name in ("CURRENT", "README.md"):
        (place / "again" / name).unlink()


def pack_it(place: Path) -> None:
    pack(place / "model")


def unpack_it(place: Path) -> None:
    unpack(place / "model.memoryless", place / "again")


Action = Callable[[Path], None]
SITUATIONS: dict[str, tuple[Action, Action, str]] = {
    "pack": (begin_pack, pack_it, "model.memoryless"),
    "unpack": (begin_unpack, unpack_it, "again/CURRENT"),
    "unpack after another": (begin_after_another, unpack_it, "again/CURRENT"),
}


def problems(place: Path) -> list[str]:
    return [problem for problem in check_folder(place) if not problem.startswith("note: ")]


def is_there(place: Path, situation: str) -> bool:
    """Whether what was to be made is there; if so, it is whole."""
    made = place / SITUATIONS[situation][2]
    assert check_folder(place / "model") == []
    if made.exists():
        assert problems(made.parent if made.name == "CURRENT" else made) == []
    return made.exists()


def is_done(place: Path, situation: str) -> bool:
    """The same; and if it is not there, the same command makes it, and one can go on."""
    _, action, made = SITUATIONS[situation]
    done = is_there(place, situation)
    if not done:
        assert not has_lost_current(place / "again")
        with Calls(place).watching():
            action(place)
    assert problems(place / "model.memoryless") == []
    if made == "again/CURRENT":
        assert problems(place / "again") == []
        go_on(place / "again", load_state(place / "model").identity)
    return done


def go_on(folder: Path, identity: str) -> None:
    """There is this state alone; the next save works, and removes what was left."""
    (saved,) = kept_states(folder)
    assert saved.identity == load_state(folder).identity == identity
    assert saved.graph() == GRAPHS[0]
    with Calls(folder).watching():
        save_toy(folder, saved, seed=10, graph=GRAPHS[0])
    assert check_folder(folder) == []
    assert not list(folder.rglob("*.draft"))


@STEPS
@pytest.mark.parametrize("situation", SITUATIONS)
def test_every_call_that_fails_leaves_all_or_nothing(situation, step, tmp_path):
    begin, action, _ = SITUATIONS[situation]
    begin(tmp_path / "start")
    seen, due, made = set(), errno.EIO % step, step
    while due <= made:
        due += step
        place = shutil.copytree(tmp_path / "start", tmp_path / "disk")
        with Calls(place, due, errno.EIO).watching() as calls, suppress(MemorylessError):
            action(place)
        made = len(calls.tried)
        seen.add(is_done(place, situation))
        shutil.rmtree(place)
    assert seen == {False, True}
    assert due > 10


@STEPS
@pytest.mark.parametrize("situation", SITUATIONS)
def test_a_power_cut_leaves_all_or_nothing(situation, step, tmp_path):
    begin, action, _ = SITUATIONS[situation]
    begin(tmp_path / "start")
    place = shutil.copytree(tmp_path / "start", tmp_path / "disk")
    with Calls(place).watching() as calls:
        action(place)
    disk, rng, after = Disk(tmp_path / "start"), random.Random(situation), tmp_path / "after"
    seen = set()
    for i, call in enumerate([("open", "model"), *calls.made]):
        disk.make(call)
        for draw in range(0, 5, step):
            disk.cut_power(after, rng)
            look = is_done if (i + draw) % step == 0 else is_there
            seen.add(look(after, situation))
            shutil.rmtree(after)
    assert seen == {False, True}
    for _ in range(0, 10, step):
        disk.cut_power(after, rng)
        assert is_done(after, situation)
        shutil.rmtree(after)


def test_a_reader_writes_nothing(tmp_path):
    save_toys(tmp_path / "model", 2, graph=GRAPHS[0])
    file = pack(tmp_path / "model").file
    shutil.rmtree(tmp_path / "model")
    tmp_path.chmod(0o555)
    with Calls(tmp_path).watching() as calls:
        saved = load_state(file, parts=PARTS)
        assert saved.graph() == GRAPHS[0]
        assert overview(file)["number"] == 2
        assert check_folder(file) == []
    tmp_path.chmod(0o755)
    assert set(calls.tried) == {"read"}
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


@pytest.fixture
def packed(tmp_path) -> Path:
    save_toy(tmp_path / "model")
    return pack(tmp_path / "model").file


def assert_seen(packed: Path) -> None:
    """A check names the file; what is loaded all the same is what was packed."""
    told = problems(packed)
    assert told and all(str(packed) in problem for problem in told)
    whole = load_state(packed.with_name("model"), parts=PARTS)
    with suppress(StoreError):
        saved = load_state(packed, parts=PARTS)
        assert saved.identity == whole.identity
    with suppress(StoreError):
        unpack(packed, packed.with_name("again"))
        assert content(packed.with_name("again")) == content(packed.with_name("model"))
        shutil.rmtree(packed.with_name("again"))


@BYTES
def test_every_flipped_byte_is_seen(stride, packed):
    whole = packed.read_bytes()
    for place in range(0, len(whole), stride):
        damaged = bytearray(whole)
        damaged[place] ^= 1 << (place % 8)
        packed.write_bytes(damaged)
        assert_seen(packed)


@BYTES
def test_every_byte_of_the_list_of_entries_may_be_anything(stride, packed):
    whole = packed.read_bytes()
    rng = random.Random(0)
    for place in range(whole.index(b"PK\x01\x02"), len(whole), stride // 10 + 1):
        for value in {0, 0xFF, 0x80, rng.randrange(256), rng.randrange(256)} - {whole[place]}:
            packed.write_bytes(whole[:place] + bytes([value]) + whole[place + 1 :])
            assert_seen(packed)


@BYTES
def test_every_truncation_is_seen(stride, packed):
    whole = packed.read_bytes()
    for length in {*range(0, len(whole), stride), len(whole) - 1}:
        packed.write_bytes(whole[:length])
        assert_seen(packed)
        with pytest.raises(StoreError):
            load_state(packed)
