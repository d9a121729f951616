"""One process writes in a folder; the lock ends with it, and complete runs need none."""

from __future__ import annotations

import builtins
import errno
import io
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from conftest import make_toy
from forks import Ended
from memoryless.cli import main
from memoryless.errors import WriteError
from memoryless.images.sources import SOURCES, Source
from memoryless.lab.runs import RunFolder
from memoryless.locks import BusyError, locked

HOLD = """
import sys, time
from pathlib import Path
from memoryless.locks import locked
with locked(Path(sys.argv[1])):
    {inside}
    print("held", flush=True)
    time.sleep(60)
"""
# Children that outlive their parent, each started in another way.
CHILDREN = {
    "none": "pass",
    "fork": "import os; os.fork() or (time.sleep(60), os._exit(0))",
    "worker": (
        "import multiprocessing as m; m.get_context('fork').Process(target=time.sleep, args=(60,))"
        ".start()"
    ),
    "command": "import subprocess; subprocess.Popen(['sleep', '60'], close_fds=False)",
}


@pytest.fixture
def hold(tmp_path) -> Iterator:
    """Starts a process that holds a folder, in a group of its own."""
    holders = []

    def start(folder: Path, inside: str = "pass") -> subprocess.Popen:
        command = [sys.executable, "-c", HOLD.format(inside=inside), str(folder)]
        holder = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        holders.append(holder)
        assert holder.stdout
        assert holder.stdout.readline() == "held\n"
        return holder

    yield start
    for holder in holders:
        with suppress(ProcessLookupError):
            os.killpg(holder.pid, signal.SIGKILL)
        holder.communicate()


def test_a_second_writer_gets_a_sentence(tmp_path, hold):
    hold(tmp_path / "run")
    with pytest.raises(BusyError) as caught, locked(tmp_path / "run"):
        pass
    assert str(caught.value) == (
        f"another process is writing in {tmp_path / 'run'}: wait for it, or choose another `output`"
    )


@pytest.mark.parametrize("inside", CHILDREN.values(), ids=CHILDREN)
def test_the_lock_ends_with_its_holder(tmp_path, hold, inside):
    holder = hold(tmp_path, inside)
    with pytest.raises(BusyError), locked(tmp_path):
        pass
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    if inside != "pass":
        os.killpg(holder.pid, 0)  # the child is still there
    _wait_until_free(tmp_path)


def _wait_until_free(folder: Path) -> None:
    """A child that was just forked may not have had its first moment yet."""
    for _ in range(100):
        with suppress(BusyError), locked(folder):
            return
        time.sleep(0.05)
    raise AssertionError(f"{folder} stays locked")


def test_no_lock_file_is_left_behind(tmp_path):
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(2):
        with locked(tmp_path), pytest.raises(BusyError), locked(tmp_path):
            pass
    assert not list(tmp_path.iterdir())
    assert len(list(Path("/proc/self/fd").iterdir())) == before


LEAVE = """
import os, sys
from pathlib import Path
from memoryless.errors import WriteError
from memoryless.locks import locked
with locked(Path(sys.argv[1])):
    child = os.fork()
    if child:
        assert os.waitpid(child, 0)[1] == 0
        try:
            with locked(Path(sys.argv[1])):
                sys.exit("the lock is lost")
        except WriteError:
            pass
"""


def test_a_forked_child_that_leaves_the_block_lets_go_of_nothing(tmp_path):
    subprocess.run([sys.executable, "-c", LEAVE, str(tmp_path)], check=True)


def test_a_folder_that_cannot_be_locked(tmp_path):
    (tmp_path / ".lock").mkdir()
    with (
        pytest.raises(WriteError, match="cannot write "),
        locked(tmp_path),
    ):
        pass


def test_a_link_in_the_place_of_the_lock_is_not_followed(tmp_path):
    (tmp_path / "mine").write_text("kept")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".lock").symlink_to(tmp_path / "mine")
    with pytest.raises(WriteError, match="cannot write"), locked(tmp_path / "run"):
        pass
    assert (tmp_path / "mine").read_text() == "kept"


SMALL = "run --data toy --width 2 --states 3 --epochs 3 --batch-size 16 --threads 1".split()


def assert_whole(output: Path, ended: list[Ended]) -> bool:
    """One worked; the other was told why, which is true, or found the run complete (false)."""
    first, second = sorted(ended, key=lambda process: process.code)
    assert first.code == 0, first.err
    folder = RunFolder(output / "seed-0")
    assert folder.complete
    folder.results()
    for t in range(3):
        for name in ("rows", "layer", "test"):
            assert folder.arrays(t, name)
    assert not list(output.rglob("*.draft"))
    if second.code == 0:
        assert "3 states, complete already" in second.out
        return False
    assert second.code == 2
    assert second.err in [
        f"memoryless: another process is writing in {output / run}: wait for it, or choose "
        "another --output\n"
        for run in ("seed-0", "untrained/seed-0")
    ]
    assert not list(output.rglob(".lock"))
    return True


