"""Reading a model's folder: damage is named, the way back offered, no lock taken, no code run."""

from __future__ import annotations

import errno
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from folders import GRAPHS, content, save_toy, save_toys
from memoryless import Model
from memoryless.errors import StoreError
from memoryless.model_folder import check_folder, kept_states, load_state, pack, switch

TESTS = Path(__file__).parent


def test_a_state_comes_back(tmp_path):
    saved = save_toy(tmp_path, graph=GRAPHS[0])
    loaded = load_state(tmp_path)
    assert loaded == saved
    assert loaded.arrays("record")["mean"].shape == (4, 3)
    assert loaded.arrays("scorer")["over.W"].dtype == np.float32
    assert loaded.graph() == GRAPHS[0]
    assert loaded.size == sum(map(len, content(loaded.path).values()))
    assert loaded.identity == hashlib.sha256((loaded.path / "model.json").read_bytes()).hexdigest()
    assert loaded.about["ledger"] == {
        "count": 32, "mean": 96, "scatter": 48,
        "held_out.losses": 248, "held_out.below": 776, "held_out.count": 8,
    }  # fmt: skip


def test_what_is_not_asked_for_is_not_read(tmp_path):
    """Predicting needs the scorer alone."""
    saved = save_toy(tmp_path)
    (saved.path / "record.safetensors").write_bytes(b"damaged")
    loaded = load_state(tmp_path, parts=("scorer", "network"))
    assert loaded.arrays("scorer")
    with pytest.raises(StoreError, match=r"record\.safetensors is damaged"):
        loaded.arrays("record")


def test_parts_that_were_read_stay_when_the_state_goes(tmp_path):
    save_toy(tmp_path)
    loaded = load_state(tmp_path, parts=("scorer",))
    save_toy(tmp_path, loaded, history=0)
    assert not loaded.path.exists()
    assert loaded.arrays("scorer")["over.W"].shape == (5, 3)


def test_no_model_yet(tmp_path):
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(StoreError) as caught:
            load_state(folder)
        assert str(caught.value) == (
            f"there is no model in {folder}: name a folder that a model was saved in"
        )
        assert kept_states(folder) == []


def test_a_damaged_state_names_the_file_and_the_way_back(tmp_path):
    folder = tmp_path / "my birds"
    save_toys(folder, 3)
    file = folder / "states" / "0003" / "scorer.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    (folder / "states" / "0002" / "record.safetensors").unlink()  # not intact either
    before = content(folder)
    for read in (
        lambda: load_state(folder, parts=("scorer",)),
        lambda: load_state(folder).arrays("scorer"),
    ):
        with pytest.raises(StoreError) as caught:
            read()
        assert str(caught.value) == (
            f"the file {file} is damaged, or from another place (its checksum differs): restore it "
            f"from a copy, or go back by memoryless undo '{folder}' --to 1"
        )
    assert content(folder) == before
    assert switch(folder, 1).number == load_state(folder).number == 1


def test_damaged_states_are_left_out_and_told_of(tmp_path):
    save_toys(tmp_path, 3)
    file = tmp_path / "states" / "0002" / "model.json"
    file.write_text("{")
    told: list[str] = []
    assert [state.number for state in kept_states(tmp_path, told.append)] == [1, 3]
    assert len(told) == 1
    assert told[0].startswith(f"the file {file} is damaged (")


def test_only_the_newest_state_and_damaged(tmp_path):
    saved = save_toy(tmp_path)
    (saved.path / "scorer.safetensors").unlink()
    with pytest.raises(StoreError) as caught:
        load_state(tmp_path)
    assert str(caught.value) == (
        f"the file {saved.path / 'scorer.safetensors'} is missing: restore it from a copy"
    )


@pytest.mark.parametrize("part", ["record", "scorer"])
def test_a_file_of_another_state_is_seen(part, tmp_path):
    """It is sound in itself."""
    save_toys(tmp_path, 2)
    one, two = (tmp_path / "states" / n / f"{part}.safetensors" for n in ("0001", "0002"))
    two.write_bytes(one.read_bytes())
    told = f"the file {two} is from another state or model: restore it from a copy"
    assert check_folder(tmp_path) == [told]
    with pytest.raises(StoreError) as caught:
        load_state(tmp_path).arrays(part)
    assert str(caught.value) == f"{told}, or go back by memoryless undo {tmp_path} --to 1"


# Every byte of a small model; in the fast tests one of many.
STRIDES = pytest.mark.parametrize("stride", [197, pytest.param(1, marks=pytest.mark.fuzz)])


def assert_named(folder: Path, file: Path) -> None:
    """A check names the file; what counts is not loaded without a word, and a way back offered."""
    found = check_folder(folder)
    assert [problem for problem in found if str(file) in problem], found
    if file.parent.name == "0002" or file.name == "CURRENT":
        with pytest.raises(StoreError) as caught:
            saved = load_state(folder)
            for part in saved.about["files"]:
                saved.arrays(part)
        assert str(file) in str(caught.value)
        assert f"memoryless undo {folder} --to " in str(caught.value)
    elif file.suffix == ".onnx":
        with pytest.raises(StoreError, match=file.name):
            load_state(folder).graph()
    else:
        assert load_state(folder).number == 2


