"""Files: whole or absent, checked, in their place, synced; shapes of what JSON holds."""

from __future__ import annotations

import errno
import json
import math
import os
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from memoryless.errors import StoreError, WriteError
from memoryless.locks import locked
from memoryless.store import (
    Within,
    cannot_write,
    check,
    commit_folder,
    read_arrays,
    read_json,
    write_json,
    write_tensors,
)

TENSORS = {"W": np.arange(6.0).reshape(2, 3), "n": np.array(7), "none": np.zeros((0, 4))}


def displaced(file: Path, fix: str = "restore it from a copy") -> str:
    return f"the file {file} is damaged, or from another place (its checksum differs): {fix}"


@pytest.mark.parametrize("kind", ["json", "safetensors"])
def test_a_file_of_another_place_is_refused(tmp_path, kind):
    file = tmp_path / f"file.{kind}"
    write, read = (write_json, read_json) if kind == "json" else (write_tensors, read_arrays)
    write(file, {"a": 1} if kind == "json" else TENSORS, bound="run 1/states/00")
    for bound in ("run 1/states/01", ""):
        with pytest.raises(StoreError) as caught:
            read(file, bound=bound, fix="run it again")
        assert str(caught.value) == displaced(file, "run it again")
    assert read(file, bound="run 1/states/00")


def test_every_flipped_byte_of_a_tensor_file_is_noticed(tmp_path):
    file = tmp_path / "a.safetensors"
    write_tensors(file, {"W": np.ones((2, 3))}, {"state": 1})
    content = file.read_bytes()
    for i in range(len(content)):
        file.write_bytes(content[:i] + bytes([content[i] ^ 1]) + content[i + 1 :])
        try:
            tensors, facts = read_arrays(file)
        except StoreError as error:
            assert str(file) in str(error)
        else:  # an entry that safetensors itself passes over
            assert (tensors["W"].tolist(), facts) == ([[1] * 3] * 2, {"state": 1})


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (None, None),
        ({"memoryless": "[]"}, "it is not a JSON object"),
        ({"memoryless": "[" * 100_000}, "its JSON is too deep"),
        ({"memoryless": '{"facts": ' + "1" * 5000 + "}"}, "it has a number of too many digits"),
        ({"memoryless": '{"facts": 1}'}, None),
        ({"other": "1"}, None),
    ],
)
def test_foreign_tensor_files(tmp_path, header, reason):
    file = tmp_path / "a.safetensors"
    file.write_bytes(save({"a": np.zeros(2)}, metadata=header))
    with pytest.raises(StoreError) as caught:
        read_arrays(file)
    told = f"the file {file} is damaged ({reason}): restore it from a copy"
    assert str(caught.value) == (told if reason else displaced(file))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"[]", "it is not a JSON object"),
        (b"[" * 100_000, "its JSON is too deep"),
        (b'{"a": ' + b"1" * 5000 + b"}", "it has a number of too many digits"),
        (b'{"a": "\xff"}', "it is not UTF-8"),
        (b'{"a": 1, "a": 2}', "a key stands twice"),
        (b'{"a": NaN}', "Out of range float values are not JSON compliant"),
        (b'{"a": 1e999}', "Out of range float values are not JSON compliant"),
        (b"", "Expecting value: line 1 column 1 (char 0)"),
    ],
)
def test_json_that_is_none_of_ours(tmp_path, content, reason):
    file = tmp_path / "run.json"
    file.write_bytes(content)
    with pytest.raises(StoreError) as caught:
        read_json(file)
    assert str(caught.value).startswith(f"the file {file} is damaged ({reason}")
    assert str(caught.value).endswith("): restore it from a copy")


def test_json_comes_back_as_json_has_it(tmp_path):
    file = tmp_path / "run.json"
    write_json(file, {"a": (1, 2.5), "b": {3: math.nan}, "ä": "\udcff"})
    assert read_json(file) == {"a": [1, 2.5], "b": {"3": None}, "ä": "\udcff"}


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c | {"a": 2},
        lambda c: {k: v for k, v in c.items() if k != "a"},
        lambda c: c | {"new": 1},
        lambda c: dict(reversed(c.items())),  # the order of methods is their order in tables
        lambda c: c | {"sha256": None},
    ],
)
def test_every_change_of_json_is_noticed(tmp_path, change):
    file = tmp_path / "run.json"
    write_json(file, {"a": 1, "b": [2]})
    file.write_text(json.dumps(json.loads(file.read_text()), indent=4))
    assert read_json(file) == {"a": 1, "b": [2]}  # spaces are no content
    file.write_text(json.dumps(change(json.loads(file.read_text()))))
    with pytest.raises(StoreError) as caught:
        read_json(file)
    assert str(caught.value) == displaced(file)


