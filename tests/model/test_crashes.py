"""Whatever kills a command or fails a call of it, the file holds the state before or after it."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from memoryless import Model
from memoryless.model.file import check_file, kept_states

KILLS = int(os.environ.get("MEMORYLESS_KILLS", "100"))
WORK = """
import sys
from pathlib import Path
import numpy as np
from memoryless import Model
from memoryless.model.file import writing
X = np.random.default_rng(1).normal(size=(20, 200))
what, path = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
if what == "new":
    model = Model(backbone="none")
    model.learn(X, ["a", "b"] * 10)
    model.save(path)
elif what == "undo":
    with writing(path, None) as writer:
        writer.switch(1)
elif what == "merge":
    both = {"m": Model.load(path), "other": Model.load(Path(path).with_name("other"))}
    Model.merge(both).save(Path(path).with_name("both"))
else:
    model = Model.load(path)
    if what == "learn":
        model.learn(X, ["c", "d"] * 10)
    elif what == "more":
        model.learn(X, ["a", "b"] * 10, more=True)
    elif what == "forget":
        model.forget("a")
    else:
        model.rename({"a": "z"})
    model.save(path)
"""
ACTIONS = ("new", "learn", "more", "forget", "rename", "undo", "merge")
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
static long made = 0;
__attribute__((destructor)) static void count(void) {
    FILE *file = getenv("COUNT_IN") ? fopen(getenv("COUNT_IN"), "w") : NULL;
    if (file) { fprintf(file, "%ld", made); fclose(file); }
}
static int due(int fd) {
    static long failing = -1;
    char link[64], name[4096];
    if (failing < 0) failing = getenv("FAIL_AT") ? atol(getenv("FAIL_AT")) : 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, name, sizeof name - 1);
    if (n <= 0) return 0;
    name[n] = 0;
    if (!strstr(name, ".memoryless")) return 0;
    if (++made != failing) return 0;
    errno = atoi(getenv("FAIL_WITH"));
    return 1;
}
#define REAL(name) __typeof__(&name) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
ssize_t write(int fd, const void *b, size_t n) {
    REAL(write); return due(fd) ? -1 : real(fd, b, n); }
ssize_t pwrite64(int fd, const void *b, size_t n, off64_t o) {
    REAL(pwrite64); return due(fd) ? -1 : real(fd, b, n, o); }
ssize_t pwrite(int fd, const void *b, size_t n, off_t o) {
    REAL(pwrite); return due(fd) ? -1 : real(fd, b, n, o); }
int fsync(int fd) { REAL(fsync); return due(fd) ? -1 : real(fd); }
int fdatasync(int fd) { REAL(fdatasync); return due(fd) ? -1 : real(fd); }
int ftruncate64(int fd, off64_t n) { REAL(ftruncate64); return due(fd) ? -1 : real(fd, n); }
int ftruncate(int fd, off_t n) { REAL(ftruncate); return due(fd) ? -1 : real(fd, n); }
"""


@pytest.fixture(scope="module")
def before(tmp_path_factory) -> Path:
    """A model of two states, and another one."""
    folder = tmp_path_factory.mktemp("before")
    rng = np.random.default_rng(0)
    for name, classes in (("m.memoryless", "ab"), ("other.memoryless", "xy")):
        model = Model(backbone="none")
        for i in range(2):
            model.learn(rng.normal(size=(20, 200)) + i, list(classes) * 10, more=True)
            model.save(folder / name)
    return folder


def digests(folder: Path) -> dict[str, tuple]:
    """What stands in every model of a folder, each of which must be whole."""
    found = {}
    for path in sorted(folder.glob("*.memoryless")):
        assert list(check_file(path)) == []
        states, current = kept_states(path)
        last = next(state for state in states if state.number == current)
        found[path.name] = (last.number, last.classes.names, last.classes.counts, len(states))
    return found


