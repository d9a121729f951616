"""The command: address, port, token, Ctrl-C, and that no photo stays."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from conftest import call
from memoryless.model.file import load_state
from remains import files_of, holders, windows, windows_of_one
from servers import WRITES, images, teach


@contextmanager
def running(*words: object, **environment: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server in a process of its own, and its address."""
    line = [sys.executable, "-m", "memoryless", "serve", *map(str, words), "--port", str(free())]
    whole = os.environ | {"PYTHONUNBUFFERED": "1"} | environment
    process = subprocess.Popen(
        line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=whole
    )
    try:
        assert process.stdout
        said = process.stdout.readline()
        found = re.search(r"http://\S+", said)
        assert found, said + process.stdout.read()
        yield process, found[0].rstrip("/")
    finally:
        process.kill()
        process.communicate()


def free() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def test_it_starts_answers_and_stops(model):
    with running(model) as (process, base):
        assert httpx.get(f"{base}/health/ready").status_code == 200
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    assert said == "stopped: the requests under way were finished\n"


def test_requests_under_way_are_finished(model, photos):
    with running(model) as (process, base):
        files, found = images(photos / "owl") * 30, []

        def ask() -> None:
            found.append(httpx.post(f"{base}/predict", files=files, timeout=60))

        thread = threading.Thread(target=ask)
        thread.start()
        time.sleep(0.25)
        process.send_signal(signal.SIGINT)
        thread.join()
        process.communicate(timeout=20)
    assert len(found[0].json()["results"]) == 360


def test_a_port_that_is_taken(model, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, _, err = call("serve", str(model), "--port", str(port), capsys=capsys)
    assert code == 2
    found = re.match(
        rf"memoryless: port {port} cannot be used \(Address already in use\): "
        r"choose --port (\d+), which is free\n",
        err,
    )
    assert found
    assert port < int(found[1]) <= port + 50


def test_another_host_needs_a_token(model, capsys, monkeypatch):
    monkeypatch.delenv("MEMORYLESS_TOKEN", raising=False)
    code, _, err = call("serve", str(model), "--host", "0.0.0.0", capsys=capsys)
    assert code == 2
    assert "others can reach --host 0.0.0.0: give a --token-file, or set MEMORYLESS_TOKEN" in err


@pytest.mark.parametrize("content", ["", "\n", "two\nlines", "schlüssel"])
def test_tokens_that_are_none(content, model, tmp_path, capsys):
    file = tmp_path / "token"
    file.write_text(content)
    code, _, err = call("serve", str(model), "--token-file", str(file), capsys=capsys)
    assert (code, "holds no token: write one line of ASCII" in err) == (2, True)


def test_a_token_from_the_environment(model):
    with running(model, MEMORYLESS_TOKEN="sesame") as (_, base):
        assert httpx.get(f"{base}/model").status_code == 401
        bearer = {"Authorization": "Bearer sesame"}
        assert httpx.get(f"{base}/model", headers=bearer).status_code == 200


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_no_photo_touches_the_disk(tmp_path, model, photos):
    """None is found in a file afterwards, and no other file is open for writing meanwhile."""
    places = {name: tmp_path / name for name in ("home", "tmp", "cache")}
    for place in places.values():
        place.mkdir()
    environment = {
        "HOME": str(places["home"]),
        "TMPDIR": str(places["tmp"]),
        "XDG_CACHE_HOME": str(places["cache"]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    with running(model, **environment) as (process, base):
        opened: set[str] = set()
        done = threading.Event()

        def watch() -> None:
            while not done.is_set():
                opened.update(open_for_writing(process.pid))

        thread = threading.Thread(target=watch)
        thread.start()
        with httpx.Client(base_url=base, headers=WRITES, timeout=60) as client:
            teach(client, photos, ["cat", "dog"])
            client.post("/predict", files=images(photos / "owl"))
        done.set()
        thread.join()
    allowed = {str(model), f"{model}-journal", os.devnull}
    assert {path for path in opened if path.startswith("/") and path not in allowed} <= {
        path for path in opened if path.startswith("/dev/")
    }
    sent = [path for name in ("cat", "dog", "owl") for path in (photos / name).iterdir()]
    only_one = windows_of_one([path.read_bytes() for path in sent])
    assert len(only_one) > 1000
    for path, content in files_of(tmp_path).items():
        assert not windows(content) & only_one, path
    assert not holders(files_of(tmp_path), "Content-Disposition: form-data")


def open_for_writing(process: int) -> Iterator[str]:
    """The files that a process has open for writing."""
    for link in Path(f"/proc/{process}/fd").iterdir():
        try:
            flags = re.search(r"flags:\s*(\d+)", Path(f"/proc/{process}/fdinfo/{link.name}")
                              .read_text())  # fmt: skip
            if flags and int(flags[1], 8) & (os.O_WRONLY | os.O_RDWR):
                yield str(link.readlink())
        except OSError:
            continue


@pytest.mark.parametrize(
    "after", [0.0, *(pytest.param(0.01 * i, marks=pytest.mark.kills) for i in range(1, 11))]
)
def test_kill_9_while_teaching_leaves_the_state_before_or_after(after, model, photos):
    before = load_state(model)
    with running(model) as (process, base):

        def teach_on() -> None:
            with httpx.Client(base_url=base, headers=WRITES, timeout=60) as client:
                for _ in range(50):
                    files = images(photos / "elk", photos / "owl")
                    labels = ["elk"] * 12 + ["owl"] * 12
                    client.post("/learn", files=files, data={"class": labels, "more": "true"})

        thread = threading.Thread(target=swallow(teach_on))
        thread.start()
        time.sleep(0.3 + after)
        process.kill()
        thread.join()
    now = load_state(model)
    brought = (sum(now.classes.counts) - sum(before.classes.counts)) / 24
    assert brought == now.number - before.number  # whole calls alone
    with running(model) as (_, base):
        (one,) = httpx.post(f"{base}/predict", files=images(photos / "owl")[:1]).json()["results"]
        assert one["top"][0]["label"] == "owl"


def swallow(work):
    def quiet() -> None:
        try:
            work()
        except httpx.HTTPError:
            return  # it was killed

    return quiet