@pytest.mark.parametrize("read", [read_json, read_arrays])
def test_missing_unreadable_and_odd_files(tmp_path, read, monkeypatch):
    file = tmp_path / "a.json"
    with pytest.raises(StoreError) as caught:
        read(file, fix="run it again")
    assert str(caught.value) == f"the file {file} is missing: run it again"
    os.mkfifo(file)
    with pytest.raises(StoreError, match=r"is damaged \(it is not a file\)"):
        read(file)

    def deny(self):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "is_file", deny)
    with pytest.raises(StoreError) as caught:
        read(file)
    assert str(caught.value) == f"the file {file} may not be read: change its permissions"


class Journal:
    """The calls that decide what a power cut leaves, in their order."""

    def __init__(self, monkeypatch):
        self.calls: list[tuple[str, str]] = []
        for name in ("replace", "rename", "mkdir"):
            monkeypatch.setattr(os, name, self._told(name, getattr(os, name)))
        real = os.fsync

        def fsync(descriptor):
            self.calls.append(("fsync", str(Path(f"/proc/self/fd/{descriptor}").readlink())))
            real(descriptor)

        monkeypatch.setattr(os, "fsync", fsync)

    def _told(self, name, call):
        def told(*paths, **more):
            self.calls.append((name, str(paths[-1] if name != "mkdir" else paths[0])))
            return call(*paths, **more)

        return told


def test_a_file_and_its_name_are_on_the_disk_when_it_is_written(tmp_path, monkeypatch):
    journal = Journal(monkeypatch)
    file = tmp_path / "new" / "run.json"
    write_json(file, {"a": 1})
    assert journal.calls == [
        ("mkdir", str(file.parent)),
        ("fsync", str(tmp_path)),
        ("fsync", f"{file}.draft"),
        ("replace", str(file)),
        ("fsync", str(file.parent)),
    ]


def test_a_folder_is_on_the_disk_before_and_after_its_rename(tmp_path, monkeypatch):
    def fill(draft):
        write_json(draft / "a.json", {})
        (draft / "inner").mkdir()
        (draft / "inner" / "b").write_text("by other means")

    journal = Journal(monkeypatch)
    commit_folder(tmp_path / "00", fill)
    draft = tmp_path / "00.draft"
    at = journal.calls.index(("rename", str(tmp_path / "00")))
    before = [path for call, path in journal.calls[:at] if call == "fsync"]
    for path in (draft / "a.json", draft / "inner" / "b", draft / "inner", draft):
        assert str(path) in before
    assert journal.calls[at + 1 :] == [("fsync", str(tmp_path))]
    assert before[-1] == str(draft)


def test_a_folder_that_cannot_be_synced_is_no_error_where_that_is_not_known(tmp_path, monkeypatch):
    def refuse(number):
        real = os.fsync

        def fsync(descriptor):
            if Path(f"/proc/self/fd/{descriptor}").resolve().is_dir():
                raise OSError(number, os.strerror(number))
            real(descriptor)

        return fsync

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refuse(errno.EINVAL))
        write_json(tmp_path / "a.json", {})
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refuse(errno.EIO))
        with pytest.raises(WriteError, match="Input/output error"):
            write_json(tmp_path / "a.json", {})


ROOM = "make room, then run the same command again; finished states are kept"
PERMISSIONS = "change its permissions or choose another `output`"
OTHER = "choose another `output`"