def start(action: str, folder: Path, **environment: str) -> subprocess.Popen:
    path = folder / ("new.memoryless" if action == "new" else "m.memoryless")
    process = subprocess.Popen(
        [sys.executable, "-c", WORK, action, str(path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
    )  # fmt: skip
    assert process.stdout.readline() == b"ready\n"
    return process


def ended(action: str, before: Path, folder: Path) -> tuple[dict, dict, float]:
    """What there is before and after an action, and how long it takes."""
    shutil.copytree(before, folder)
    process, first = start(action, folder), digests(folder)
    began = time.perf_counter()
    _, err = process.communicate(b"\n")
    assert process.returncode == 0, err
    return first, digests(folder), time.perf_counter() - began


def killed(action: str, before: Path, folder: Path, moment: float) -> dict:
    shutil.copytree(before, folder)
    process = start(action, folder)
    process.stdin.write(b"\n")
    process.stdin.flush()
    time.sleep(moment)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return digests(folder)


@pytest.mark.parametrize("action", ["learn", "forget"])
def test_killed_at_some_moments(action, before, tmp_path):
    first, last, seconds = ended(action, before, tmp_path / "whole")
    assert first != last
    for i in range(3):
        found = killed(action, before, tmp_path / f"{i}", seconds * (i + 1) / 4)
        assert found in (first, last)


@pytest.mark.kills
@pytest.mark.parametrize("action", ACTIONS)
def test_killed_at_random_moments(action, before, tmp_path):
    first, last, seconds = ended(action, before, tmp_path / "whole")
    rng = random.Random(action)
    for i in range(-(-KILLS // len(ACTIONS))):
        found = killed(action, before, tmp_path / "killed", rng.uniform(0, 1.1 * seconds))
        assert found in (first, last), i
        process = start(action, tmp_path / "killed")  # the next writer is not in its way
        _, err = process.communicate(b"\n")
        assert process.returncode == 0 or found == last, err
        assert not list((tmp_path / "killed").glob("*.lock"))
        assert not list((tmp_path / "killed").glob("*.new*"))
        shutil.rmtree(tmp_path / "killed")


@pytest.fixture(scope="module")
def shim(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("shim")
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler to make failing system calls with")
    (folder / "shim.c").write_text(SHIM)
    command = ["cc", "-shared", "-fPIC", "-o", folder / "shim.so", folder / "shim.c", "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
    return str(folder / "shim.so")


def failing(action: str, before: Path, folder: Path, **environment: str) -> tuple[dict, int, bytes]:
    shutil.copytree(before, folder)
    process = start(action, folder, **environment)
    _, err = process.communicate(b"\n")
    found = digests(folder)
    shutil.rmtree(folder)
    return found, process.returncode, err


@pytest.mark.kills
@pytest.mark.parametrize("number", [5, 28], ids=["EIO", "ENOSPC"])
@pytest.mark.parametrize("action", ACTIONS)
def test_the_kth_write_sync_or_truncate_fails(action, number, before, shim, tmp_path):
    """Of every call where there are 100 kills; of some where there are fewer."""
    first, last, _ = ended(action, before, tmp_path / "whole")
    environment = {"LD_PRELOAD": shim, "FAIL_WITH": str(number)}
    failing(action, before, tmp_path / "all", **environment, COUNT_IN=str(tmp_path / "count"))
    calls = int((tmp_path / "count").read_text())
    assert calls > 10
    for k in range(1, calls + 1, max(1, 100 // KILLS)):
        found, code, err = failing(
            action, before, tmp_path / "failed", **environment, FAIL_AT=str(k)
        )
        assert found in (first, last), k
        assert code == 0 or b"memoryless.errors.WriteError: " in err, (k, err)
        assert code != 0 or found == last, k


def test_one_write_that_fails(before, shim, tmp_path):
    first, _, _ = ended("learn", before, tmp_path / "whole")
    found, code, err = failing(
        "learn", before, tmp_path / "failed", LD_PRELOAD=shim, FAIL_AT="3", FAIL_WITH="28"
    )
    assert (found, code) == (first, 1)
    assert b"WriteError: cannot write" in err
