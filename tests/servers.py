"""A server in a thread, on a port of its own, and photos to send."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from memoryless.model import Model
from memoryless.serve.app import make_app
from memoryless.serve.limits import Limits
from memoryless.serve.serve import listen
from memoryless.serve.teacher import Teacher
from photo_toys import tiny_settings

WRITES = {"X-Memoryless": "1"}


def empty_model(path: Path, backbone: Path) -> Path:
    """A model over the tiny backbone that knows no class."""
    Model(**tiny_settings(backbone)).save(path)
    return path


@contextmanager
def address(path: Path, limits: Limits | None = None, **settings: Any) -> Iterator[str]:
    """The address of a server over a model."""
    limits = limits or Limits()
    teacher = Teacher(path, limits)
    teacher.open(read_only=settings.get("read_only", False))
    app = make_app(teacher, limits, **settings)
    config = uvicorn.Config(app, log_level="warning", access_log=False, lifespan="on")
    server, listener = uvicorn.Server(config), listen("127.0.0.1", 0)
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(20)
        listener.close()
        assert not thread.is_alive()


@contextmanager
def served(path: Path, limits: Limits | None = None, **settings: Any) -> Iterator[httpx.Client]:
    """A client of a server over a model."""
    with (
        address(path, limits, **settings) as base,
        httpx.Client(base_url=base, headers=WRITES, timeout=60) as client,
    ):
        yield client


def images(*folders: Path) -> list[tuple[str, tuple[str, bytes, str]]]:
    """The photos of folders, as a multipart request sends them."""
    paths = [path for folder in folders for path in sorted(folder.iterdir())]
    return [("images", (path.name, path.read_bytes(), "image/png")) for path in paths]


def teach(client: httpx.Client, root: Path, classes: Sequence[str], **fields: Any) -> Any:
    """Teach folders of photos in one request; return the answer."""
    labels = [name for name in classes for _ in (root / name).iterdir()]
    folders = [root / name for name in classes]
    done = client.post("/learn", files=images(*folders), data={"class": labels, **fields})
    assert done.status_code == 200, done.text
    return done.json()


@contextmanager
def running(
    *words: object, code: str = "", **environment: str
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server in a process of its own, and its address."""
    how = ["-c", code] if code else ["-m", "memoryless"]
    line = [sys.executable, *how, "serve", *map(str, words), "--port", str(free())]
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
