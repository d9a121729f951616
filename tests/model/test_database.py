"""A model's file is held by one writer, read by anybody, and refused if it is not ours."""

from __future__ import annotations

import errno
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest

from databases import edit
from memoryless import Model
from memoryless.errors import ConfigError, MemorylessError, StoreError, WriteError
from memoryless.images.find import find_photos
from memoryless.model import database, file
from memoryless.model.database import model_file, reading
from memoryless.model.file import kept_states, load_state, writing

X = np.random.default_rng(0).normal(size=(40, 3))
HOLD = """
import os, sys, time
from memoryless.model.file import writing
with writing(sys.argv[1]):
    if len(sys.argv) > 2 and os.fork() == 0:
        time.sleep(600)
    print("held", flush=True)
    time.sleep(600)
"""
READ = """
import sys, threading
from memoryless import Model
threading.Thread(target=sys.stdin.read, daemon=True).start()
print("reads", flush=True)
while threading.active_count() > 1:
    Model.load(sys.argv[1])
"""
SWAP = """
import os, sys
from memoryless import Model
from memoryless.model.file import writing
path, own = sys.argv[1:]
with writing(path) as writer:
    model = Model.of(writer.before)
    model.rename({model.classes[0]: "x"})
    print("held", flush=True)
    sys.stdin.readline()
    os.replace(own, path)
    print("swapped", flush=True)
    sys.stdin.readline()
    model.save_in(writer)
"""


def python(code: str, *arguments: object) -> subprocess.Popen:
    """A process that runs some lines and goes on at lines of its input."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], **pipes)


def assert_held(path: Path) -> None:
    """Another process cannot write a model."""
    writer = python("import sys; from memoryless import Model; Model().save(sys.argv[1])", path)
    assert b"another process is writing" in writer.communicate()[1]


def make(path: Path, *names: str) -> Model:
    model = Model(backbone="none")
    model.learn(X, list(names or ("a", "b")) * (40 // len(names or ("a", "b"))))
    model.save(path)
    return model


@pytest.fixture
def path(tmp_path) -> Path:
    make(tmp_path / "m")
    return tmp_path / "m.memoryless"


@pytest.fixture
def hold():
    """Hold a model in another process."""
    started = []

    def start(path: Path, *more: str) -> subprocess.Popen:
        command = [sys.executable, "-c", HOLD, str(path), *more]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True)
        started.append(process)
        assert process.stdout.readline() == b"held\n"
        return process

    yield start
    for process in started:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def test_names_get_a_suffix(tmp_path):
    assert model_file("a/b.memoryless") == Path("a/b.memoryless")
    for name in (".", "..", "/"):
        with pytest.raises(ConfigError, match="is a folder: name the file of a model"):
            model_file(name)


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("more", [[], ["with a forked worker"]])
def test_a_second_writer_is_told_at_once_and_a_killed_one_holds_nothing(
    there, more, tmp_path, hold
):
    if there:
        make(tmp_path / "m")
    holder = hold(tmp_path / "m", *more)
    began = time.perf_counter()
    with pytest.raises(WriteError) as error, writing(tmp_path / "m"):
        pass
    assert time.perf_counter() - began < 1
    assert str(error.value) == (
        f"another process is writing {tmp_path}/m.memoryless: wait for it, or choose another MODEL"
    )
    holder.kill()
    holder.wait()
    with writing(tmp_path / "m") as writer:
        assert (writer.before is not None) == there
    left = ["m.memoryless"] if there else []
    assert [file.name for file in tmp_path.iterdir()] == left


@pytest.mark.parametrize("commits", [200, pytest.param(5000, marks=pytest.mark.slow)])
def test_readers_never_fail_beside_a_writer(commits, path):
    readers = [python(READ, path) for _ in range(2)]
    assert [reader.stdout.readline() for reader in readers] == [b"reads\n"] * 2
    model = Model.load(path)
    for i in range(commits):
        model.rename({model.classes[0]: f"name {i}"})
        model.save(path)
    for reader in readers:
        assert reader.communicate() == (b"", b"")
    assert Model.load(path).classes[0] == f"name {commits - 1}"


def test_a_commit_waits_for_readers(path):
    """For longer than a second writer waits for the first."""
    begun = threading.Event()

    def read() -> None:
        with reading(path):
            begun.set()
            time.sleep(2 * database.WRITERS_WAIT)

    reader = threading.Thread(target=read)
    reader.start()
    begun.wait()
    Model.load(path).save(path)
    reader.join()
    assert load_state(path).number == 2


def test_readers_in_the_same_process_do_not_free_the_lock(path):
    """Closing any descriptor of the file would free SQLite's locks of the whole process."""
    with writing(path):
        for read in (Model.load, kept_states, lambda p: list(file.check_file(p))):
            read(path)
        assert_held(path)


