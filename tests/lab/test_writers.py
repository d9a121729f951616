"""Of several processes one writes a run; a complete run needs no lock and no write."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from conftest import make_toy
from forks import Ended
from memoryless.cli import main
from memoryless.images.sources import SOURCES, Source
from memoryless.lab.runs import RunFolder
from memoryless.store import locked

SMALL = "run --data toy --width 2 --states 3 --epochs 3 --batch-size 16 --threads 1".split()


def assert_whole(output: Path, ended: list[Ended]) -> None:
    """One worked; the other got the reason, or found the run complete."""
    first, second = sorted(ended, key=lambda process: process.code)
    assert first.code == 0, first.err
    folder = RunFolder(output / "seed-0")
    assert len(folder.results()) == 3
    for t in range(3):
        for name in ("rows", "layer", "test"):
            assert folder.arrays(t, name)
    assert not [*output.rglob("*.draft"), *output.rglob(".lock")]
    if second.code == 0:
        assert "3 states, complete already" in second.out
    else:
        assert second.code == 2
        assert second.err.startswith(f"memoryless: another process is writing in {output}")


@pytest.mark.parametrize("pairs", [3, pytest.param(50, marks=pytest.mark.slow)])
def test_of_two_processes_one_writes(pairs, forks, tmp_path):
    for pair in range(pairs):
        output = tmp_path / str(pair)
        words = [*SMALL, "--output", str(output)]
        assert_whole(output, forks.run_all([words] * 2, delay=0.04 * (pair % 5)))


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


def make_read_only(monkeypatch) -> list[str]:
    """Refuse every call that writes, as a read-only disk does; gives the calls."""
    calls: list[str] = []
    opened = os.open

    def refuse(*given, **more):
        calls.append(str(given[0]))
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    for name in ("mkdir", "unlink", "rename", "replace", "rmdir", "fsync"):
        monkeypatch.setattr(os, name, refuse)
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT
    monkeypatch.setattr(
        os, "open", lambda path, flags, *more, **names:
        refuse(path) if flags & writing else opened(path, flags, *more, **names),
    )  # fmt: skip
    return calls


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_run_on_a_read_only_disk(tmp_path, monkeypatch, capsys):
    """A new one is refused; a complete one is done, even with something left to remove."""
    monkeypatch.setitem(SOURCES, "toy", Source(lambda settings: make_toy(), 8))
    words = [*SMALL, "--output", str(tmp_path / "out")]
    with monkeypatch.context() as patch:
        make_read_only(patch)
        assert main(words) == 2
    assert "(Read-only file system)" in capsys.readouterr().err
    assert main(words) == 0
    before = contents(tmp_path)
    with monkeypatch.context() as patch:
        calls = make_read_only(patch)
        assert main(words) == 0
        assert not calls
        left = tmp_path / "out" / "seed-0" / "training.safetensors"
        left.write_bytes(b"left")
        assert main(words) == 0
        assert calls
    assert main(words) == 0
    assert contents(tmp_path) == before


def test_a_busy_folder_that_is_complete_is_done(tmp_path, monkeypatch):
    """The process that holds it is about to remove what is left."""
    monkeypatch.setitem(SOURCES, "toy", Source(lambda settings: make_toy(), 8))
    words = [*SMALL, "--output", str(tmp_path)]
    assert main(words) == 0
    left = tmp_path / "seed-0" / "training.safetensors"
    left.write_bytes(b"left")
    with locked(tmp_path / "seed-0"):
        assert main(words) == 0
    assert left.exists()
