"""Reading a model's folder: damage is named, the way back offered, no lock taken, no code run."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from folders import GRAPHS, content, save_toy, save_toys
from memoryless.errors import StoreError
from memoryless.model_folder import check_folder, kept_states, load_state, switch
from memoryless.store import write_json, write_tensors

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
    assert loaded.about["ledger"] == {"count": 32, "mean": 96, "scatter": 48}


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
STRIDES = pytest.mark.parametrize("stride", [97, pytest.param(1, marks=pytest.mark.fuzz)])


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


def reseal(folder: Path, change: Callable[[dict], object]) -> None:
    """Change what the last state's model.json says, with every checksum made right again."""
    state = load_state(folder).path
    about = json.loads((state / "model.json").read_text())
    del about["sha256"]
    for part in about["files"]:
        about["files"][part] = hashlib.sha256(
            (state / f"{part}.safetensors").read_bytes()
        ).hexdigest()
    change(about)
    write_json(state / "model.json", about, bound=state.name)
    digest = hashlib.sha256((state / "model.json").read_bytes()).hexdigest()
    (folder / "CURRENT").write_text(f"{state.name} {digest}\n")


def put_arrays(name: str, **arrays: np.ndarray) -> Callable[[Path], object]:
    """Other arrays in a part, sealed as if they were ours."""

    def put(folder: Path) -> None:
        state = load_state(folder)
        write_tensors(state.path / f"{name}.safetensors", state.arrays(name) | arrays, bound=name)
        reseal(folder, lambda about: None)

    return put


def put_part(raw: bytes) -> Callable[[Path], object]:
    def put(folder: Path) -> None:
        (load_state(folder).path / "scorer.safetensors").write_bytes(raw)
        reseal(folder, lambda about: None)

    return put


def with_header(header: object, data: bytes = b"") -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def put_raw(name: str, raw: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(raw)


def put_about(**change: object) -> Callable[[Path], object]:
    return lambda folder: reseal(folder, lambda about: about.update(change))


def replace_by(make: Callable[[Path], object], name: str) -> Callable[[Path], object]:
    def replace(folder: Path) -> None:
        file = folder / name
        shutil.rmtree(file) if file.is_dir() else file.unlink()
        make(file)

    return replace


OVERLAP = {
    name: {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]} for name in ("over.W", "over.b")
}
NAN_ROW = np.full((5, 3), np.nan, np.float32)
HOSTILE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a header of 2^63 bytes": (put_part((2**63 - 1).to_bytes(8, "little")), "damaged (Error"),
    "a header beyond the cap": (put_part((10**9).to_bytes(8, "little") + bytes(99)), "damaged ("),
    "overlapping offsets": (put_part(with_header(OVERLAP, bytes(8))), "damaged ("),
    "deep header": (put_part(with_header(b"[" * 100_000)), "damaged ("),
    "no checksum": (put_part(save({"over.W": NAN_ROW})), "its checksum differs"),
    "rows that are not numbers": (
        put_arrays("scorer", **{"over.W": NAN_ROW}), "over.W is not all numbers",
    ),
    "sums that are not numbers": (
        put_arrays("record", mean=np.full((4, 3), np.inf)), "mean is not all numbers",
    ),
    "sums of other classes": (
        put_arrays("record", count=np.ones(9)), "count is not of the shape (4,) in float64",
    ),
    "sums of another size": (
        put_arrays("record", scatter=np.ones(9)), "scatter is not of the shape (6,) in float64",
    ),
    "deep JSON": (put_raw("states/0002/model.json", b"[" * 100_000), "its JSON is too deep"),
    "long numbers": (
        put_raw("states/0002/model.json", b'{"seed": ' + b"1" * 9999 + b"}"), "too many digits",
    ),
    "CURRENT out of the folder": (put_raw("CURRENT", b"../../../etc " + b"0" * 64), "is damaged"),
    "CURRENT of many lines": (put_raw("CURRENT", b"0002 " + b"0" * 64 + b"\n\n"), "is damaged"),
    "CURRENT of another": (put_raw("CURRENT", b"0002 " + b"0" * 64 + b"\n"), "(they differ)"),
    "CURRENT of none": (put_raw("CURRENT", b"0009 " + b"0" * 64 + b"\n"), "names state 9"),
    "a backbone out of the folder": (
        put_about(backbone={"name": "x", "sha256": "../../../../etc/passwd"}),
        "backbone.sha256 is no SHA-256 checksum",
    ),
    "files out of the folder": (put_about(files={"../../x": "0"}), "files must be"),
    "a parent that is itself": (
        put_about(parent={"state": 2, "sha256": "0" * 64}), "parent.state must be below 2",
    ),
    "a pipe": (replace_by(os.mkfifo, "CURRENT"), "it is not a file"),
    "a pipe within": (replace_by(os.mkfifo, "states/0002/scorer.safetensors"), "it is not a file"),
    "a folder": (replace_by(Path.mkdir, "states/0002/model.json"), "it is not a file"),
    "a link in a circle": (
        replace_by(lambda path: path.symlink_to(path), "states/0002"), "names state 2",
    ),
    "an endless file": (
        replace_by(lambda path: path.symlink_to("/dev/zero"), "states/0002/record.safetensors"),
        "it is not a file",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_folders_are_refused(kind, tmp_path):
    save_toys(tmp_path, 2, graph=GRAPHS[0])
    spoil, reason = HOSTILE[kind]
    spoil(tmp_path)
    started = time.perf_counter()
    with pytest.raises(StoreError) as caught:
        load_state(tmp_path, parts=("scorer", "record"))
    assert reason in str(caught.value)
    assert str(caught.value).endswith(f"or go back by memoryless undo {tmp_path} --to 1") or (
        "CURRENT" in kind or kind == "a pipe"
    )
    assert str(tmp_path) in str(caught.value)
    assert [problem for problem in check_folder(tmp_path) if reason in problem]
    assert time.perf_counter() - started < 5


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
        Model.load(folder) if folder.name == "format-1" else None
    active = True
if sys.argv[1] == "pickle":
    pickle.loads(pickled)
"""


@pytest.mark.parametrize(
    ("kind", "seen"), [("", ""), ("pickle", "pickle.find_class builtins len\n")]
)
def test_nothing_in_a_folder_is_run(kind, seen, tmp_path):
    """The second case shows that code would be noticed."""
    save_toys(tmp_path, 2, graph=GRAPHS[0])
    command = [sys.executable, "-c", NO_CODE, kind, str(tmp_path), str(TESTS / "models/format-1")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == seen


COMMITS = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from folders import save_toy
saved = None
for seed in range(200):
    saved = save_toy(Path(sys.argv[2]), saved, seed, history=0)
    seed or print("begun", flush=True)
"""


@pytest.fixture
def writer(tmp_path) -> Iterator[subprocess.Popen]:
    """A process that saves 200 states, of which only the last is kept each time."""
    command = [sys.executable, "-c", COMMITS, str(TESTS), str(tmp_path)]
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
    assert load_state(tmp_path).number == 200
    assert len(seen) > 10