@pytest.mark.parametrize("link", ["symlink_to", "hardlink_to"])
@pytest.mark.parametrize("name", ["cat/one", "cat/one.png", "all.zip", "list.txt"])
def test_photos_that_are_links_to_the_model_do_not_either(name, link, path, tmp_path):
    place = tmp_path / "photos" / name
    place.parent.mkdir(parents=True)
    with writing(path):
        getattr(place, link)(path)
        with suppress(MemorylessError):
            for photo in find_photos(place if name == "all.zip" else tmp_path / "photos").photos:
                with pytest.raises(OSError, match="the model that is being written"):
                    photo.content()
        assert_held(path)
    with writing(path) as writer:  # once that is done, it can be written again
        assert writer.before


def test_two_that_replace_a_file_under_each_other_lose_nothing(tmp_path):
    """Backups that are brought back, say: neither writes into the other's file."""
    path, *backups = files = [tmp_path / f"{name}.memoryless" for name in "mno"]
    for one in files:
        make(one, f"a of {one.stem}", "b")
        os.link(one, one.with_suffix(".kept"))
    contents = [one.read_bytes() for one in files]
    writers = []
    for backup in backups:
        writers.append(python(SWAP, path, backup))
        assert writers[-1].stdout.readline() == b"held\n"
        writers[-1].stdin.write(b"\n")
        writers[-1].stdin.flush()
        assert writers[-1].stdout.readline() == b"swapped\n"
    for writer in writers:
        assert b"was replaced by another file meanwhile" in writer.communicate(b"\n")[1]
    assert [one.with_suffix(".kept").read_bytes() for one in files] == contents
    assert path.read_bytes() == contents[2]


@pytest.mark.parametrize(("module", "step"), [(database, "connect"), (file, "_add")])
def test_a_file_that_is_replaced_between_two_steps_is_not_written(
    module, step, path, tmp_path, monkeypatch
):
    """Right after it was opened, and right before the commit."""
    make(tmp_path / "other", "c", "d")
    model, real = Model.load(path), getattr(module, step)

    def replaced(*arguments):
        given = real(*arguments)
        path.rename(tmp_path / "old.memoryless")
        (tmp_path / "other.memoryless").rename(path)
        return given

    model.rename({"a": "x"})
    with monkeypatch.context() as patch:
        patch.setattr(module, step, replaced)
        with pytest.raises(WriteError, match="was replaced by another"):
            model.save(path)
    assert Model.load(path).classes == ("c", "d")
    assert Model.load(tmp_path / "old").classes == ("a", "b")


def test_two_that_make_one_new_model(tmp_path):
    with writing(tmp_path / "m") as writer:
        shut = Model(backbone="none")
        (tmp_path / "m.memoryless").write_bytes(b"somebody's file")
        with pytest.raises(WriteError, match="File exists"):
            shut.save_in(writer)
    assert [file.name for file in tmp_path.iterdir()] == ["m.memoryless"]


def test_a_disk_without_hard_links(tmp_path, monkeypatch):
    def link(*_):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", link)
    make(tmp_path / "m")
    assert Model.load(tmp_path / "m").classes == ("a", "b")
    assert [file.name for file in tmp_path.iterdir()] == ["m.memoryless"]


def test_what_a_killed_writer_left_is_taken_over(tmp_path):
    (tmp_path / "m.memoryless.lock").touch()
    (tmp_path / "m.memoryless.new").write_bytes(b"half of a model")
    (tmp_path / "m.memoryless.new-journal").write_bytes(b"half of a journal")
    make(tmp_path / "m")
    os.link(tmp_path / "m.memoryless", tmp_path / "m.memoryless.new")
    (tmp_path / "m.memoryless.lock").touch()
    with writing(tmp_path / "m"):
        assert [file.name for file in tmp_path.iterdir()] == ["m.memoryless"]


def test_a_journal_of_a_model_that_is_gone_is_not_taken_for_the_new_ones(tmp_path):
    (tmp_path / "m.memoryless-journal").write_bytes(b"x" * 1000)
    with pytest.raises(WriteError, match="belongs to a model that is gone: delete it"):
        make(tmp_path / "m")