@pytest.mark.parametrize(
    ("number", "fix"),
    [
        *((getattr(errno, name), ROOM) for name in ("ENOSPC", "EDQUOT")),
        *((getattr(errno, name), PERMISSIONS) for name in ("EACCES", "EROFS")),
        *((getattr(errno, name), OTHER) for name in ("ENOTDIR", "EIO")),
    ],
)
def test_what_stops_a_write_is_told_with_its_fix(tmp_path, monkeypatch, number, fix):
    file = tmp_path / "run.json"
    write_json(file, {"a": 1})

    def fail(descriptor):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(WriteError) as caught:
            write_json(file, {"a": 2})
        assert str(caught.value) == f"cannot write {file} ({os.strerror(number)}): {fix}"
        with pytest.raises(WriteError, match="cannot write"):
            commit_folder(tmp_path / "00", lambda draft: (draft / "a").touch())
    assert read_json(file) == {"a": 1}  # the old one, and no draft
    assert list(tmp_path.iterdir()) == [file]


def test_only_of_a_run_finished_states_are_kept(tmp_path):
    full = OSError(errno.ENOSPC, "No space left on device")
    assert str(cannot_write(tmp_path, full, "file")) == (
        f"cannot write {tmp_path} (No space left on device): make room, then run the same command "
        "again"
    )


def test_a_file_where_a_folder_should_be(tmp_path):
    (tmp_path / "out").write_text("mine")
    for path in (tmp_path / "out" / "run.json", tmp_path / "out" / "seed-0" / "run.json"):
        with pytest.raises(WriteError, match=f": {OTHER}$"):
            write_json(path, {})
    with pytest.raises(WriteError, match=f": {OTHER}$"), locked(tmp_path / "out"):
        pass


SHAPE = {
    "sizes": [Within(int, 1)],
    "seed": int,
    "name": str,
    "done": bool,
    "commit": (None, str),
    "top1": {str: (None, Within(float, 0, 100))},
    "loss": [float],
    "mean": (None, [float]),
}
SOUND = {
    "sizes": [2, 3],
    "seed": -1,
    "name": "toy",
    "done": True,
    "commit": None,
    "top1": {"FT": 100, "inFT": 0.5, "Full": None},
    "loss": [-1e300, 2],
    "mean": [0.5],
}


def test_what_has_its_shape_passes():
    check(SOUND, SHAPE, "run.json")
    check(SOUND | {"commit": "abc", "mean": None, "sizes": []}, SHAPE, "run.json")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"sizes": [2, 3, -1]}, "sizes[2] is -1, not a whole number from 1"),
        ({"sizes": [2.0]}, "sizes[0] is 2.0, not a whole number from 1"),
        ({"sizes": [True]}, "sizes[0] is true, not a whole number from 1"),
        ({"sizes": 3}, "sizes is 3, not a list"),
        ({"sizes": {"a": 3}}, "sizes is an object, not a list"),
        ({"seed": 10**400}, f"seed is 1{'0' * 39}..., not a whole number"),
        ({"seed": None}, "seed is null, not a whole number"),
        ({"name": 5}, "name is 5, not a text"),
        ({"done": 1}, "done is 1, not true or false"),
        ({"commit": 3}, "commit is 3, not null or a text"),
        ({"top1": {"FT": 999}}, "top1.FT is 999, not null or a number from 0 to 100"),
        ({"top1": {"FT": False}}, "top1.FT is false, not null or a number from 0 to 100"),
        ({"top1": []}, "top1 is a list, not an object"),
        ({"loss": [math.inf]}, "loss[0] is Infinity, not a number"),
        ({"loss": [math.nan]}, "loss[0] is NaN, not a number"),
        ({"loss": [10**400]}, f"loss[0] is 1{'0' * 39}..., not a number"),
        ({"mean": [0.5, "x"]}, 'mean[1] is "x", not a number'),
        ({"mean": 0.5}, "mean is 0.5, not null or a list"),
        ({"new": 1}, "it has 'new', which does not belong there"),
    ],
)
def test_the_leaf_that_is_wrong_is_named(change, problem):
    with pytest.raises(StoreError) as caught:
        check(SOUND | change, SHAPE, "run.json", "run it again")
    assert str(caught.value) == f"run.json: {problem}: run it again"


@pytest.mark.parametrize("key", SHAPE)
def test_what_is_lacking_is_named(key):
    with pytest.raises(StoreError) as caught:
        check({k: v for k, v in SOUND.items() if k != key}, SHAPE, "run.json")
    assert str(caught.value) == f"run.json: it lacks '{key}': restore it from a copy"
    with pytest.raises(StoreError, match=r"run.json: it is 5, not an object"):
        check(5, SHAPE, "run.json")