@pytest.mark.parametrize("pair", range(5))
def test_of_two_processes_one_writes(pair, forks, tmp_path):
    ended = forks.run_all([[*SMALL, "--output", str(tmp_path)]] * 2, delay=0.03 * pair)
    assert assert_whole(tmp_path, ended)


@pytest.mark.slow
def test_of_fifty_pairs_of_processes_one_writes(forks, tmp_path):
    rng, seconds, told = random.Random(0), 0.0, 0
    for pair in range(51):
        output = tmp_path / str(pair)
        words = [*SMALL, "--no-control", "--output", str(output)]
        started = time.perf_counter()
        ended = forks.run_all([words] * 2, delay=rng.uniform(0, seconds / 2))
        if pair:  # the first only shows how long a run takes
            told += assert_whole(output, ended)
        seconds = time.perf_counter() - started
    assert told > 10  # how often the two overlap depends on how busy the machine is


def test_a_writer_that_dies_leaves_a_folder_to_go_on_in(forks, tmp_path):
    words = [*SMALL, "--output", str(tmp_path)]
    assert forks.run(*words, die_at=[1, 1]).code == -9
    folder = tmp_path / "seed-0"
    for draft in (folder / "training.safetensors.draft", folder / "run.json.draft"):
        draft.write_bytes(b"cut off")
    (folder / "states" / "01.draft").mkdir()
    (folder / "states" / "01.draft" / "record.safetensors").write_bytes(b"cut off")
    ended = forks.run(*words)
    assert ended.code == 0
    assert "3 states, 1 of them learned already" in ended.out
    assert not list(tmp_path.rglob("*.draft"))


class ReadOnly:
    """A disk on which nothing can be written: every call that would fails as there."""

    def __init__(self, monkeypatch):
        self.calls: list[str] = []
        names = ("mkdir", "unlink", "remove", "rename", "replace", "rmdir", "link", "symlink")
        for name in (*names, "fsync", "ftruncate"):
            monkeypatch.setattr(os, name, self._refuse(name))
        monkeypatch.setattr(os, "open", self._only_reading(os.open))
        for module in (io, builtins):
            monkeypatch.setattr(module, "open", self._only_reading(open))

    def _refuse(self, name):
        def refuse(*arguments, **more):
            self.calls.append(name)
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))

        return refuse

    def _only_reading(self, real):
        def opened(path, mode="r", *arguments, **more):
            writes = mode & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) if isinstance(mode, int) else (
                set(mode) & set("wax+")
            )  # fmt: skip
            if writes:
                self.calls.append(f"open {path}")
                raise OSError(errno.EROFS, os.strerror(errno.EROFS))
            return real(path, mode, *arguments, **more)

        return opened


def test_a_complete_run_on_a_read_only_disk_is_done(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(SOURCES, "toy", Source(lambda settings: make_toy(), 8))
    words = [*SMALL, "--output", str(tmp_path / "out")]
    assert main(words) == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    capsys.readouterr()
    with monkeypatch.context() as patch:
        disk = ReadOnly(patch)
        code = main(words)
    assert (code, disk.calls) == (0, [])
    assert capsys.readouterr().out.endswith(f"next: memoryless table {tmp_path / 'out'}\n")
    # even with something left to remove
    (tmp_path / "out" / "seed-0" / "training.safetensors").write_bytes(b"left")
    with monkeypatch.context() as patch:
        disk = ReadOnly(patch)
        code = main(words)
    assert code == 0
    assert disk.calls
    assert main(words) == 0
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert after == before


def test_a_run_to_be_written_on_a_read_only_disk(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(SOURCES, "toy", Source(lambda settings: make_toy(), 8))
    with monkeypatch.context() as patch:
        ReadOnly(patch)
        code = main([*SMALL, "--output", str(tmp_path / "out")])
    assert code == 2
    assert capsys.readouterr().err == (
        f"memoryless: cannot write {tmp_path / 'out' / 'seed-0'} (Read-only file system): change "
        "its permissions or choose another --output\n"
    )


def test_a_busy_folder_that_is_complete_is_done(tmp_path, hold, monkeypatch, capsys):
    """Whoever holds it is about to tidy up."""
    monkeypatch.setitem(SOURCES, "toy", Source(lambda settings: make_toy(), 8))
    words = [*SMALL, "--output", str(tmp_path)]
    assert main(words) == 0
    left = tmp_path / "seed-0" / "training.safetensors"
    left.write_bytes(b"left")
    hold(tmp_path / "seed-0")
    assert main(words) == 0
    assert left.exists()