def test_every_connection_that_writes_waits_for_the_disk_and_overwrites(tmp_path, monkeypatch):
    """Because it says so, not because SQLite was compiled like that."""
    traces, real = [], sqlite3.connect

    def connect(*arguments, **settings):
        db = real(*arguments, **settings)
        traces.append([])
        db.set_trace_callback(traces[-1].append)
        return db

    monkeypatch.setattr(sqlite3, "connect", connect)
    make(tmp_path / "m").save(tmp_path / "m")
    writers = [trace for trace in traces if any(did.startswith("INSERT") for did in trace)]
    assert len(writers) == 2
    for trace in writers:
        assert {
            "PRAGMA synchronous = FULL", "PRAGMA secure_delete = ON", "PRAGMA foreign_keys = ON",
            "PRAGMA trusted_schema = OFF", "PRAGMA temp_store = MEMORY",
        } < {*trace[: trace.index("BEGIN IMMEDIATE")]}  # fmt: skip


def test_the_name_of_a_new_model_is_on_the_disk_too(tmp_path, monkeypatch):
    synced, real = [], os.fsync

    def fsync(descriptor):
        if os.path.samestat(os.fstat(descriptor), tmp_path.stat()):
            synced.append((tmp_path / "m.memoryless").exists())
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    make(tmp_path / "m")
    assert synced == [True]


STRANGE = {
    "a trigger": "CREATE TRIGGER t AFTER DELETE ON class BEGIN DELETE FROM current; END",
    "a view": "CREATE VIEW v AS SELECT * FROM state",
    "a virtual table": "CREATE VIRTUAL TABLE f USING fts4(x)",
    "an index": "CREATE INDEX i ON class (name)",
    "a table": "CREATE TABLE t (x)",
    "another column": "ALTER TABLE class ADD COLUMN secret TEXT",
    "a write-ahead log": "PRAGMA journal_mode = WAL",
    "an older format": "PRAGMA user_version = 0",
}


@pytest.mark.parametrize("kind", STRANGE)
def test_other_tables_than_ours_are_refused(kind, path):
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(STRANGE[kind])
    for use in (Model.load, kept_states, lambda p: writing(p).__enter__()):
        with pytest.raises(StoreError, match="has other tables or settings than a model has"):
            use(path)


def test_a_newer_format_is_refused_with_what_to_install(path):
    edit(path, "PRAGMA user_version = 2")
    with pytest.raises(StoreError, match=r"has format 2, and .* format 1: install a newer memory"):
        Model.load(path)


@pytest.mark.parametrize("content", [b"", b"a letter", b"SQLite format 3\0" + bytes(984)])
def test_files_that_are_no_model(content, tmp_path):
    (tmp_path / "m.txt").write_bytes(content)
    for use in (Model.load, lambda p: Model(backbone="none").save(p)):
        with pytest.raises(StoreError, match=r"m.txt is (no model|damaged)"):
            use(tmp_path / "m.txt")
    assert (tmp_path / "m.txt").read_bytes() == content
    assert [file.name for file in tmp_path.iterdir()] == ["m.txt"]


def test_places_that_are_no_files(tmp_path):
    os.mkfifo(tmp_path / "pipe.memoryless")
    (tmp_path / "folder.memoryless").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(StoreError, match="is no file: name the file of a model"):
            Model.load(tmp_path / name)
    with pytest.raises(StoreError, match="there is no model"):
        Model.load(tmp_path / "nothing")


def test_a_file_that_may_not_be_read(path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(ConfigError, match="may not be read: change its permissions"):
        Model.load(path)


@pytest.mark.parametrize("journal", [False, True])
def test_where_nothing_can_be_locked_a_file_is_read_as_it_is(journal, path, monkeypatch):
    """Unless a journal lies beside it, which could not be rolled back there."""
    real = database.connect

    def connect(path, mode, *more):
        if mode == "mode=rw":
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorname = "SQLITE_IOERR_LOCK"
            raise error
        return real(path, mode, *more)

    monkeypatch.setattr(database, "connect", connect)
    if not journal:
        assert Model.load(path).classes == ("a", "b")
        return
    path.with_name("m.memoryless-journal").touch()
    with pytest.raises(StoreError, match="was left in the middle of a change"):
        Model.load(path)


def test_a_file_on_a_read_only_disk_predicts(path, tmp_path):
    """With its journal gone, as after every command that ended."""
    path.chmod(0o444)
    uri = f"{path.as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True)) as db:
        assert db.execute("SELECT count(*) FROM state").fetchone() == (1,)
    assert Model.load(path).predict(X[:2]) == Model.load(path).predict(X)[:2]


def test_no_process_saves_what_another_one_holds(path):
    with writing(path) as writer:
        child = os.fork()
        if child == 0:
            try:
                Model.of(writer.before).save_in(writer)
            except WriteError:
                os._exit(7)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        Model.of(writer.before).save_in(writer)
    assert load_state(path).number == 2
