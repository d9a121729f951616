"""Files are written whole or not at all, and synced; errors of the system become sentences."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from memoryless.errors import StoreError, WriteError
from memoryless.locks import locked
from memoryless.store import (
    cannot_write,
    commit_folder,
    read_bytes,
    write_bytes,
)


def test_missing_unreadable_and_odd_files(tmp_path, monkeypatch):
    file = tmp_path / "a.json"
    with pytest.raises(StoreError) as caught:
        read_bytes(file, fix="run it again")
    assert str(caught.value) == f"the file {file} is missing: run it again"
    os.mkfifo(file)
    with pytest.raises(StoreError, match=r"is damaged \(it is not a file\)"):
        read_bytes(file)

    def deny(self):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "is_file", deny)
    with pytest.raises(StoreError) as caught:
        read_bytes(file)
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
    write_bytes(file, b"1")
    assert journal.calls == [
        ("mkdir", str(file.parent)),
        ("fsync", str(tmp_path)),
        ("fsync", f"{file}.draft"),
        ("replace", str(file)),
        ("fsync", str(file.parent)),
    ]


def test_a_folder_is_on_the_disk_before_and_after_its_rename(tmp_path, monkeypatch):
    def fill(draft):
        write_bytes(draft / "a.json", b"")
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
        write_bytes(tmp_path / "a.json", b"")
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refuse(errno.EIO))
        with pytest.raises(WriteError, match="Input/output error"):
            write_bytes(tmp_path / "a.json", b"")


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
    write_bytes(file, b"1")

    def fail(descriptor):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(WriteError) as caught:
            write_bytes(file, b"2")
        assert str(caught.value) == f"cannot write {file} ({os.strerror(number)}): {fix}"
        with pytest.raises(WriteError, match="cannot write"):
            commit_folder(tmp_path / "00", lambda draft: (draft / "a").touch())
    assert read_bytes(file) == b"1"  # the old one, and no draft
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
            write_bytes(path, b"")
    with pytest.raises(WriteError, match=f": {OTHER}$"), locked(tmp_path / "out"):
        pass