@STRIDES
def test_every_flipped_byte_is_seen(stride, tmp_path):
    save_toys(tmp_path, 2, graph=GRAPHS[0])
    for number, name in enumerate(content(tmp_path)):
        file, whole = tmp_path / name, (tmp_path / name).read_bytes()
        for place in range(number % stride % len(whole), len(whole), stride):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << (place % 8)
            file.write_bytes(damaged)
            assert_named(tmp_path, file)
        file.write_bytes(whole)
    assert check_folder(tmp_path) == []


@STRIDES
def test_every_truncation_is_seen(stride, tmp_path):
    save_toys(tmp_path, 2, graph=GRAPHS[0])
    for name in content(tmp_path):
        file, whole = tmp_path / name, (tmp_path / name).read_bytes()
        for length in {*range(0, len(whole), stride), len(whole) - 1}:
            file.write_bytes(whole[:length])
            assert_named(tmp_path, file)
        file.unlink()
        assert_named(tmp_path, file)
        file.write_bytes(whole)
    assert check_folder(tmp_path) == []


def test_a_folder_that_may_not_be_read(tmp_path, monkeypatch):
    save_toy(tmp_path)
    real = os.listdir

    def deny(path):
        if Path(path).name == "states":
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "listdir", deny)
    with pytest.raises(StoreError) as caught:
        kept_states(tmp_path)
    assert str(caught.value) == (
        f"the folder {tmp_path / 'states'} cannot be read (Permission denied): change its "
        "permissions"
    )


NO_CODE = """
import pickle, sys
from pathlib import Path
from memoryless import Model
from memoryless.model_folder import check_folder, kept_states, load_state

FORBIDDEN = ("pickle", "marshal", "exec", "compile", "os.system", "subprocess", "ctypes", "import")
pickled, active = pickle.dumps(len), False

def look(event, arguments):
    if active and event.startswith(FORBIDDEN):
        print(event, *arguments, flush=True)

sys.addaudithook(look)
for turn in range(2):  # in the first, libraries load their own parts
    for folder in map(Path, sys.argv[2:]):
        for saved in (load_state(folder), *kept_states(folder)):
            for part in saved.about["files"]:
                saved.arrays(part)
        check_folder(folder)
        Model.load(folder) if folder.name == "trained" else None
    active = True
if sys.argv[1] == "pickle":
    pickle.loads(pickled)
"""


@pytest.mark.parametrize(
    ("kind", "seen"), [("", ""), ("pickle", "pickle.find_class builtins len\n")]
)
def test_nothing_in_a_folder_or_file_is_run(kind, seen, tmp_path, taught):
    """The second case shows that code would be noticed."""
    save_toys(tmp_path / "model", 2, graph=GRAPHS[0])
    places = [tmp_path / "model", pack(tmp_path / "model").file, tmp_path / "trained"]
    taught.save(places[-1])
    command = [sys.executable, "-c", NO_CODE, kind, *map(str, places)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == seen


COMMITS = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from folders import save_toy
saved = None
for seed in range(int(sys.argv[3])):
    saved = save_toy(Path(sys.argv[2]), saved, seed, history=0)
    seed or print("begun", flush=True)
"""


@pytest.fixture(params=[40, pytest.param(200, marks=pytest.mark.fuzz)])
def writer(request, tmp_path) -> Iterator[subprocess.Popen]:
    """A process that saves so many states, of which only the last is kept each time."""
    command = [sys.executable, "-c", COMMITS, str(TESTS), str(tmp_path), str(request.param)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "begun\n"
        yield process
        process.kill()


def test_a_reader_never_fails_while_a_writer_commits(writer, tmp_path):
    seen: set[int] = set()
    problems: list[str] = []
    while writer.poll() is None:
        saved = load_state(tmp_path, parts=("record", "scorer"))
        seen.add(saved.number)
        assert saved.arrays("record")
        kept_states(tmp_path, problems.append)
        problems += [p for p in check_folder(tmp_path) if not p.startswith("note: ")]
    assert writer.wait() == 0
    assert problems == []
    assert load_state(tmp_path).number in (40, 200)
    assert len(seen) > 5


def test_a_model_judges_and_is_packed_while_a_writer_commits(writer, tmp_path, tmp_path_factory):
    seen, file = 0, tmp_path_factory.mktemp("packed") / "it.memoryless"
    while writer.poll() is None:
        pack(tmp_path, file)
        for place in (tmp_path, file):
            judged = Model.load(place).judge(np.ones((2, 3)))
            assert judged.scores.shape == (2, 4)
        file.unlink()
        seen += 1
    assert writer.wait() == 0
    assert seen > 5
