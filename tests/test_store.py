"""Files are written whole or not at all, synced, by one process; errors become sentences."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest

from memoryless.errors import BusyError, StoreError, WriteError
from memoryless.store import cannot_write, commit_folder, locked, read_bytes, write_bytes


def test_missing_unreadable_and_odd_files(tmp_path, monkeypatch):
    file = tmp_path / "a.json"
    with pytest.raises(StoreError, match=r"a.json is missing: run it again$"):
        read_bytes(file, fix="run it again")
    os.mkfifo(file)
    with pytest.raises(StoreError, match=r"is damaged \(it is not a file\)"):
        read_bytes(file)

    def deny(self):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "is_file", deny)
    with pytest.raises(StoreError, match=r"a.json may not be read: change its permissions$"):
        read_bytes(file)


class Journal:
    """The calls that decide what a power cut leaves, in their order."""

    def __init__(self, monkeypatch):
        self.calls: list[tuple[str, str]] = []
        for name in ("replace", "rename", "mkdir"):
            monkeypatch.setattr(os, name, self._recorded(name, getattr(os, name)))
        real = os.fsync

        def fsync(descriptor):
            self.calls.append(("fsync", str(Path(f"/proc/self/fd/{descriptor}").readlink())))
            real(descriptor)

        monkeypatch.setattr(os, "fsync", fsync)

    def _recorded(self, name, call):
        def recorded(*paths, **more):
            self.calls.append((name, str(paths[-1] if name != "mkdir" else paths[0])))
            return call(*paths, **more)

        return recorded


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


@pytest.mark.parametrize(
    ("number", "expected"),
    [(errno.EINVAL, nullcontext()), (errno.EIO, pytest.raises(WriteError, match="Input/output"))],
)
def test_where_folders_cannot_be_synced_that_is_no_error(number, expected, tmp_path, monkeypatch):
    real = os.fsync

    def fsync(descriptor):
        if Path(f"/proc/self/fd/{descriptor}").resolve().is_dir():
            raise OSError(number, os.strerror(number))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with expected:
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
def test_a_write_that_fails_leaves_the_old_file_and_names_the_fix(
    tmp_path, monkeypatch, number, fix
):
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
    assert read_bytes(file) == b"1"
    assert list(tmp_path.iterdir()) == [file]  # and no draft


def test_only_a_run_has_finished_states_to_keep(tmp_path):
    full = OSError(errno.ENOSPC, "No space left on device")
    assert str(cannot_write(tmp_path, full, "file")).endswith("then run the same command again")


def test_a_file_where_a_folder_should_be(tmp_path):
    (tmp_path / "out").write_text("mine")
    for path in (tmp_path / "out" / "run.json", tmp_path / "out" / "seed-0" / "run.json"):
        with pytest.raises(WriteError, match=f": {OTHER}$"):
            write_bytes(path, b"")
    with pytest.raises(WriteError, match=f": {OTHER}$"), locked(tmp_path / "out"):
        pass


HOLD = """
import os, subprocess, sys, time
from pathlib import Path
from memoryless.store import locked
with locked(Path(sys.argv[1])):
    {inside}
    print("held", flush=True)
    time.sleep(60)
"""
# Children that outlive their parent.
CHILDREN = {
    "none": "pass",
    "fork": "os.fork() or (time.sleep(60), os._exit(0))",
    "command": "subprocess.Popen(['sleep', '60'], close_fds=False)",
}


@pytest.fixture(params=CHILDREN.values(), ids=CHILDREN)
def holder(request, tmp_path) -> Iterator[subprocess.Popen]:
    """A process that holds a folder, in a group of its own, perhaps with a child."""
    code = HOLD.format(inside=request.param)
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout
    assert process.stdout.readline() == "held\n"
    yield process
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def is_free(folder: Path) -> bool:
    with suppress(BusyError), locked(folder):
        return True
    return False


def test_a_lock_is_for_one_process_and_ends_with_it(tmp_path, holder):
    with pytest.raises(BusyError, match="wait for it, or choose another `output`"):
        locked(tmp_path).__enter__()
    holder.kill()
    holder.wait()
    for _ in range(100):  # a child that was just forked may need a moment
        if is_free(tmp_path):
            return
        time.sleep(0.05)
    raise AssertionError("it stays locked")


def test_no_lock_file_is_left_behind(tmp_path):
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(2):
        with locked(tmp_path):
            assert not is_free(tmp_path)
    assert not list(tmp_path.iterdir())
    assert len(list(Path("/proc/self/fd").iterdir())) == before


LEAVE = """
import os, sys
from pathlib import Path
from memoryless.errors import BusyError
from memoryless.store import locked
with locked(Path(sys.argv[1])):
    child = os.fork()
    if child:
        assert os.waitpid(child, 0)[1] == 0
        try:
            with locked(Path(sys.argv[1])):
                sys.exit("the lock is lost")
        except BusyError:
            pass
"""


def test_a_forked_child_that_leaves_the_block_releases_nothing(tmp_path):
    subprocess.run([sys.executable, "-c", LEAVE, str(tmp_path)], check=True)


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_what_stands_in_the_place_of_the_lock_is_left_alone(kind, tmp_path):
    (tmp_path / "mine").write_text("kept")
    lock = tmp_path / ".lock"
    lock.mkdir() if kind == "folder" else lock.symlink_to(tmp_path / "mine")
    with pytest.raises(WriteError, match="cannot write"), locked(tmp_path):
        pass
    assert (tmp_path / "mine").read_text() == "kept"
